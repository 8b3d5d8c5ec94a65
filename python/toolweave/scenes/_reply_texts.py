"""The texts of a reply: their order among its calls, and the calls that a model wrote in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import (
    ReasoningDelta,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallStart,
    ToolResult,
)
from ..executor._ids import CallIds
from ..kinds import ErrorCode
from ..natural._parts import PartNumbers, calls_id
from ._unregistered_calls import UnregisteredCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .._core import InvalidToolCall
    from .._messages import Message
    from ..natural import ReplyRun

_MAX_NAMED = 5


class ReplyOutline:
    """The texts, reasoning and calls of a reply, in the order in which the model began them.

    Texts and reasoning are identified by the ids of their messages, calls by the ids that the
    executor assigns.

    Args:
        generation_id: The id of the reply.

    Example:
        >>> outline = ReplyOutline("g")
        >>> for event in (TextDelta("A"), ToolCall("a", "add", {}), TextDelta("B")):
        ...     _ = outline.add(event)
        >>> list(outline.before("a")), outline.message_of("a"), list(outline.after("a"))
        (['g.0'], 'g.calls', ['g.1'])
    """

    def __init__(self, generation_id: str) -> None:
        self._generation_id = generation_id
        self._numbers = PartNumbers()
        self._ids = CallIds()
        # Message ids of texts and reasoning, and indices of calls; then the place of each.
        self._entries: list[str | int] = []
        self._places: dict[str | int, int] = {}
        # The indices of the complete calls, in order of completion.
        self._calls: dict[str, int] = {}
        self._reported: set[int] = set()
        # The position of the first entry that has not been returned yet.
        self._next = 0
        self.groups = 0
        """Number of messages of the reply that have calls."""

    def add(
        self, event: TextDelta | ReasoningDelta | ToolCallStart | ToolCall | InvalidToolCall
    ) -> str:
        """Add an event of the reply, and return the id of the message that it belongs to."""
        if isinstance(event, (TextDelta, ReasoningDelta)):
            is_text = isinstance(event, TextDelta)
            number = self._numbers.place("text" if is_text else "reasoning", event.text)
            message_id = f"{self._generation_id}.{number}"
            if event.text and not (is_text and event.text.isspace()):
                self._append(message_id)
            return message_id
        group = self._numbers.call(event.index)
        self.groups = max(self.groups, group + 1)
        self._append(event.index)
        if not isinstance(event, ToolCallStart):
            self._calls[self._ids.unique(event.id, len(self._calls))] = event.index
        return calls_id(self._generation_id, group)

    def _append(self, entry: str | int) -> None:
        if entry not in self._places:
            self._places[entry] = len(self._entries)
            self._entries.append(entry)

    def message_of(self, call_id: str) -> str | None:
        """Return the id of the message that a call belongs to, or None for an unknown call."""
        return self._calls_id(self._calls.get(call_id))

    def calls_before(self, message_id: str) -> str | None:
        """Return the id of the message with the calls directly before a text, or None."""
        place = self._places.get(message_id, 0)
        return self._calls_id(self._entries[place - 1] if place else None)

    def _calls_id(self, entry: str | int | None) -> str | None:
        if not isinstance(entry, int):
            return None
        return calls_id(self._generation_id, self._numbers.call(entry))

    def before(self, call_id: str) -> Iterator[str]:
        """Return the texts and reasoning before a call that have not been returned yet."""
        index = self._calls.get(call_id)
        return self._up_to(0 if index is None else self._places[index])

    def after(self, call_id: str) -> Iterator[str]:
        """Mark a call as reported, and return the texts and reasoning that are next.

        Nothing is next while an earlier call has not been reported.
        """
        index = self._calls.get(call_id)
        if index is not None:
            self._reported.add(index)
        end = self._next
        while end < len(self._entries):
            entry = self._entries[end]
            if isinstance(entry, int) and entry not in self._reported:
                break
            end += 1
        return self._up_to(end)

    def rest(self) -> Iterator[str]:
        """Return all texts and reasoning that have not been returned yet."""
        return self._up_to(len(self._entries))

    def _up_to(self, end: int) -> Iterator[str]:
        start, self._next = self._next, max(self._next, end)
        return (entry for entry in self._entries[start:end] if isinstance(entry, str))


class TextHoldback:
    """A buffer that passes text up to a tag of a possible unregistered call, and holds the rest.

    Args:
        find_call: Function that returns the start of a possible call in text that continues, or the
            length of the text, and True if it is certain.
    """

    def __init__(self, find_call: Callable[[str], tuple[int, bool]]) -> None:
        self._find_call = find_call
        self._message_id: str | None = None
        self._pending = ""
        # Leading white space. A text of white space only is not a message.
        self._leading: list[str] = []
        # Number of characters emitted per message.
        self._emitted: dict[str, int] = {}
        self._closed = False

    def push(self, message_id: str, text: str) -> Iterator[tuple[str, str]]:
        """Add text, and return the pieces that can be emitted, with their message ids.

        Args:
            message_id: The message of the text.
            text: The next piece of the message.
        """
        if self._closed:
            return
        if message_id != self._message_id:
            # A tag does not continue in another message.
            yield from self._emit(len(self._pending))
            self._message_id = message_id
            self._leading.clear()
        if text.isspace() and not (self._pending or message_id in self._emitted):
            self._leading.append(text)
            return
        self._pending += "".join([*self._leading, text])
        self._leading.clear()
        end, self._closed = self._find_call(self._pending)
        yield from self._emit(end)

    def close(self) -> Iterator[tuple[str, str]]:
        """Return the pieces before a call; text after it is held back."""
        if not self._closed:
            yield from self._emit(len(self._pending))
            self._leading.clear()
            self._closed = True

    def release(self, message_id: str, text: str) -> Iterator[tuple[str, str]]:
        """Return the remaining text of a message, once.

        Args:
            message_id: The message.
            text: The whole text of the message.
        """
        if not (self._closed or self._pending or self._leading):
            return
        self._closed, self._pending = True, ""
        passed = self._emitted.get(message_id, 0)
        if len(text) > passed:
            self._emitted[message_id] = len(text)
            yield message_id, text[passed:]

    def _emit(self, end: int) -> Iterator[tuple[str, str]]:
        if self._message_id is None or not end:
            return
        piece, self._pending = self._pending[:end], self._pending[end:]
        self._emitted[self._message_id] = self._emitted.get(self._message_id, 0) + end
        yield self._message_id, piece


class ReplyTexts:
    """The texts of a finished reply, and the calls in them that are refused with an error.

    Args:
        reply: The reply.
        outline: The order of its texts and calls.
        split_calls: Function that splits a text into pieces of text and calls.
        should_refuse: Function that returns True for a call that is refused; None to leave all
            calls in the text.
        refusal: Function that returns the error.
    """

    def __init__(
        self,
        reply: ReplyRun,
        outline: ReplyOutline,
        split_calls: Callable[[str], Sequence[str | UnregisteredCall]],
        *,
        should_refuse: Callable[[UnregisteredCall], bool] | None,
        refusal: Callable[[UnregisteredCall], str],
    ) -> None:
        self.texts: dict[str, str] = {}
        """The texts without refused calls, by the ids of their messages."""
        self.refused: dict[str, list[UnregisteredCall]] = {}
        """The refused calls by the ids of their texts."""
        self.refusals: dict[str, ToolAggregateMessage] = {}
        """The same calls with errors as their results."""
        left: list[UnregisteredCall] = []
        number, group = len(reply.calls), outline.groups
        for message in reply.messages:
            if not isinstance(message, TextMessage) or message.id is None:
                continue
            kept: list[str] = []
            refused: list[UnregisteredCall] = []
            for part in split_calls(message.text):
                if isinstance(part, str):
                    kept.append(part)
                elif should_refuse is not None and should_refuse(part):
                    refused.append(part)
                else:
                    left.append(part)
                    kept.append(part.raw)
            text = self.texts[message.id] = "".join(kept)
            if not refused:
                continue
            # The calls follow the text. If no text is left, they join the calls before it.
            before = None if text.strip() else outline.calls_before(message.id)
            aggregate_id = before or calls_id(reply.generation_id, group)
            group += before is None
            calls = [
                ToolCall(
                    f"call_{reply.generation_id[:12]}_{index}",
                    each.name,
                    each.arguments,
                    each.raw,
                    index,
                )
                for index, each in enumerate(refused, number)
            ]
            results = [
                ToolResult(
                    call.id,
                    call.name,
                    refusal(each),
                    is_error=True,
                    error_code=ErrorCode.UNKNOWN_TOOL,
                )
                for call, each in zip(calls, refused, strict=True)
            ]
            number += len(refused)
            self.refused[message.id] = refused
            self.refusals[message.id] = ToolAggregateMessage(
                calls,
                results,
                id=aggregate_id,
                generation_id=message.generation_id,
                run_id=message.run_id,
                chat_id=message.chat_id,
            )
        self.notice = leftover_notice(left)
        """A notice about calls that were left in the texts."""

    def apply(self, messages: Iterable[Message]) -> list[Message]:
        """Return the messages of the reply, with each refused call after its text."""
        if not self.refusals:
            return [*messages]
        applied: list[Message] = []
        for message in messages:
            if not isinstance(message, TextMessage) or message.id is None:
                applied.append(message)
                continue
            text, refusal = self.texts[message.id], self.refusals.get(message.id)
            if text.strip():
                applied.append(message.__replace__(text=text))
            last = applied[-1] if applied else None
            if refusal is None:
                continue
            if isinstance(last, ToolAggregateMessage) and last.id == refusal.id:
                applied[-1] = merge([last, refusal])
            else:
                applied.append(refusal)
        return applied


def refuse_all(_: UnregisteredCall) -> bool:
    """Refuse any call in text."""
    return True


def leftover_notice(left: Sequence[UnregisteredCall]) -> str | None:
    """Return the notice about calls left in a text, or None if there are none."""
    if not left:
        return None
    names = list(dict.fromkeys(call.name for call in left))
    listed = ", ".join(f"'{name}'" for name in names[:_MAX_NAMED])
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"The text contains markup of calls, which were not run: no tool {listed}{more} here"


def merge(parts: Sequence[ToolAggregateMessage]) -> ToolAggregateMessage:
    """Merge calls and results into the first message."""
    return parts[0].__replace__(
        tool_calls=[call for part in parts for call in part.tool_calls],
        tool_results=[result for part in parts for result in part.tool_results],
    )
