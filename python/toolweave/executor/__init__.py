"""Running calls: concurrently, in bounds, with one result for each.

A `ToolExecutor` has the tools and their limits. It takes the calls of a reply and gives back an
aggregate: every call with exactly one result, whatever a tool, an observer or a cancelled caller
does. What happens on the way can be watched.

    >>> async def main() -> None:
    ...     executor = ToolExecutor([get_weather], max_concurrency=10, timeout=30.0)
    ...     calls = [ToolCall("call_0", "get_weather", {"city": "Oslo"})]
    ...     async for event in executor.stream(calls):
    ...         match event:
    ...             case ToolProgress(_, value):
    ...                 print(value)
    ...             case ToolResult(name=name, result=text):
    ...                 print(name, text)
"""

from __future__ import annotations

from ..kinds import Outcome
from .deferred import Deferred, DeferredResults, PendingResult
from .events import (
    ToolApproval,
    ToolApprovalRequested,
    ToolDeferred,
    ToolEvent,
    ToolProgress,
    ToolQuestion,
    ToolStarted,
)
from .executor import ToolExecutor
from .run import ToolRun

__all__ = [
    "Deferred",
    "DeferredResults",
    "Outcome",
    "PendingResult",
    "ToolApproval",
    "ToolApprovalRequested",
    "ToolDeferred",
    "ToolEvent",
    "ToolExecutor",
    "ToolProgress",
    "ToolQuestion",
    "ToolRun",
    "ToolStarted",
]
