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


@dataclass(frozen=True)
class Defaults:
    """The options of an executor; see `ToolExecutor`."""

    max_concurrency: int | None = None
    timeout: float | None = None
    idle_timeout: float | None = None
    retries: int | RetryPolicy = 0
    cache: bool | float | None = None
    rate_limit: RateLimit | None = None
    max_result_chars: int | None = None
    error_detail: ErrorDetail = "message"
    pool: Executor | Literal["inline"] | None = None
    approver: Approver | None = None
    approval_timeout: float | None = 300.0
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    max_call_depth: int = 8
    cancel_grace: float = 5.0
    clock: Callable[[], float] = time.monotonic
    id_factory: Callable[[int], str] | None = None
