"""The calls of a stream, put together from fragments, and what is told of them too early."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .json_fields import items_of, text_of
from .outcomes import is_progress

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


@dataclass(eq=False)
class TrackedCall:
    """A call, as far as it is known."""

    generation: str
    """The reply that makes it."""
    parent: str
    """The message that it stands in."""
    call_id: str | None = None
    """Its id within the reply; None until a fragment says it."""
    name: str | None = None
    """The tool; None until a fragment says it."""
    pieces: list[str] = field(default_factory=list[str])
    """Its arguments as they were written."""
    sent_pieces: int = 0
    """How many of the pieces the client has."""
    announced: bool = False
    """Whether the client knows of it."""
    arguments_sent: bool = False
    """Whether the client knows its arguments."""
    result_sent: bool = False
    """Whether the client has its result."""
    approval_key: str | None = None
    """The key of the approval that the client was asked for last."""
    state_sent: bool = False
    """Whether the client was told of a state of it."""
    held_events: list[Mapping[str, object]] = field(default_factory=list["Mapping[str, object]"])
    """What came before its arguments were known, in order."""

    @property
    def id(self) -> str:
        """Its id for clients.

        Models number the calls of each reply anew, and clients want ids that are unique in a
        conversation.
        """
        call_id = self.call_id or ""
        return f"{self.generation}.{call_id}" if self.generation else call_id

    @property
    def has_held_result(self) -> bool:
        """Whether its result is held."""
        return any(
            each.get("kind") == "tool_result" and not is_progress(each) for each in self.held_events
        )

    def unsent(self) -> str:
        """The text of the arguments that the client does not have yet; it has it then."""
        text = "".join(self.pieces[self.sent_pieces :])
        self.sent_pieces = len(self.pieces)
        return text

    def hold(self, event: Mapping[str, object]) -> None:
        """Keeps an event for later: the last that tells progress, and nothing after the result."""
        if self.has_held_result:
            return
        if is_progress(event):
            self.held_events = [each for each in self.held_events if not is_progress(each)]
        self.held_events.append(event)

    def release(self) -> list[Mapping[str, object]]:
        """What was held, which is no longer held."""
        held_events, self.held_events = self.held_events, []
        return held_events


class CallTracker:
    """All calls of a run, in the order in which they were first seen.

    Args:
        known: Ids, as clients have them, of calls that the client knows from earlier runs.
    """

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = known
        self._calls: list[TrackedCall] = []
        self._by_id: dict[tuple[str, str], TrackedCall] = {}
        self._by_index: dict[tuple[str, object], TrackedCall] = {}
        # The call of each reply that was written at last, and that of each id that was seen last.
        self._last: dict[str, TrackedCall] = {}
        self._newest: dict[str, TrackedCall] = {}

    def __iter__(self) -> Iterator[TrackedCall]:
        return iter(self._calls)

    def find_or_add(self, event: Mapping[str, object], part: Mapping[str, object]) -> TrackedCall:
        """The call that a fragment, or a whole call, is of."""
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
            # An index that was used for another call says nothing.
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
        """The calls that an event has more arguments of, where they can be told by now."""
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
        """The calls that an event has whole, where the client does not know their arguments."""
        for each in items_of(event, "toolCalls"):
            call = self.find_or_add(event, each)
            if not call.arguments_sent and call.call_id is not None:
                yield call, each

    def referenced(self, event: Mapping[str, object]) -> TrackedCall | None:
        """The call that a result or a state is of; it may not have been written yet."""
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
        """Calls that have a result but were not told, as those of an earlier run.

        Args:
            besides: The reply that is read now, whose calls may still come.
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
    """The reply that an event is of; empty where it does not say."""
    generation = text_of(event, "generationId")
    if generation:
        return generation
    message = _message_of(event, text_of(event, "toolCallId") or "")
    head, dot, tail = message.rpartition(".")
    number = tail.removeprefix("calls")
    is_generated = number.isdigit() or tail == "calls"
    return head if dot and is_generated else message


def _message_of(event: Mapping[str, object], call_id: str) -> str:
    """The message that an event is of, that of its call if it is a result; empty if none."""
    message = text_of(event, "messageId") or ""
    if event.get("kind") == "tool_result":
        return message.removesuffix(f"_result_{call_id}")
    return message
