"""Conversations in any form, as messages."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from .._core import (
    MessageBase,
    TextMessage,
    ToolAggregateMessage,
    ToolCallMessage,
    ToolResultMessage,
    from_openai,
    message_from_dict,
)
from ..exceptions import MessageError
from ..kinds import MessageKind

if TYPE_CHECKING:
    from .. import Message
    from ..protocols import HasModelDump, Messages


def as_messages(messages: Messages, parameter: str = "messages") -> list[Message]:
    """A conversation as a list of messages.

    Example:
        >>> as_messages("Hello")[0].role
        <Role.USER: 'user'>
        >>> [m.kind.value for m in as_messages([{"role": "user", "content": "Hi"}, "and you?"])]
        ['text', 'text']

    Args:
        messages: One user's text; a message; a dict as `Message.to_dict` writes it (it has a
            ``kind``) or as OpenAI's client takes it; a response message of that client; or many of
            these, mixed as they come. Results in our form may leave out the name of their tool:
            that of the latest call with their id holds. A dict loses its mark ``natural``, since
            it may be anybody's: whoever trusts it passes `TextMessage.from_dict` of it.
        parameter: What errors call them.

    Returns:
        The messages, those that were messages as the very same objects. Calls and results that
        follow each other in OpenAI's form become aggregates.

    Raises:
        MessageError: Something in a dict is missing or wrong; says which message and where.
        TypeError: Something is no message.
    """
    if isinstance(messages, (str, MessageBase, Mapping)) or _has_dump(messages):
        return _Reader().read([cast("object", messages)])
    if isinstance(messages, (bytes, bytearray)) or not isinstance(messages, Iterable):
        hint = "; collect it first" if isinstance(messages, AsyncIterable) else ""
        raise TypeError(
            f"{parameter} must be a str, a message, a dict, or an iterable of these, "
            f"not {type(messages).__name__}{hint}"
        )
    return _Reader().read(messages)


def stored_messages(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Dicts that this program has stored, as `as_messages` reads them; ``natural`` stays."""
    return _Reader(trusted=True).read(messages)


class _Reader:
    """Reads the foreign entries that stand together at once, since results need their calls."""

    def __init__(self, *, trusted: bool = False) -> None:
        self._trusted = trusted
        self._read: list[Message] = []
        self._foreign: list[Mapping[str, Any]] = []
        self._start = 0
        # The tools by call: of the first messages, as far as anybody has asked, and of the
        # entries that wait.
        self._called: dict[str, str] = {}
        self._known = 0
        self._waiting: set[object] = set()

    def read(self, messages: Iterable[object]) -> list[Message]:
        for index, message in enumerate(messages):
            self._take(index, message)
        self._flush()
        return self._read

    def _take(self, index: int, message: object) -> None:
        if isinstance(message, MessageBase):
            self._add(cast("Message", message))
        elif isinstance(message, str):
            self._add(TextMessage(message))
        elif isinstance(message, Mapping):
            fields = cast("Mapping[str, Any]", message)
            if "kind" in fields:
                self._flush()
                self._add(self._own(_from_wire(index, _named(fields, self._tool))))
            else:
                self._wait(index, fields)
        elif _has_dump(message):
            self._wait(index, cast("HasModelDump", message).model_dump())
        else:
            raise TypeError(
                f"message {index} must be a message, a str or a dict, not {type(message).__name__}"
            )

    def _own(self, message: Message) -> Message:
        """A message that was a dict, which may come from anywhere: programs set the mark."""
        if isinstance(message, TextMessage) and message.natural and not self._trusted:
            return message.__replace__(natural=False)
        return message

    def _add(self, message: Message) -> None:
        self._flush()
        self._read.append(message)

    def _wait(self, index: int, fields: Mapping[str, Any]) -> None:
        answered = fields.get("tool_call_id") if fields.get("role") == "tool" else None
        if isinstance(answered, str) and answered not in self._waiting:
            name = self._tool(answered)
            if name is not None:
                self._add(_result(index, fields, answered, name))
                return
        if not self._foreign:
            self._start = index
        self._foreign.append(fields)
        self._waiting.update(_ids(fields.get("tool_calls")))

    def _tool(self, call: str) -> str | None:
        """The tool of a call in the messages so far."""
        for message in self._read[self._known :]:
            if isinstance(message, (ToolCallMessage, ToolAggregateMessage)):
                self._called.update((each.id, each.name) for each in message.tool_calls)
        self._known = len(self._read)
        return self._called.get(call)

    def _flush(self) -> None:
        if not self._foreign:
            return
        foreign, self._foreign = self._foreign, []
        self._waiting.clear()
        try:
            read = from_openai(foreign)
        except MessageError as err:
            raise _moved(err, self._start + (err.index or 0)) from None
        for message in read:
            self._add(message)


def _has_dump(message: object) -> bool:
    return callable(getattr(message, "model_dump", None)) and not isinstance(message, type)


def _ids(calls: object) -> Iterable[object]:
    if isinstance(calls, (list, tuple)):
        for call in cast("Iterable[object]", calls):
            if isinstance(call, Mapping):
                yield cast("Mapping[str, object]", call).get("id")


def _from_wire(index: int, fields: Mapping[str, Any]) -> Message:
    try:
        return message_from_dict(fields)
    except MessageError as err:
        raise _moved(err, index) from None


def _named(fields: Mapping[str, Any], tool_of: Callable[[str], str | None]) -> Mapping[str, Any]:
    """Results that do not name their tool, with the name of the call that they answer."""
    results = cast("object", fields.get("toolResults"))
    if fields["kind"] != MessageKind.TOOL_RESULT or not isinstance(results, (list, tuple)):
        return fields
    named: list[object] = []
    for result in cast("Iterable[object]", results):
        if isinstance(result, Mapping):
            told = cast("Mapping[str, Any]", result)
            call = told.get("toolCallId")
            name = None
            if told.get("name") is None and isinstance(call, str):
                name = tool_of(call)
            named.append({**told, "name": name} if name else told)
        else:
            named.append(result)
    return {**fields, "toolResults": named}


def _result(index: int, fields: Mapping[str, Any], call: str, name: str) -> ToolResultMessage:
    """A result in OpenAI's form whose call is one of our messages."""
    function = {"name": name, "arguments": "{}"}
    asked = {"role": "assistant", "tool_calls": [{"id": call, "function": function}]}
    try:
        (both,) = from_openai([asked, fields])
    except MessageError as err:
        raise _moved(err, index) from None
    return ToolResultMessage(cast("ToolAggregateMessage", both).tool_results)


def _moved(err: MessageError, index: int) -> MessageError:
    """The error, about the message at another position."""
    named = "message" if err.index is None else f"message {err.index}"
    return MessageError(f"message {index}{str(err).removeprefix(named)}", index, err.path)
