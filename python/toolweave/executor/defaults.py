"""What holds for the tools of an executor unless they say otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..protocols import Approver
    from ..tools.options import RateLimit, RetryPolicy
    from .failure import ErrorDetail


MAX_CONCURRENCY = 16
"""How many calls run at once, over all replies of an executor."""

MAX_CONCURRENCY_PER_CHAT = 8
"""How many of these may be of one chat."""

TIMEOUT = 60.0
"""How long a call may take, in seconds."""

MAX_RESULT_CHARS = 100_000
"""How much of a result the model reads, in characters."""

RUN_TIMEOUT = 3600.0
"""How long a run of an agent, of scenes or of a chat may take, in seconds."""


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
