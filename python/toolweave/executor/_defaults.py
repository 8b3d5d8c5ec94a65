"""Default options of an executor, for tools that do not set their own."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .._checks import (
    check_callable,
    check_choice,
    check_count,
    check_mapping,
    check_methods,
    check_number,
    check_type,
)
from ..tools._options import RateLimit, RetryPolicy

if TYPE_CHECKING:
    from ..protocols import Approver
    from ._failure import ErrorDetail


MAX_CONCURRENCY = 16
"""Maximum number of calls that run at once, over all replies of an executor."""

MAX_CONCURRENCY_PER_CHAT = 8
"""Maximum number of calls of one chat that run at once."""

TIMEOUT = 60.0
"""Time limit of a call, in seconds."""

MAX_RESULT_CHARS = 100_000
"""Maximum length of a result's text, in characters."""

RUN_TIMEOUT = 3600.0
"""Time limit of a run of an agent, of scenes or of a chat, in seconds."""


@dataclass(frozen=True)
class Defaults:
    """The options of an executor; see `ToolExecutor`."""

    max_concurrency: int | None = MAX_CONCURRENCY
    max_concurrency_per_chat: int | None = MAX_CONCURRENCY_PER_CHAT
    timeout: float | None = TIMEOUT
    idle_timeout: float | None = None
    retries: int | RetryPolicy = 0
    cache: bool | float | None = None
    rate_limit: RateLimit | None = None
    max_result_chars: int | None = MAX_RESULT_CHARS
    error_detail: ErrorDetail = "message"
    pool: Executor | Literal["inline"] | None = None
    approver: Approver | None = None
    approval_timeout: float | None = 300.0
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    max_call_depth: int = 8
    cancel_grace: float = 5.0
    clock: Callable[[], float] = time.monotonic
    id_factory: Callable[[int], str] | None = None

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            TypeError: An option has the wrong type.
            ValueError: An option has an invalid value.
        """
        for name in ("max_concurrency", "max_concurrency_per_chat"):
            check_count(name, getattr(self, name), 1, none=True)
        for name in ("timeout", "idle_timeout", "approval_timeout"):
            check_number(name, getattr(self, name), above=0, none=True)
        if not isinstance(self.retries, RetryPolicy):
            check_count("retries", self.retries)
        if not isinstance(self.cache, bool):
            check_number("cache", self.cache, above=0, most=math.inf, none=True)
        check_type("rate_limit", self.rate_limit, RateLimit, "a RateLimit", none=True)
        check_count("max_result_chars", self.max_result_chars, 1, none=True)
        check_choice("error_detail", self.error_detail, ("none", "message", "full"))
        if self.pool != "inline":
            wanted = "'inline' or an executor with the method submit"
            check_methods("pool", self.pool, wanted, "submit", none=True)
        check_callable(
            "approver",
            self.approver,
            "a function of a call and the contract of its tool",
            "call",
            "contract",
            none=True,
        )
        check_mapping("metadata", self.metadata)
        check_count("max_call_depth", self.max_call_depth)
        check_number("cancel_grace", self.cancel_grace, least=0)
        check_callable("clock", self.clock, "a function without arguments")
        check_callable(
            "id_factory", self.id_factory, "a function of a position", "position", none=True
        )
