"""Reading one reply: what a model yields, as events of the parser."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from .._core import (
    InvalidToolCall,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
)
from .native import NativeCalls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .. import Event, Update
    from .offer import Offer

Read: TypeAlias = "Event | UsageUpdate"
"""What is read in a reply, but for its end."""


class ReplyReader:
    """Reads one reply.

    Args:
        offer: The tools.
        inline: Whether calls are looked for in the text.
        deltas: Whether the arguments of native calls are reported while they arrive.
        call_id: Gives the id of the call at a position.
        own_ids: Whether `call_id` gives other ids than the parser of the offer does.
    """

    def __init__(
        self,
        offer: Offer,
        *,
        inline: bool,
        deltas: bool = True,
        call_id: Callable[[int], str],
        own_ids: bool = True,
    ) -> None:
        self._parser = offer.parser.fresh() if inline else None
        self._call_id = call_id
        self._renumbered = own_ids
        self._native = NativeCalls(
            offer.parser, number=self._number, call_id=call_id, deltas=deltas
        )
        self.calls = 0
        """How many calls have begun, valid or not."""
        self._index = 0
        """The position of the inline call that is being read."""
        self._id = ""

    def push(self, update: Update) -> Iterable[Read]:
        """Takes the next update, but for the end of the reply, and gives what it makes certain.

        Raises:
            TypeError: It is nothing that a model may yield.
        """
        if isinstance(update, TextDelta):
            if self._parser is None:
                return (update,)
            return self._inline(self._parser.push(update.text))
        if isinstance(update, (ReasoningDelta, UsageUpdate)):
            return (update,)
        if isinstance(update, ToolCallUpdate):
            return self._native.push(update)
        raise TypeError(
            "a model yields TextDelta, ReasoningDelta, ToolCallUpdate, UsageUpdate and "
            f"FinishUpdate, not {type(update).__name__}"
        )

    def finish(self, *, truncated: bool) -> Iterator[Event]:
        """Ends the reply and gives the rest of it.

        Args:
            truncated: Whether the model was cut off. Then no open call is complete.
        """
        if self._parser is not None:
            yield from self._inline(self._parser.finish(truncated=truncated))
        yield from self._native.finish(truncated=truncated)

    def _number(self) -> int:
        self._renumbered = True
        self.calls += 1
        return self.calls - 1

    def _inline(self, events: Iterable[Event]) -> Iterable[Event]:
        if not self._renumbered:
            for event in events:
                if isinstance(event, ToolCallStart):
                    self.calls += 1
                    self._index, self._id = event.index, event.id
            return events
        return [self._numbered(event) for event in events]

    def _numbered(self, event: Event) -> Event:
        """The event under the numbers that it has among calls of both kinds.

        The parser reads one call after the other, so one number is enough.
        """
        if isinstance(event, TextDelta):
            return event
        if isinstance(event, ToolCallStart):
            self._index = self.calls
            self.calls += 1
            self._id = self._call_id(self._index)
            return ToolCallStart(self._index, self._id, event.name)
        if isinstance(event, ToolCallDelta):
            return ToolCallDelta(self._index, event.fragment)
        if isinstance(event, ToolCall):
            return event.__replace__(id=self._id, index=self._index)
        if isinstance(event, InvalidToolCall):
            return InvalidToolCall(
                self._index, self._id, event.name, event.kind, event.raw, event.violations
            )
        return event
