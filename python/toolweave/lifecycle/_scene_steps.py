"""Mapping of scene steps to stream events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..executor._failure import REFERENCES
from ..executor._results import to_json_value
from ..kinds import SceneStatus

if TYPE_CHECKING:
    from ..scenes import SceneStep
    from ._builder import EventBuilder, TextStream
    from ._events import StreamEvent

REFERENCE = "reference"
"""Metadata key of an event for the reference of the exception that ended its run."""

_CALLS = (
    SceneStatus.FUNCTION_REQUEST,
    SceneStatus.FUNCTION_COMPLETED,
    SceneStatus.AWAITING_CLIENT,
    SceneStatus.ERROR,
)


def reference_of(reference: str | None) -> dict[str, str] | None:
    """Return the metadata with the reference of an exception, or None without one."""
    return None if reference is None else {REFERENCE: reference}


class SceneStepMapper:
    """A mapper of the steps of a scene run.

    Each step becomes a `scene` event with its cost. Texts, calls and results are also mapped to the
    events of any other run, for clients that do not know scenes. Pieces of text and progress are
    mapped to those events only.

    Args:
        builder: Builder of the events.
        texts: Builder of the events of texts.
    """

    def __init__(self, builder: EventBuilder, texts: TextStream) -> None:
        self._builder = builder
        self._texts = texts
        # Without the id of the reply, a text after a result is taken as the start of a new reply.
        self._reply_number = 0
        self._has_result = False
        self._streamed: set[str] = set()
        self._indices: dict[str, int] = {}
        self._emitted_calls: set[tuple[str, str]] = set()

    def map(self, step: SceneStep, generation_id: str | None) -> list[StreamEvent]:
        """Return the events for a step."""
        generation = self._generation(step) if generation_id is None else generation_id
        if step.call_id is not None and step.message_id is not None:
            self._builder.set_message_id(generation, step.call_id, step.message_id)
        if step.status is SceneStatus.STREAMING:
            return self._map_delta(step, generation)
        if step.status is SceneStatus.FUNCTION_PROGRESS:
            return self._map_progress(step, generation)
        events: list[StreamEvent] = []
        if step.status is SceneStatus.RUNNING and step.message:
            events += self._map_text(step, generation)
        elif step.status in _CALLS and step.call_id is not None:
            events += self._texts.close()
            events += self._map_call(step, step.call_id, generation)
        elif step.status is SceneStatus.ERROR and step.fatal:
            events += self._texts.close()
            message = step.message or step.error or "The run failed"
            events.append(
                self._builder.build("error", message=message, metadata=reference_of(step.reference))
            )
        elif step.is_last:
            events += self._texts.close()
        event = self._builder.build("scene", generation_id=generation_id, step=step.to_dict())
        return [*events, event]

    def _generation(self, step: SceneStep) -> str:
        if step.status in (SceneStatus.FUNCTION_COMPLETED, SceneStatus.ERROR):
            self._has_result = True
        elif self._has_result and step.status in (SceneStatus.STREAMING, SceneStatus.RUNNING):
            self._has_result = False
            self._reply_number += 1
        return f"{self._builder.run_id}.{self._reply_number}"

    def _map_delta(self, step: SceneStep, generation: str) -> list[StreamEvent]:
        message_id = step.message_id or f"{generation}.0"
        self._streamed.add(message_id)
        text = step.message or ""
        return self._texts.add_delta("text", message_id, text, generation_id=generation)

    def _map_progress(self, step: SceneStep, generation: str) -> list[StreamEvent]:
        if step.call_id is None:
            return []
        extra = {"name": step.function, "result": step.message or "", "isError": False}
        return self._builder.result(generation, step.call_id, extra, done=False)

    def _map_text(self, step: SceneStep, generation: str) -> list[StreamEvent]:
        events = self._texts.close()
        message_id = step.message_id or f"{generation}.0"
        if message_id not in self._streamed:
            self._streamed.add(message_id)
            whole = self._builder.build(
                "text",
                generation_id=generation,
                role="assistant",
                messageId=message_id,
                delta=step.message,
                done=True,
            )
            events.append(whole)
        return events

    def _map_call(self, step: SceneStep, call_id: str, generation: str) -> list[StreamEvent]:
        name = step.function
        if name is None:
            # A running tool asks a question.
            fields = {"key": step.interaction_id, "question": step.message}
            return [self._builder.tool_state(generation, call_id, "awaiting_answer", **fields)]
        events: list[StreamEvent] = []
        # A call that a client answers was emitted when the run paused.
        resumed = step.interaction_id is not None and step.result is not None
        if not resumed and (generation, call_id) not in self._emitted_calls:
            self._emitted_calls.add((generation, call_id))
            called = self._builder.build(
                "tools_call",
                generation_id=generation,
                role="assistant",
                messageId=self._builder.message_id_of(generation, call_id),
                toolCalls=[self._call_fields(step, name, call_id, generation)],
            )
            events.append(called)
            if step.status is SceneStatus.FUNCTION_REQUEST:
                events.append(self._builder.tool_state(generation, call_id, "running"))
        if step.status is SceneStatus.AWAITING_CLIENT:
            key = step.interaction_id
            events.append(self._builder.tool_state(generation, call_id, "deferred", key=key))
        if step.result is not None:
            references = {REFERENCES: {call_id: step.reference}}
            extra = {
                "name": name,
                "result": step.result,
                "isError": step.status is SceneStatus.ERROR,
                "duration": step.duration,
                "metadata": None if step.reference is None else references,
            }
            events += self._builder.result(generation, call_id, extra, done=True)
        return events

    def _call_fields(
        self, step: SceneStep, name: str, call_id: str, generation: str
    ) -> dict[str, Any]:
        index = self._indices.get(generation, 0)
        self._indices[generation] = index + 1
        call: dict[str, Any] = {"toolCallId": call_id, "name": name, "index": index}
        if step.arguments is not None:
            call["arguments"] = to_json_value(step.arguments)
        else:
            reason = step.message or "The call could not be read"
            call["invalid"] = {"reason": "unknown_tool", "message": reason}
        return call
