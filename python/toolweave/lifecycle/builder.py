"""Events that are not stored yet: their envelope, and texts that are opened and closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..executor.results import utf8
from ..natural.parts import calls_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..natural.parts import PartKind
    from .events import StreamEvent


class EventBuilder:
    """Writes what all events of a run have in common.

    Args:
        chat_id: The chat.
        run_id: The run.
        from_agent: Who speaks.
    """

    def __init__(self, chat_id: str, run_id: str, from_agent: str | None = None) -> None:
        self.run_id = run_id
        self._chat_id = chat_id
        self._from_agent = from_agent
        self._called: set[tuple[str | None, str]] = set()
        # The messages of calls that do not stand in the first one with calls of their reply.
        self._homes: dict[tuple[str | None, str], str] = {}
        self._answered: set[str] = set()

    def has_emitted_call(self, call_id: str, generation_id: str | None) -> bool:
        """Whether a call was told; of any reply if none is given."""
        if generation_id is None:
            return any(call_id == told for _, told in self._called)
        return (generation_id, call_id) in self._called

    def keep(self, generation_id: str | None, call_id: str, message_id: str) -> None:
        """Notes in which message a call stands."""
        if message_id != calls_id(str(generation_id)):
            self._homes[generation_id, call_id] = message_id

    def home(self, generation_id: str, call_id: str) -> str:
        """The id of the message that a call stands in."""
        return self._homes.get((generation_id, call_id)) or calls_id(generation_id)

    def result(
        self, generation: str, call_id: str, own: Mapping[str, Any], *, done: bool
    ) -> list[StreamEvent]:
        """The result of a call, or its progress; nothing once the result was told.

        Who writes down a call tells of its result, and the run does it as well.
        """
        message_id = f"{self.home(generation, call_id)}_result_{call_id}"
        if message_id in self._answered:
            return []
        if done:
            self._answered.add(message_id)
        written = self.write(
            "tool_result",
            generation_id=generation,
            role="tool",
            messageId=message_id,
            toolCallId=call_id,
            done=done,
            **own,
        )
        return [written]

    def write(
        self,
        kind: str,
        *,
        generation_id: str | None = None,
        role: str | None = None,
        **own: Any,
    ) -> StreamEvent:
        """An event, which can be written as JSON. What is None is left out."""
        fields: dict[str, Any] = {
            "kind": kind,
            "chatId": self._chat_id,
            "runId": self.run_id,
            "generationId": generation_id,
            "role": role,
            "fromAgent": None if role == "user" else self._from_agent,
            **own,
        }
        written = {
            # Tools and people may give halves of characters, which no encoder would take.
            name: utf8(value) if isinstance(value, str) else value
            for name, value in fields.items()
            if value is not None
        }
        if kind == "tools_call":
            for each in own["toolCalls"]:
                self._called.add((generation_id, each["toolCallId"]))
                self.keep(generation_id, each["toolCallId"], own["messageId"])
        return cast("StreamEvent", written)


class Speech:
    """Texts and thoughts of a run, one after the other.

    A text is opened by its first character that is not white space: before that nobody knows
    whether it will be a message.

    Args:
        drafts: Writes the events.
    """

    def __init__(self, drafts: EventBuilder) -> None:
        self._drafts = drafts
        self._kind: PartKind = "text"
        self._message_id = ""
        self._generation_id: str | None = None
        self._held: list[str] = []
        self._opened = False

    def piece(
        self, kind: PartKind, message_id: str, text: str, *, generation_id: str | None
    ) -> list[StreamEvent]:
        """More of a message. Another message closes the one before."""
        if not text:
            return []
        events: list[StreamEvent] = []
        if (kind, message_id) != (self._kind, self._message_id):
            events += self.close()
            self._kind, self._message_id = kind, message_id
            self._generation_id = generation_id
        if not self._opened:
            if kind == "text" and text.isspace():
                self._held.append(text)
                return events
            text = "".join([*self._held, text])
            self._held.clear()
            self._opened = True
        events.append(self._event(text))
        return events

    def close(self) -> list[StreamEvent]:
        """Says that the message is whole. One that was never opened is none."""
        events = [self._event("", done=True)] if self._opened else []
        self._message_id = ""
        self._opened = False
        self._held.clear()
        return events

    def _event(self, delta: str, *, done: bool | None = None) -> StreamEvent:
        return self._drafts.write(
            self._kind,
            generation_id=self._generation_id,
            role="assistant",
            messageId=self._message_id,
            delta=delta,
            done=done,
        )
