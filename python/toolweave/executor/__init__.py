"""Concurrent execution of tool calls, with limits and exactly one result for each call.

A `ToolExecutor` holds the tools and their limits. It takes the calls of a reply and returns an
aggregate in which every call has exactly one result, even if a tool or an observer raises or the
caller is cancelled. Events can be streamed while the calls run.

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

from .._public import claim_exports
from ..kinds import Outcome
from ._deferred import Deferred, DeferredResults, PendingResult
from ._events import (
    ToolApproval,
    ToolApprovalRequested,
    ToolDeferred,
    ToolEvent,
    ToolProgress,
    ToolQuestion,
    ToolStarted,
)
from ._executor import ToolExecutor
from ._run import ToolRun

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

claim_exports(globals())
