"""The calls of a stream, assembled from fragments, with events held until they can be sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ._events import is_progress, items_of, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


@dataclass(eq=False)
class TrackedCall:
    """A call, as far as it is known."""

    generation: str
    """Id of the reply that makes the call."""
    parent: str
    """Id of the message that has the call."""
    call_id: str | None = None
    """Id of the call within the reply; None until a fragment has it."""
    name: str | None = None
    """Name of the tool; None until a fragment has it."""
    pieces: list[str] = field(default_factory=list[str])
    """Fragments of the arguments."""
    sent_pieces: int = 0
    """Number of fragments that were sent to the client."""
    announced: bool = False
    """True if the start of the call was sent to the client."""
    arguments_sent: bool = False
    """True if the complete arguments were sent to the client."""
    result_sent: bool = False
    """True if the result was sent to the client."""
    approval_key: str | None = None
    """Key of the last approval request that was sent to the client."""
    state_sent: bool = False
    """True if a state of the call was sent to the client."""
    held_events: list[Mapping[str, object]] = field(default_factory=list["Mapping[str, object]"])
    """Events that came before the complete arguments, in order."""

    @property
    def id(self) -> str:
        """Id of the call for clients.

        Models may reuse ids in each reply, but clients need ids that are unique in a conversation.
        """
        call_id = self.call_id or ""
        return f"{self.generation}.{call_id}" if self.generation else call_id

    @property
    def has_held_result(self) -> bool:
        """True if the result is held."""
        return any(
            each.get("kind") == "tool_result" and not is_progress(each) for each in self.held_events
        )

    def unsent(self) -> str:
        """Return the text of arguments that was not sent yet, and mark it as sent."""
        text = "".join(self.pieces[self.sent_pieces :])
        self.sent_pieces = len(self.pieces)
        return text

    def hold(self, event: Mapping[str, object]) -> None:
        """Hold an event: only the latest progress, and nothing after the result."""
        if self.has_held_result:
            return
        if is_progress(event):
            self.held_events = [each for each in self.held_events if not is_progress(each)]
        self.held_events.append(event)

    def release(self) -> list[Mapping[str, object]]:
        """Return the held events, and clear them."""
        held_events, self.held_events = self.held_events, []
        return held_events


class CallTracker:
    """All calls of a run, in the order in which they were first seen.

    Args:
        known: Ids, in the form for clients, of calls that the client has from earlier runs.
    """

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = known
        self._calls: list[TrackedCall] = []
        self._by_id: dict[tuple[str, str], TrackedCall] = {}
        self._by_index: dict[tuple[str, object], TrackedCall] = {}
        # The last call by reply, and the last call by call id.
        self._last: dict[str, TrackedCall] = {}
        self._newest: dict[str, TrackedCall] = {}

    def __iter__(self) -> Iterator[TrackedCall]:
        return iter(self._calls)

    def find_or_add(self, event: Mapping[str, object], part: Mapping[str, object]) -> TrackedCall:
        """Return the call that a fragment, or a complete call, belongs to."""
        generation = generation_of(event)
        call_id = text_of(part, "toolCallId")
        index = part.get("index")
        if not isinstance(index, int):
            index = None
        call = None
        if call_id is not None:
            call = self._by_id.get((generation, call_id))
        if call is None and index is not None:
            call = self._by_index.get((generation, index))
            # An index that was used for another call is ignored.
            if call is not None and call_id is not None and call.call_id is not None:
                call = None
        if call is None and call_id is None and index is None:
            call = self._last.get(generation)
        if call is None:
            call = self._add(generation, text_of(event, "messageId"))
        if index is not None:
            self._by_index.setdefault((generation, index), call)
        self._last[generation] = call
        self._record_name(call, call_id, text_of(part, "functionName") or text_of(part, "name"))
        return call

    def fragments(self, event: Mapping[str, object]) -> Iterator[TrackedCall]:
        """Yield the calls that an event has arguments of, if their id and name are known."""
        for update in items_of(event, "toolCallUpdates"):
            call = self.find_or_add(event, update)
            if call.arguments_sent:
                continue
            call.pieces.append(text_of(update, "functionArgs") or "")
            if call.call_id is not None and call.name:
                yield call

    def complete(
        self, event: Mapping[str, object]
    ) -> Iterator[tuple[TrackedCall, Mapping[str, object]]]:
        """Yield the complete calls of an event whose arguments were not sent yet."""
        for each in items_of(event, "toolCalls"):
            call = self.find_or_add(event, each)
            if not call.arguments_sent and call.call_id is not None:
                yield call, each

    def referenced(self, event: Mapping[str, object]) -> TrackedCall | None:
        """Return the call that a result or a state belongs to, and add it if it is unknown."""
        call_id = text_of(event, "toolCallId")
        if call_id is None:
            return None
        generation = generation_of(event)
        call = self._by_id.get((generation, call_id))
        if call is None and not generation:
            call = self._newest.get(call_id)
        if call is None:
            call = self._add(generation, _message_of(event, call_id) or None)
        self._record_name(call, call_id, text_of(event, "name"))
        return call

    def unannounced(self, current_generation: str | None = None) -> list[TrackedCall]:
        """Return calls that have a result but were not announced, such as those of earlier runs.

        Args:
            current_generation: Id of the reply that is being read, whose calls may still come.
        """
        return [
            call
            for call in self._calls
            if not call.announced and call.has_held_result and call.generation != current_generation
        ]

    def _add(self, generation: str, parent: str | None) -> TrackedCall:
        call = TrackedCall(generation, parent or f"{generation}.calls")
        self._calls.append(call)
        return call

    def _record_name(self, call: TrackedCall, call_id: str | None, name: str | None) -> None:
        if call_id is not None and call.call_id is None:
            call.call_id = call_id
            self._by_id[call.generation, call_id] = call
            self._newest[call_id] = call
            if call.id in self._known:
                call.announced = call.arguments_sent = True
        if name:
            call.name = call.name or name


def generation_of(event: Mapping[str, object]) -> str:
    """Return the id of the reply that an event belongs to; empty if the event does not have it."""
    generation = text_of(event, "generationId")
    if generation:
        return generation
    message = _message_of(event, text_of(event, "toolCallId") or "")
    head, dot, tail = message.rpartition(".")
    number = tail.removeprefix("calls")
    is_generated = number.isdigit() or tail == "calls"
    return head if dot and is_generated else message


def _message_of(event: Mapping[str, object], call_id: str) -> str:
    """Return the message id of an event, for a result that of its call; empty if there is none."""
    message = text_of(event, "messageId") or ""
    if event.get("kind") == "tool_result":
        return message.removesuffix(f"_result_{call_id}")
    return message
