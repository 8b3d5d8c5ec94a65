"""Conversations for requests: conversion of any form to messages, and removal of excess calls."""

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
from ..kinds import ErrorCode, MessageKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._core import ToolResult
    from .._messages import Message
    from ..protocols import HasModelDump, Messages


def as_messages(messages: Messages, parameter: str = "messages") -> list[Message]:
    """Return a conversation as a list of messages.

    Example:
        >>> as_messages("Hello")[0].role
        <Role.USER: 'user'>
        >>> [m.kind.value for m in as_messages([{"role": "user", "content": "Hi"}, "and you?"])]
        ['text', 'text']

    Args:
        messages: A text of the user; a message; a dict in the form of `Message.to_dict` (with a
            ``kind``) or in OpenAI's form; a response message of OpenAI's client; or an iterable of
            these, in any mixture. Results in the form of `Message.to_dict` may omit the name of
            their tool, which is then that of the latest call with their id. The flag ``natural``
            of a dict is ignored, since the dict may come from an untrusted client; to keep it,
            pass a `TextMessage.from_dict`.
        parameter: Name of the parameter in errors.

    Returns:
        The messages. Items that are messages already are the same objects. Consecutive calls and
        results in OpenAI's form become aggregates.

    Raises:
        MessageError: A field of a dict is missing or invalid. The error names the message and
            the place.
        TypeError: An item is not a message.
    """
    if isinstance(messages, (str, MessageBase, Mapping)) or _has_dump(messages):
        return _MessageConverter().read([cast("object", messages)])
    if isinstance(messages, (bytes, bytearray)) or not isinstance(messages, Iterable):
        hint = "; collect it first" if isinstance(messages, AsyncIterable) else ""
        raise TypeError(
            f"{parameter} must be a str, a message, a dict, or an iterable of these, "
            f"got {type(messages).__name__}{hint}"
        )
    return _MessageConverter().read(messages)


def stored_messages(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Convert dicts that this program has stored, keeping ``natural``; see `as_messages`."""
    return _MessageConverter(trusted=True).read(messages)


class _MessageConverter:
    """Converter of messages; converts consecutive dicts of OpenAI's form together.

    Results need the calls before them.
    """

    def __init__(self, *, trusted: bool = False) -> None:
        self._trusted = trusted
        self._read: list[Message] = []
        self._deferred: list[Mapping[str, Any]] = []
        self._start = 0
        # Tool names by call id: of the messages that have been indexed so far, and the ids of
        # calls in the dicts that have not been converted yet.
        self._tool_names: dict[str, str] = {}
        self._indexed = 0
        self._pending_ids: set[object] = set()

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
                self._add(self._from_wire(index, _named(fields, self._tool)))
            else:
                self._defer(index, fields)
        elif _has_dump(message):
            self._defer(index, cast("HasModelDump", message).model_dump())
        else:
            raise TypeError(
                f"message {index} must be a message, a str or a dict, got {type(message).__name__}"
            )

    def _from_wire(self, index: int, fields: Mapping[str, Any]) -> Message:
        """Return a message of a dict, without its ``natural`` flag unless dicts are trusted."""
        try:
            message = message_from_dict(fields)
        except MessageError as err:
            raise _with_index(err, index) from None
        if isinstance(message, TextMessage) and message.natural and not self._trusted:
            return message.__replace__(natural=False)
        return message

    def _add(self, message: Message) -> None:
        self._flush()
        self._read.append(message)

    def _defer(self, index: int, fields: Mapping[str, Any]) -> None:
        call_id = fields.get("tool_call_id") if fields.get("role") == "tool" else None
        if isinstance(call_id, str) and call_id not in self._pending_ids:
            name = self._tool(call_id)
            if name is not None:
                self._add(_result(index, fields, call_id, name))
                return
        if not self._deferred:
            self._start = index
        self._deferred.append(fields)
        self._pending_ids.update(_ids(fields.get("tool_calls")))

    def _tool(self, call: str) -> str | None:
        """Return the name of the tool of a call in the messages so far."""
        for message in self._read[self._indexed :]:
            if isinstance(message, (ToolCallMessage, ToolAggregateMessage)):
                self._tool_names.update((each.id, each.name) for each in message.tool_calls)
        self._indexed = len(self._read)
        return self._tool_names.get(call)

    def _flush(self) -> None:
        if not self._deferred:
            return
        deferred, self._deferred = self._deferred, []
        self._pending_ids.clear()
        try:
            read = from_openai(deferred)
        except MessageError as err:
            raise _with_index(err, self._start + (err.index or 0)) from None
        for message in read:
            self._add(message)


def _has_dump(message: object) -> bool:
    return callable(getattr(message, "model_dump", None)) and not isinstance(message, type)


def _ids(calls: object) -> Iterable[object]:
    if isinstance(calls, (list, tuple)):
        for call in cast("Iterable[object]", calls):
            if isinstance(call, Mapping):
                yield cast("Mapping[str, object]", call).get("id")


def _named(fields: Mapping[str, Any], tool_of: Callable[[str], str | None]) -> Mapping[str, Any]:
    """Add the missing tool names of results, from the calls that they belong to."""
    results = cast("object", fields.get("toolResults"))
    if fields["kind"] != MessageKind.TOOL_RESULT or not isinstance(results, (list, tuple)):
        return fields
    named: list[object] = []
    for result in cast("Iterable[object]", results):
        if isinstance(result, Mapping):
            result_fields = cast("Mapping[str, Any]", result)
            call = result_fields.get("toolCallId")
            name = None
            if result_fields.get("name") is None and isinstance(call, str):
                name = tool_of(call)
            named.append({**result_fields, "name": name} if name else result_fields)
        else:
            named.append(result)
    return {**fields, "toolResults": named}


def _result(index: int, fields: Mapping[str, Any], call: str, name: str) -> ToolResultMessage:
    """Convert a result in OpenAI's form whose call has been converted already."""
    function = {"name": name, "arguments": "{}"}
    request = {"role": "assistant", "tool_calls": [{"id": call, "function": function}]}
    try:
        (both,) = from_openai([request, fields])
    except MessageError as err:
        raise _with_index(err, index) from None
    return ToolResultMessage(cast("ToolAggregateMessage", both).tool_results)


def _with_index(err: MessageError, index: int) -> MessageError:
    """Return the error with the position of its message changed."""
    named = "message" if err.index is None else f"message {err.index}"
    return MessageError(f"message {index}{str(err).removeprefix(named)}", index, err.path)


def drop_excess_calls(messages: Sequence[Message]) -> Sequence[Message]:
    """Return messages without the calls beyond the limit of a reply, and their results.

    Otherwise, after a model writes ``<F/>`` a hundred thousand times, every later request repeats
    each of these calls with an error.

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
