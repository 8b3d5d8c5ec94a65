"""Builders of stream events: their envelope, and the start and end of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..executor._results import utf8
from ..natural._parts import calls_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..natural._parts import PartKind
    from ._events import StreamEvent


class EventBuilder:
    """A builder of the events of one run.

    Args:
        chat_id: The id of the chat.
        run_id: The id of the run.
        from_agent: The name of the agent; None to omit it.
    """

    def __init__(self, chat_id: str, run_id: str, from_agent: str | None = None) -> None:
        self.run_id = run_id
        self._chat_id = chat_id
        self.from_agent = from_agent
        self._emitted_calls: set[tuple[str | None, str]] = set()
        # Ids of messages with calls other than the first such message of their reply.
        self._message_ids: dict[tuple[str | None, str], str] = {}
        self._finished: set[str] = set()

    def has_emitted_call(self, call_id: str, generation_id: str | None) -> bool:
        """Return True if a call was emitted, in any reply if `generation_id` is None."""
        if generation_id is None:
            return any(call_id == emitted for _, emitted in self._emitted_calls)
        return (generation_id, call_id) in self._emitted_calls

    def set_message_id(self, generation_id: str | None, call_id: str, message_id: str) -> None:
        """Record the message that has a call."""
        if message_id != calls_id(str(generation_id)):
            self._message_ids[generation_id, call_id] = message_id

    def message_id_of(self, generation_id: str, call_id: str) -> str:
        """Return the id of the message that has a call."""
        return self._message_ids.get((generation_id, call_id)) or calls_id(generation_id)

    def result(
        self, generation: str, call_id: str, extra: Mapping[str, Any], *, done: bool
    ) -> list[StreamEvent]:
        """Return the event for the result or the progress of a call; nothing after its result.

        Both the journal and the run report a result, so the second report is dropped.
        """
        message_id = f"{self.message_id_of(generation, call_id)}_result_{call_id}"
        if message_id in self._finished:
            return []
        if done:
            self._finished.add(message_id)
        fields = {"messageId": message_id, "toolCallId": call_id, "done": done, **extra}
        return [self.build("tool_result", generation_id=generation, role="tool", **fields)]

    def tool_state(self, generation: str, call_id: str, state: str, **extra: Any) -> StreamEvent:
        """Return the event for a new state of a call."""
        fields = {"toolCallId": call_id, "state": state, **extra}
        message_id = self.message_id_of(generation, call_id)
        return self.build("tool_state", generation_id=generation, messageId=message_id, **fields)

    def build(
        self,
        kind: str,
        *,
        generation_id: str | None = None,
        role: str | None = None,
        **extra: Any,
    ) -> StreamEvent:
        """Return an event that can be written as JSON. Fields that are None are omitted."""
        fields: dict[str, Any] = {
            "kind": kind,
            "chatId": self._chat_id,
            "runId": self.run_id,
            "generationId": generation_id,
            "role": role,
            "fromAgent": None if role == "user" else self.from_agent,
            **extra,
        }
        event = {
            # Tools and users may pass lone surrogates, which encoders reject.
            name: utf8(value) if isinstance(value, str) else value
            for name, value in fields.items()
            if value is not None
        }
        if kind == "tools_call":
            for each in extra["toolCalls"]:
                self._emitted_calls.add((generation_id, each["toolCallId"]))
                self.set_message_id(generation_id, each["toolCallId"], extra["messageId"])
        return cast("StreamEvent", event)


class TextStream:
    """The texts and reasoning of a run, one message after the other.

    A text begins with its first character that is not white space; before that it may still turn
    out not to be a message.

    Args:
        builder: Builder of the events.
    """

    def __init__(self, builder: EventBuilder) -> None:
        self._builder = builder
        self._kind: PartKind = "text"
        self._message_id = ""
        self._generation_id: str | None = None
        self._held: list[str] = []
        self._opened = False

    def add_delta(
        self, kind: PartKind, message_id: str, text: str, *, generation_id: str | None
    ) -> list[StreamEvent]:
        """Return the events for a piece of a message. A new message closes the previous one."""
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
        events.append(self._build_delta(text))
        return events

    def close(self) -> list[StreamEvent]:
        """Return the event that completes the message, if it has begun."""
        events = [self._build_delta("", done=True)] if self._opened else []
        self._message_id = ""
        self._opened = False
        self._held.clear()
        return events

    def _build_delta(self, delta: str, *, done: bool | None = None) -> StreamEvent:
        return self._builder.build(
            self._kind,
            generation_id=self._generation_id,
            role="assistant",
            messageId=self._message_id,
            delta=delta,
            done=done,
        )
