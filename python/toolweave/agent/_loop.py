"""Detection of models that repeat the same calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from .._aio.single_flight import ResultCache
from ..kinds import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._core import ToolAggregateMessage, ToolCall, ToolResult

# Calls with more text are processed in a thread.
_MAX_INLINE = 65_536


class LoopGuard:
    """A counter of the replies in which the same call gave the same result.

    A reply is part of a loop if every call in it has reached the limit. A repeated call next to a
    new one is progress, and so is a call whose result has changed.

    Args:
        limit: The number of replies; None for no limit.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._counts: Counter[tuple[str, str]] = Counter()

    async def is_loop(self, aggregate: ToolAggregateMessage) -> bool:
        """Count the calls of the next reply, and return True if they are part of a loop."""
        if self._limit is None:
            return False
        if sum(len(call.raw) for call in aggregate.tool_calls) > _MAX_INLINE:
            calls = await asyncio.to_thread(_keys, aggregate)
        else:
            calls = _keys(aggregate)
        self._counts.update(calls)
        return all(self._counts[call] >= self._limit for call in calls)


def _keys(aggregate: ToolAggregateMessage) -> set[tuple[str, str]]:
    """Return a key for each call with its result; calls over the limit share one key.

    Such calls did not run, and their number is unbounded.
    """
    calls: set[tuple[str, str]] = set()
    for call, result in _results(aggregate):
        too_many = result is not None and result.error_code is ErrorCode.TOO_MANY
        calls.add(("", "") if too_many else _key(call, result))
    return calls


def _results(aggregate: ToolAggregateMessage) -> Iterable[tuple[ToolCall, ToolResult | None]]:
    """Return the calls, each with its result or None."""
    calls, results = aggregate.tool_calls, aggregate.tool_results
    if len(calls) == len(results):
        # Results are in the order of the calls.
        return zip(calls, results, strict=True)
    by_id = {result.tool_call_id: result for result in results}
    return ((call, by_id.get(call.id)) for call in calls)


def _key(call: ToolCall, result: ToolResult | None) -> tuple[str, str]:
    # Invalid calls have no arguments, so their raw text identifies them.
    unread = result is not None and result.error_code is ErrorCode.INVALID_ARGUMENTS
    written = call.raw if unread else ResultCache.key(call.name, call.arguments)
    return written, "" if result is None else result.result
