"""The order of texts and calls in a reply, so that steps are emitted in that order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import ReasoningDelta, TextDelta, ToolCall, ToolCallStart
from ..executor._ids import CallIds
from ..natural._parts import PartNumbers, calls_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._core import InvalidToolCall


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
        self._groups = 0
        # The position of the first entry that has not been returned yet.
        self._next = 0

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
        self._groups = max(self._groups, group + 1)
        self._append(event.index)
        if not isinstance(event, ToolCallStart):
            self._calls[self._ids.unique(event.id, len(self._calls))] = event.index
        return calls_id(self._generation_id, group)

    def _append(self, entry: str | int) -> None:
        if entry not in self._places:
            self._places[entry] = len(self._entries)
            self._entries.append(entry)

    @property
    def groups(self) -> int:
        """Number of messages of the reply that have calls."""
        return self._groups

    def message_of(self, call_id: str) -> str | None:
        """Return the id of the message that a call belongs to, or None for an unknown call."""
        index = self._calls.get(call_id)
        if index is None:
            return None
        return calls_id(self._generation_id, self._numbers.call(index))

    def calls_before(self, message_id: str) -> str | None:
        """Return the id of the message with the calls directly before a text, or None."""
        place = self._places.get(message_id, 0)
        entry = self._entries[place - 1] if place else None
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
