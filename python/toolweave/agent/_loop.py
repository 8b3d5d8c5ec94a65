"""The loop of requests of a run: when it goes on, asks again, and stops."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, cast

from .._aio.single_flight import ResultCache
from .._core import ToolAggregateMessage
from ..executor._deferred import METADATA as DEFERRED
from ..kinds import ErrorCode, StopReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .._core import ToolCall, ToolResult
    from .._messages import Message
    from ..natural import ReplyRun
    from ..protocols import Journal

# More calls, or calls with more text, are processed in a thread.
_MAX_INLINE_CALLS = 1000
_MAX_INLINE_CHARS = 65_536


class ReplyLoop:
    """The requests of one run, of an agent or in a scene, and the decision after each reply.

    A reply is part of a loop of calls if every call in it has given the same result in
    `max_repeats` replies. A repeated call next to a new one is progress, and so is a call whose
    result has changed.

    Args:
        max_iterations: Maximum number of requests.
        max_repeats: The number of replies that make a loop; None for no limit.
    """

    def __init__(self, max_iterations: int, max_repeats: int | None = None) -> None:
        self._max_iterations = max_iterations
        self._max_repeats = max_repeats
        self._counts: Counter[tuple[str, str]] = Counter()
        self._is_retry = False
        self.iterations = 0
        """Number of requests made."""

    @property
    def may_continue(self) -> bool:
        """True if another request can be made."""
        return self.iterations < self._max_iterations

    def extend(self, requests: int) -> None:
        """Allow this number of requests from now on."""
        self._max_iterations = self.iterations + requests

    def should_retry(self, reply: ReplyRun) -> bool:
        """Return True if the reply is empty and has to be requested again, which is done once."""
        self._is_retry = (
            reply.is_empty and not self._is_retry and self.iterations < self._max_iterations
        )
        return self._is_retry

    async def stop_reason(self, aggregate: ToolAggregateMessage) -> StopReason | None:
        """Return the reason to stop after a reply with calls, or None to send the results."""
        if any(pending_calls(aggregate)):
            return StopReason.DEFERRED
        if self._max_repeats is not None and await self._is_loop(aggregate, self._max_repeats):
            return StopReason.LOOP
        return StopReason.MAX_ITERATIONS if self.iterations >= self._max_iterations else None

    async def _is_loop(self, aggregate: ToolAggregateMessage, limit: int) -> bool:
        made = aggregate.tool_calls
        if len(made) > _MAX_INLINE_CALLS or sum(len(call.raw) for call in made) > _MAX_INLINE_CHARS:
            calls = await asyncio.to_thread(_keys, aggregate)
        else:
            calls = _keys(aggregate)
        self._counts.update(calls)
        return all(self._counts[call] >= limit for call in calls)


def pending_calls(message: Message) -> Iterator[tuple[ToolCall, str]]:
    """Yield the calls of a message with deferred results, each with the key to resolve."""
    if not isinstance(message, ToolAggregateMessage):
        return
    if len(message.tool_results) == len(message.tool_calls):
        return
    known = {result.tool_call_id for result in message.tool_results}
    keys = cast("dict[str, str]", message.metadata.get(DEFERRED, {}))
    for call in message.tool_calls:
        if call.id not in known:
            yield call, keys.get(call.id, call.id)


async def merge_late_results(
    messages: list[Message],
    merge: Callable[[ToolAggregateMessage], ToolAggregateMessage],
    journal: Journal | None,
    changed: list[Message],
) -> list[tuple[ToolAggregateMessage, list[tuple[ToolCall, ToolResult]]]]:
    """Add results that have arrived for calls of a conversation, and record them.

    Args:
        messages: The conversation.
        merge: Function that returns the message with the results for its calls that have arrived.
        journal: Journal of the results.
        changed: List to which the changed messages are added.

    Returns:
        The changed messages, each with the calls that have a result now.
    """
    found: list[tuple[ToolAggregateMessage, list[tuple[ToolCall, ToolResult]]]] = []
    for position, message in enumerate(messages):
        merged = merge(message) if isinstance(message, ToolAggregateMessage) else message
        if merged is message or not isinstance(merged, ToolAggregateMessage):
            continue
        waiting = {call.id: call for call, _ in pending_calls(message)}
        late = [
            (waiting[result.tool_call_id], result)
            for result in merged.tool_results
            if result.tool_call_id in waiting
        ]
        if journal is not None:
            for call, result in late:
                await journal.finished(call, result)
        messages[position] = merged
        changed.append(merged)
        found.append((merged, late))
    return found


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
