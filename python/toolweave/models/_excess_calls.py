"""Removal of calls beyond the limit of a reply from later requests.

Otherwise, after a model writes ``<F/>`` a hundred thousand times, every later request repeats each
of these calls with an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import ToolAggregateMessage, ToolCallMessage, ToolResult, ToolResultMessage
from ..kinds import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .._messages import Message


def drop_excess_calls(messages: Sequence[Message]) -> Sequence[Message]:
    """Return messages without the calls beyond the limit of a reply, and their results.

    The last remaining result gets a line with their number. If none remains, one of the dropped
    results is kept for that line.

    Args:
        messages: The messages. They are not modified.

    Returns:
        The messages for a request; `messages` itself if no reply made too many calls.
    """
    if not any(_is_excess(result) for result in _results(messages)):
        return messages
    shown: list[Message] = []
    for turn in _turns(messages):
        kept: list[ToolResult] = []
        excess_calls: list[ToolResult] = []
        for result in _results(turn):
            (excess_calls if _is_excess(result) else kept).append(result)
        shown.extend(_trimmed(turn, kept, excess_calls) if excess_calls else turn)
    return shown


def _is_excess(result: ToolResult) -> bool:
    return result.error_code is ErrorCode.TOO_MANY


def _results(messages: Iterable[Message]) -> Iterator[ToolResult]:
    for message in messages:
        if isinstance(message, (ToolAggregateMessage, ToolResultMessage)):
            yield from message.tool_results


def _turns(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Group messages, each with the result messages that follow it."""
    turn: list[Message] = []
    for message in messages:
        if turn and not isinstance(message, ToolResultMessage):
            yield turn
            turn = []
        turn.append(message)
    if turn:
        yield turn


def _trimmed(
    turn: Iterable[Message], kept: Sequence[ToolResult], excess_calls: Sequence[ToolResult]
) -> Iterator[Message]:
    if kept:
        text = f"{kept[-1].result}\n[{len(excess_calls)} more calls were not run"
        carrier = kept[-1].__replace__(result=f"{text}: the reply made too many]")
    else:
        text = f"{len(excess_calls)} calls were not run: the reply made too many"
        carrier = excess_calls[0].__replace__(result=text)
    left_out = {result.tool_call_id for result in excess_calls} - {carrier.tool_call_id}
    for message in turn:
        if isinstance(message, ToolAggregateMessage):
            yield message.__replace__(
                tool_calls=[call for call in message.tool_calls if call.id not in left_out],
                tool_results=list(_without(message.tool_results, left_out, carrier)),
            )
        elif isinstance(message, ToolCallMessage):
            calls = [call for call in message.tool_calls if call.id not in left_out]
            yield message.__replace__(tool_calls=calls)
        elif isinstance(message, ToolResultMessage):
            results = list(_without(message.tool_results, left_out, carrier))
            if results:
                yield message.__replace__(tool_results=results)
        else:
            yield message


def _without(
    results: Iterable[ToolResult], left_out: set[str], carrier: ToolResult
) -> Iterator[ToolResult]:
    for result in results:
        if result.tool_call_id == carrier.tool_call_id:
            yield carrier
        elif result.tool_call_id not in left_out:
            yield result
