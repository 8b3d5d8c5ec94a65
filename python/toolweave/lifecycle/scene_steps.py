"""The steps of a run of scenes, as stream events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..executor.failure import REFERENCES
from ..executor.results import to_json_value
from ..kinds import SceneStatus

if TYPE_CHECKING:
    from ..scenes import SceneStep
    from .builder import EventBuilder, Speech
    from .events import StreamEvent

REFERENCE = "reference"
"""Where the metadata of an event holds the reference of an exception that ended its run."""

_CALLS = (
    SceneStatus.FUNCTION_REQUEST,
    SceneStatus.FUNCTION_COMPLETED,
    SceneStatus.AWAITING_CLIENT,
    SceneStatus.ERROR,
)


def reference_of(reference: str | None) -> dict[str, str] | None:
    """The metadata of an event that tells of an exception of the run."""
    return None if reference is None else {REFERENCE: reference}


class SceneStepMapper:
    """Tells the steps of a run of scenes.

    Each step is an event, with what it cost. What the model says, calls and reads is told beside
    that as in any other run, so that whoever knows nothing of scenes can follow. Pieces of text and
    progress are told in that way only.

    Args:
        drafts: Writes the events.
        speech: Tells the texts.
    """

    def __init__(self, drafts: EventBuilder, speech: Speech) -> None:
        self._drafts = drafts
        self._speech = speech
        # Where the run does not say which reply it reads, a text behind a result begins another.
        self._count = 0
        self._answered = False
        self._streamed: set[str] = set()
        self._indices: dict[str, int] = {}
        self._told: set[tuple[str, str]] = set()

    def map(self, step: SceneStep, generation_id: str | None) -> list[StreamEvent]:
        """What a step comes to."""
        generation = self._generation(step) if generation_id is None else generation_id
        if step.call_id is not None and step.message_id is not None:
            self._drafts.keep(generation, step.call_id, step.message_id)
        if step.status is SceneStatus.STREAMING:
            return self._piece(step, generation)
        if step.status is SceneStatus.FUNCTION_PROGRESS:
            return self._progress(step, generation)
        events: list[StreamEvent] = []
        if step.status is SceneStatus.RUNNING and step.message:
            events += self._text(step, generation)
        elif step.status in _CALLS and step.call_id is not None:
            events += self._speech.close()
            events += self._call(step, step.call_id, generation)
        elif step.status is SceneStatus.ERROR and step.fatal:
            events += self._speech.close()
            message = step.message or step.error or "The run failed"
            events.append(
                self._drafts.write("error", message=message, metadata=reference_of(step.reference))
            )
        elif step.is_last:
            events += self._speech.close()
        written = self._drafts.write("scene", generation_id=generation_id, step=step.to_dict())
        return [*events, written]

    def _generation(self, step: SceneStep) -> str:
        if step.status in (SceneStatus.FUNCTION_COMPLETED, SceneStatus.ERROR):
            self._answered = True
        elif self._answered and step.status in (SceneStatus.STREAMING, SceneStatus.RUNNING):
            self._answered = False
            self._count += 1
        return f"{self._drafts.run_id}.{self._count}"

    def _piece(self, step: SceneStep, generation: str) -> list[StreamEvent]:
        message_id = step.message_id or f"{generation}.0"
        self._streamed.add(message_id)
        text = step.message or ""
        return self._speech.piece("text", message_id, text, generation_id=generation)

    def _progress(self, step: SceneStep, generation: str) -> list[StreamEvent]:
        if step.call_id is None:
            return []
        own = {"name": step.function, "result": step.message or "", "isError": False}
        return self._drafts.result(generation, step.call_id, own, done=False)

    def _text(self, step: SceneStep, generation: str) -> list[StreamEvent]:
        events = self._speech.close()
        message_id = step.message_id or f"{generation}.0"
        if message_id not in self._streamed:
            self._streamed.add(message_id)
            whole = self._drafts.write(
                "text",
                generation_id=generation,
                role="assistant",
                messageId=message_id,
                delta=step.message,
                done=True,
            )
            events.append(whole)
        return events

    def _call(self, step: SceneStep, call_id: str, generation: str) -> list[StreamEvent]:
        name = step.function
        if name is None:
            # The tool of a running call asks.
            return [
                self._of_call(
                    "tool_state",
                    generation,
                    call_id,
                    toolCallId=call_id,
                    state="awaiting_answer",
                    key=step.interaction_id,
                    question=step.message,
                )
            ]
        events: list[StreamEvent] = []
        # What a client answers was told as a call when the run paused.
        resumed = step.interaction_id is not None and step.result is not None
        if not resumed and (generation, call_id) not in self._told:
            self._told.add((generation, call_id))
            call = self._called(step, name, call_id, generation)
            events.append(self._of_call("tools_call", generation, call_id, toolCalls=[call]))
            if step.status is SceneStatus.FUNCTION_REQUEST:
                state = {"toolCallId": call_id, "state": "running"}
                events.append(self._of_call("tool_state", generation, call_id, **state))
        if step.status is SceneStatus.AWAITING_CLIENT:
            events.append(
                self._of_call(
                    "tool_state",
                    generation,
                    call_id,
                    toolCallId=call_id,
                    state="deferred",
                    key=step.interaction_id,
                )
            )
        if step.result is not None:
            own = {
                "name": name,
                "result": step.result,
                "isError": step.status is SceneStatus.ERROR,
                "duration": step.duration,
                "metadata": None
                if step.reference is None
                else {REFERENCES: {call_id: step.reference}},
            }
            events += self._drafts.result(generation, call_id, own, done=True)
        return events

    def _called(self, step: SceneStep, name: str, call_id: str, generation: str) -> dict[str, Any]:
        index = self._indices.get(generation, 0)
        self._indices[generation] = index + 1
        call: dict[str, Any] = {"toolCallId": call_id, "name": name, "index": index}
        if step.arguments is not None:
            call["arguments"] = to_json_value(step.arguments)
        else:
            reason = step.message or "The call could not be read"
            call["invalid"] = {"reason": "unknown_tool", "message": reason}
        return call

    def _of_call(self, kind: str, generation: str, call_id: str, **own: Any) -> StreamEvent:
        return self._drafts.write(
            kind,
            generation_id=generation,
            role=None if kind == "tool_state" else "assistant",
            messageId=self._drafts.home(generation, call_id),
            **own,
        )
