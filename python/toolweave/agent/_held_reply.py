"""Texts of a reply that may be the output, until it is known whether they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import (
    Discarded,
    FabricatedResult,
    FinishUpdate,
    ReasoningDelta,
    TextDelta,
    UsageMessage,
)
from ..natural._output import hide_texts

if TYPE_CHECKING:
    from .._messages import Message
    from ..natural import ReplyRun, ToolUseEvent

# Events that may occur in a reply without calls.
_PLAIN = (TextDelta, ReasoningDelta, Discarded, FabricatedResult, UsageMessage, FinishUpdate)


class HeldReply:
    """A reply whose text users see when it is known to be the output, or to have calls.

    Text around calls is addressed to the user, and is not read as the output. So the first event
    of a call releases the events before it, and no call waits.

    Args:
        reply: The reply.
        checked: True if its text may turn out not to be an output.
        hold: True to hold the events of such a text.
    """

    def __init__(self, reply: ReplyRun, *, checked: bool, hold: bool) -> None:
        self._reply = reply
        self._is_hidden = checked
        self._hold = hold
        self._held: list[ToolUseEvent] = []

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the reply so far, with texts hidden that users do not see yet."""
        messages = self._reply.messages
        return hide_texts(messages) if self._is_hidden else messages

    def push(self, event: ToolUseEvent) -> list[ToolUseEvent]:
        """Read the next event of the reply; return the events to emit now."""
        if self._is_hidden and not isinstance(event, _PLAIN):
            return [*self.accept(), event]
        holds = self._held or isinstance(event, TextDelta)
        if not (self._is_hidden and self._hold and holds):
            return [event]
        self._held.append(event)
        return []

    def accept(self) -> list[ToolUseEvent]:
        """Show the text, and return the events that were held."""
        self._is_hidden = False
        held, self._held = self._held, []
        return held

    def refuse(self) -> list[ToolUseEvent]:
        """Return the events that were held, without the text."""
        held, self._held = self._held, []
        return [event for event in held if not isinstance(event, TextDelta)]
