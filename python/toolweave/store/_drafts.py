"""Contents of a write to a chat, checked and serialized before the chat is locked."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .._core import MessageBase, ToolAggregateMessage, ToolCall, ToolResult, check_stream_event
from ..exceptions import MessageError
from ._records import PendingInput
from ._truncation import truncate_message
from ._values import check_size, checked_id, checked_object, optional_id, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .._messages import Message

_T = TypeVar("_T")

_PENDING_KINDS = ("approval", "question", "deferred")
"""Kinds of pending inputs."""

COLUMN_FIELDS = ("chatId", "sequenceNumber", "timestampUtc")
"""Fields of an event that are stored in columns instead of its JSON."""


@dataclass(frozen=True)
class Draft:
    """The contents of a write."""

    events: tuple[tuple[Mapping[str, Any], str], ...]
    """Events, without the fields stored in columns, and their JSON."""
    messages: tuple[tuple[Message, str], ...]
    """Messages, all of them with an id, and their JSON."""
    started: tuple[ToolCall, ...]
    """Calls whose tool is about to be entered."""
    finished: tuple[tuple[ToolCall, ToolResult], ...]
    """Finished calls with their results."""
    pending: tuple[PendingInput, ...]
    """Inputs that the chat now waits for."""
    detached: tuple[ToolAggregateMessage, ...]
    """Original messages whose results are stored only with their calls."""

    @property
    def only_events(self) -> bool:
        """True if the draft contains only events."""
        return not (self.messages or self.started or self.finished or self.pending)


def make_draft(
    chat_id: str,
    limit: int,
    events: Iterable[Mapping[str, Any]] = (),
    messages: Iterable[Message] = (),
    started: Iterable[ToolCall] = (),
    finished: Iterable[tuple[ToolCall, ToolResult]] = (),
    pending: Iterable[PendingInput] = (),
) -> Draft:
    """Check and serialize the contents of a write.

    Raises:
        MessageError: An event or message is invalid, too long, or of another chat.
        TypeError: An argument has the wrong type.
    """
    detached: list[ToolAggregateMessage] = []
    return Draft(
        tuple(_event(chat_id, each, limit) for each in events),
        tuple(_message(chat_id, each, limit, detached) for each in messages),
        tuple(_call(each) for each in started),
        tuple(
            (_call(call), _checked(result, ToolResult, "a result", "a ToolResult"))
            for call, result in finished
        ),
        tuple(_pending_input(each) for each in pending),
        tuple(detached),
    )


def _event(chat_id: str, given: object, limit: int) -> tuple[Mapping[str, Any], str]:
    fields = checked_object(given, "an event")
    check_stream_event(fields)
    if fields.get("chatId", chat_id) != chat_id:
        raise MessageError(
            f"the `chatId` of an event must be {chat_id!r}, got {fields['chatId']!r}"
        )
    for name in COLUMN_FIELDS:
        fields.pop(name, None)
    optional_id(fields.get("runId"), "the `runId` of an event")
    return fields, to_json(fields, f"an event of kind {fields['kind']!r}", limit)


def _message(
    chat_id: str, given: object, limit: int, detached: list[ToolAggregateMessage]
) -> tuple[Message, str]:
    checked = _checked(given, MessageBase, "a message", "a message of toolweave")
    message = cast("Message", checked)
    if message.chat_id not in (None, chat_id):
        raise MessageError(f"the chat_id of a message must be {chat_id!r}, got {message.chat_id!r}")
    if message.id is None:
        message = message.__replace__(id=uuid.uuid4().hex)
    for name in ("id", "run_id", "generation_id"):
        optional_id(getattr(message, name), f"the {name} of a message")
    short, text = truncate_message(message, message.to_json(), limit)
    if short is not message and isinstance(message, ToolAggregateMessage):
        detached.append(message)
    return short, check_size(text, f"the message {message.id!r}", limit)


def _call(call: object) -> ToolCall:
    return _checked(call, ToolCall, "a call", "a ToolCall")


def _pending_input(given: object) -> PendingInput:
    awaited = _checked(given, PendingInput, "a pending input", "a PendingInput")
    if awaited.kind not in _PENDING_KINDS:
        raise ValueError(f"kind must be one of {_PENDING_KINDS}, got {awaited.kind!r}")
    checked_id(awaited.key, "a key")
    optional_id(awaited.run_id, "run_id")
    return awaited


def _checked(value: object, kind: type[_T], name: str, wanted: str) -> _T:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {wanted}, got {type(value).__name__}")
    return value
