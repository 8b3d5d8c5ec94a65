"""The protocol of encoders, and the base of those that encode one run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal, Protocol

from ._calls import CallTracker, generation_of
from ._events import CUT_OFF, fields_of, is_progress, items_of, outcome_of, payload, pick, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ._calls import TrackedCall
    from ._events import RunOutcome


class Encoder(Protocol):
    """Encoder of the events of one stream for one kind of client."""

    @property
    def media_type(self) -> str:
        """Content type of the stream."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Additional headers of the response."""
        ...

    def encode(self, event: Mapping[str, object]) -> Sequence[str]:
        """Return the payloads of an event: none, one or several."""
        ...

    def close(self) -> Sequence[str]:
        """Return the payloads that end the stream, after closing everything that is open."""
        ...


class RunEncoder(ABC):
    """Base of the encoders of one run, which tracks its replies and calls.

    Args:
        known_calls: Ids of calls that the client has from earlier runs.
    """

    media_type = "text/event-stream"
    """Content type of the stream."""

    def __init__(self, known_calls: Collection[str] = ()) -> None:
        self._run_id: str | None = None
        self._payloads: list[str] = []
        self._started = False
        self._ended = False
        # The reply that is being written.
        self._generation: str | None = None
        self._calls = CallTracker(known_calls)
        self._last_error: str | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """Additional headers of the response."""
        return {"cache-control": "no-cache", "x-accel-buffering": "no"}

    def encode(self, event: Mapping[str, object]) -> Sequence[str]:
        """Return the payloads of an event.

        A stream has one run, that of the first event with a run id. Events of other runs and of
        unknown kinds are ignored.
        """
        run_id = text_of(event, "runId")
        if self._ended or (run_id and self._run_id and run_id != self._run_id):
            return []
        if text_of(event, "role") in (None, "assistant", "tool"):
            self._run_id = self._run_id or run_id
            self._encode(event)
        else:
            self._user_event(event)
        return self._flush()

    def close(self) -> Sequence[str]:
        """Return the payloads that end the stream: an error if the run has not ended."""
        if self._started and not self._ended:
            self._end_all(CUT_OFF)
            self._write_failure(CUT_OFF, "stream_ended")
        self._ended = True
        return self._flush()

    def _encode(self, event: Mapping[str, object]) -> None:
        match event.get("kind"):
            case "text":
                self._delta("text", event)
            case "reasoning":
                self._delta("reasoning", event)
            case "tools_call_update":
                self._call_fragments(event)
            case "tools_call":
                self._complete_calls(event)
            case "tool_result" | "tool_state":
                self._call_event(event)
            case "tools_aggregate":
                self._aggregate(event)
            case "usage":
                self._usage_event(event)
            case "error":
                self._last_error = text_of(event, "message") or self._last_error
                self._write_custom("error", pick(event, "message", "code", "toolCallId"))
            case "scene":
                step = fields_of(event, "step")
                if step is not None:
                    self._scene_event(step)
            case "selection":
                names = ("tool", "score", "fallback", "calls", "duration", "ranking")
                self._write_custom("selection", pick(event, *names))
            case "run":
                self._start()
                if text_of(event, "status") == "finished":
                    self._finish(
                        event, outcome_of(event), text_of(event, "stopReason") or "completed"
                    )
                    self._ended = True
            case _:
                pass

    def _write(self, type_: str, **fields: object) -> None:
        self._payloads.append(payload(type_, **fields))

    def _flush(self) -> list[str]:
        out, self._payloads = self._payloads, []
        return out

    def _start(self) -> None:
        """Start the run, unless it was started."""
        if not self._started:
            self._started = True
            self._send_start()

    def _enter_reply(self, generation: str) -> None:
        """Start a reply, unless it is the current one, after the calls of earlier replies."""
        self._start()
        if self._generation != generation:
            self._start_unannounced_calls(generation)
            self._start_reply(generation)

    def _start_unannounced_calls(self, current_generation: str | None = None) -> None:
        for call in self._calls.unannounced(current_generation):
            self._start_reply(call.generation)
            self._announce(call)
            self._send_arguments(call, {})

    # Calls.

    def _call_fragments(self, event: Mapping[str, object]) -> None:
        for call in self._calls.fragments(event):
            self._ensure_started(call)
            if delta := call.unsent():
                self._send_fragment(call, delta)

    def _complete_calls(self, event: Mapping[str, object]) -> None:
        for call, each in self._calls.complete(event):
            self._ensure_started(call)
            invalid = fields_of(each, "invalid")
            if invalid is None:
                self._send_arguments(call, each.get("arguments", {}))
            else:
                problem = text_of(invalid, "message") or "The call cannot be run."
                self._send_invalid(call, problem, text_of(each, "raw"))

    def _ensure_started(self, call: TrackedCall) -> None:
        if not call.announced:
            self._enter_reply(call.generation)
            self._announce(call)

    def _announce(self, call: TrackedCall) -> None:
        call.announced = True
        call.name = call.name or "tool"
        self._send_call(call, call.name)

    def _end_arguments(self, call: TrackedCall) -> None:
        """Mark the arguments of a call as sent, and send the events that were held until then."""
        call.arguments_sent = True
        call.pieces.clear()
        for event in call.release():
            self._send_call_event(call, event)

    def _call_event(self, event: Mapping[str, object]) -> None:
        call = self._calls.referenced(event)
        if call is None or call.result_sent:
            return
        if call.arguments_sent:
            self._send_call_event(call, event)
        else:
            call.hold(event)

    def _send_call_event(self, call: TrackedCall, event: Mapping[str, object]) -> None:
        self._start()
        if event.get("kind") == "tool_state":
            self._send_state(call, event)
        elif is_progress(event):
            self._send_progress(call, text_of(event, "result") or "")
        else:
            call.result_sent = True
            self._send_result(call, event)

    def _aggregate(self, event: Mapping[str, object]) -> None:
        self._complete_calls(event)
        generation = generation_of(event)
        for result in items_of(event, "toolResults"):
            common = {"kind": "tool_result", "generationId": generation, "done": True}
            self._call_event({**result, **common})

    # Written in the terms of each protocol.

    @abstractmethod
    def _user_event(self, event: Mapping[str, object]) -> None:
        """Send an event of the user's messages, which the client has itself."""

    @abstractmethod
    def _send_start(self) -> None:
        """Send the start of the run."""

    @abstractmethod
    def _finish(self, event: Mapping[str, object], outcome: RunOutcome, stop_reason: str) -> None:
        """End the run with its terminal event."""

    @abstractmethod
    def _end_all(self, problem: str, /) -> None:
        """End everything that is open; calls without arguments have the problem."""

    @abstractmethod
    def _write_failure(self, message: str, code: str, /) -> None:
        """End the stream with an error."""

    @abstractmethod
    def _write_custom(self, name: str, value: Mapping[str, object]) -> None:
        """Send an event that the protocol does not define."""

    def _start_reply(self, generation: str) -> None:
        """Start a reply."""
        self._generation = generation

    @abstractmethod
    def _delta(self, kind: Literal["text", "reasoning"], event: Mapping[str, object]) -> None:
        """Send a delta of text or reasoning."""

    @abstractmethod
    def _send_call(self, call: TrackedCall, name: str) -> None:
        """Send the start of a call."""

    @abstractmethod
    def _send_fragment(self, call: TrackedCall, delta: str) -> None:
        """Send a fragment of a call's arguments."""

    @abstractmethod
    def _send_arguments(self, call: TrackedCall, arguments: object) -> None:
        """Send the complete arguments of a call."""

    @abstractmethod
    def _send_invalid(self, call: TrackedCall, problem: str, raw: str | None = None, /) -> None:
        """End a call that cannot be run."""

    @abstractmethod
    def _send_state(self, call: TrackedCall, event: Mapping[str, object]) -> None:
        """Send a state of a call."""

    @abstractmethod
    def _send_progress(self, call: TrackedCall, progress: str) -> None:
        """Send the progress of a call."""

    @abstractmethod
    def _send_result(self, call: TrackedCall, event: Mapping[str, object]) -> None:
        """Send the result of a call."""

    @abstractmethod
    def _usage_event(self, event: Mapping[str, object]) -> None:
        """Add or send the usage of a reply."""

    def _scene_event(self, step: Mapping[str, object]) -> None:
        """Send a step of a scene."""
        self._write_custom("scene", step)
