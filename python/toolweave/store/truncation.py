"""Results in a store that takes only so much at once.

Every result is kept with its call, so a message or an event of many calls can do without them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .._core import ToolAggregateMessage
from ..executor.results import truncate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .. import Message, ToolCall, ToolResult

_ENVELOPE = 2000
"""How much room ids and names have beside a result, at most a quarter of all, in bytes."""
_NOTICE = 100
"""How much room the notice of a cut has, in bytes."""
_STEP = 1 << 16

_Fields = TypeVar("_Fields", bound="Mapping[str, Any]")


def truncate_result(call: ToolCall, result: ToolResult, limit: int) -> ToolResult:
    """Return the result, cut with a notice if no event or message could hold it.

    Args:
        call: Its call, whose arguments may stand beside it.
        result: The result.
        limit: How long the JSON of an event or a message may be, in bytes.
    """
    text = result.result
    if len(text) * 6 + _ENVELOPE < limit // 2:
        return result
    room = limit - min(_ENVELOPE, limit // 4)
    room -= _size(call.arguments) if call.arguments else 2
    if _fitting(text, room) == len(text):
        return result
    # Cut so that what is left, notice and all, is not cut again.
    return result.__replace__(result=truncate(text, _fitting(text, room - _NOTICE)))


def truncate_event(event: _Fields, limit: int) -> _Fields:
    """Return the event of an aggregate without its results, if it is too long with them.

    Each of them has an event of its own, from which readers have it.

    Args:
        event: Any event.
        limit: How long its JSON may be, in bytes.
    """
    if event.get("kind") != "tools_aggregate":
        return event
    results: list[dict[str, Any]] = event["toolResults"]
    if sum(len(each["result"]) for each in results) * 12 < limit or _size(event) <= limit:
        return event
    return cast("_Fields", {**event, "toolResults": []})


def truncate_message(message: Message, text: str, limit: int) -> tuple[Message, str]:
    """Return the message and its JSON: an aggregate that is too long, without its results.

    Args:
        message: The message.
        text: Its JSON.
        limit: How long that may be, in bytes.
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


def _fitting(text: str, room: int) -> int:
    """How many characters of a text take at most so many bytes, as a JSON string."""
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
