"""Truncation of results, for stores with a limit on the size of messages and events.

Every result is stored with its call, so results can be omitted from a message or event of many
calls.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .._core import ToolAggregateMessage
from ..executor._results import truncate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import ToolCall, ToolResult
    from .._messages import Message

_ENVELOPE = 2000
"""Space for ids and names besides a result, at most a quarter of the limit, in bytes."""
_NOTICE = 100
"""Space for the notice of truncation, in bytes."""
_STEP = 1 << 16

_Fields = TypeVar("_Fields", bound="Mapping[str, Any]")


def truncate_result(call: ToolCall, result: ToolResult, limit: int) -> ToolResult:
    """Return the result, truncated with a notice if it is too long for an event or a message.

    Args:
        call: The call, whose arguments may be in the same event or message.
        result: The result.
        limit: Maximum size of the JSON of an event or a message, in bytes.
    """
    text = result.result
    if len(text) * 6 + _ENVELOPE < limit // 2:
        return result
    room = limit - min(_ENVELOPE, limit // 4)
    room -= _size(call.arguments) if call.arguments else 2
    if _prefix_length(text, room) == len(text):
        return result
    # Short enough that the truncated result, with the notice, is not truncated again.
    return result.__replace__(result=truncate(text, _prefix_length(text, room - _NOTICE)))


def truncate_event(event: _Fields, limit: int) -> _Fields:
    """Return the event; an aggregate that is too long, without its results.

    Readers get each result from its own event.

    Args:
        event: Any event.
        limit: Maximum size of its JSON, in bytes.
    """
    if event.get("kind") != "tools_aggregate":
        return event
    results: list[dict[str, Any]] = event["toolResults"]
    if sum(len(each["result"]) for each in results) * 12 < limit or _size(event) <= limit:
        return event
    return cast("_Fields", {**event, "toolResults": []})


def truncate_message(message: Message, text: str, limit: int) -> tuple[Message, str]:
    """Return the message and its JSON; an aggregate that is too long, without its results.

    Args:
        message: The message.
        text: Its JSON.
        limit: Maximum size of the JSON, in bytes.
    """
    if (
        len(text) * 4 <= limit
        or not isinstance(message, ToolAggregateMessage)
        or (message.generation_id is None and message.run_id is None)
        or len(text.encode()) <= limit
    ):
        return message, text
    short = message.__replace__(tool_results=[])
    return short, short.to_json()


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _prefix_length(text: str, room: int) -> int:
    """Return the length of the longest prefix of a text whose JSON string fits into the space."""
    room -= 2
    kept, step = 0, _STEP
    while kept < len(text):
        size = _size(text[kept : kept + step]) - 2
        if size <= room:
            room -= size
            kept = min(kept + step, len(text))
        elif step == 1:
            break
        else:
            step //= 2
    return kept
