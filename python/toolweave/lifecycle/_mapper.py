"""Mapping of run events to stream events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from .._checks import check_count, check_text
from .._core import (
    Discarded,
    FabricatedResult,
    FinishUpdate,
    InvalidToolCall,
    ReasoningDelta,
    ReasoningMessage,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallDelta,
    ToolCallMessage,
    ToolCallStart,
    ToolResult,
    UsageMessage,
)
from ..agent import AgentResult, HandoffEvent
from ..executor import (
    ToolApproval,
    ToolApprovalRequested,
    ToolDeferred,
    ToolProgress,
    ToolQuestion,
    ToolStarted,
)
from ..executor._failure import add_references
from ..executor._ids import CallIds
from ..executor._results import progress_text, to_json_value
from ..kinds import SceneStopReason, StopReason
from ..natural._parts import PartNumbers, calls_id
from ..scenes import SceneStep
from ..selection import Selection
from ._builder import EventBuilder, TextStream
from ._scene_steps import SceneStepMapper, reference_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .._messages import Message
    from ..agent import AgentEvent
    from ..natural._parts import PartKind
    from ._events import StreamEvent

_MAX_RAW = 10_000


@dataclass(frozen=True)
class RawText:
    """Raw output of a model, for clients that show it next to the parsed events."""

    delta: str
    """The piece of output."""


TurnEvent: TypeAlias = "AgentEvent | SceneStep | Selection | RawText"
"""Any event of a run that can be mapped to stream events."""


class StreamEventMapper:
    """A mapper of the events of one run to stream events.

    Message ids are the same as in the messages of the run: ``<generation>.<n>`` for texts and
    reasoning, ``<generation>.calls`` for the first calls, ``<generation>.calls2`` for calls after
    the next text and so on, and ``<generation>.usage`` for the usage. The id of a result is that of
    the message of its call with a suffix: ``<generation>.calls_result_<call>``.

    Args:
        chat_id: The id of the chat.
        run_id: The id of the run.
        from_agent: The name of the agent for all events; omitted if None.
        max_progress_chars: Maximum length of one progress report, in characters.
    """

    def __init__(
        self,
        chat_id: str,
        run_id: str,
        *,
        from_agent: str | None = None,
        max_progress_chars: int = 10_000,
    ) -> None:
        check_text("chat_id", chat_id)
        check_text("run_id", run_id)
        check_text("from_agent", from_agent, none=True)
        check_count("max_progress_chars", max_progress_chars)
        self._builder = EventBuilder(chat_id, run_id, from_agent)
        self._texts = TextStream(self._builder)
        self._scene_steps = SceneStepMapper(self._builder, self._texts)
        self._max_progress_chars = max_progress_chars
        self._reply = _ReplyState("")
        self._stop_reason: str | None = None
        self._error: str | None = None
        # Set if another library raised the error.
        self._reference: str | None = None

    # Around the run.

    def map_messages(self, messages: Iterable[Message]) -> list[StreamEvent]:
        """Return the events for complete messages, such as the input of the user.

        Args:
            messages: The messages.

        Raises:
            ValueError: A text has no id.
        """
        return [event for message in messages for event in self._map_message(message)]

    def register_calls(self, messages: Iterable[Message]) -> None:
        """Record the message ids of calls of earlier replies, whose results may still arrive.

        Args:
            messages: Messages of the chat; those without calls are ignored.
        """
        for message in messages:
            if message.id is not None and isinstance(
                message, (ToolCallMessage, ToolAggregateMessage)
            ):
                for call in message.tool_calls:
                    self._builder.set_message_id(message.generation_id, call.id, message.id)

    def run_started(self) -> list[StreamEvent]:
        """Return the events for the start of the run."""
        return [self._builder.build("run", status="started")]

    def run_finished(
        self, stop_reason: str | None = None, error: str | None = None
    ) -> list[StreamEvent]:
        """Return the events for the end of the run, which also completes an open text.

        Args:
            stop_reason: The stop reason; that of the mapped result if not given. A scene run that
                waits for its client is ``deferred``, like any run that waits for a result.
            error: The error; that of the mapped result if not given.
        """
        reason = str(stop_reason or self._stop_reason or "completed")
        if reason == SceneStopReason.AWAITING_CLIENT.value:
            reason = StopReason.DEFERRED.value
        reference = reference_of(self._reference) if error in (None, self._error) else None
        ended = self._builder.build(
            "run",
            status="finished",
            stopReason=reason,
            error=error or self._error,
            metadata=reference,
        )
        return [*self._texts.close(), ended]

    def with_envelope(
        self, fields: Mapping[str, Any], *, generation_id: str | None = None
    ) -> StreamEvent:
        """Return a custom event with the chat, the run and the reply that it belongs to.

        Args:
            fields: The kind and the other fields of the event.
            generation_id: The id of the reply.
        """
        extra = dict(fields)
        if extra["kind"] == "tool_state" and generation_id is not None:
            extra.setdefault(
                "messageId", self._builder.message_id_of(generation_id, extra["toolCallId"])
            )
        return self._builder.build(extra.pop("kind"), generation_id=generation_id, **extra)

    # In the run.

    def has_emitted_call(self, call_id: str, *, generation_id: str | None = None) -> bool:
        """Return True if a complete call was emitted; fragments of it do not count.

        Args:
            call_id: The id of the call.
            generation_id: The id of its reply; None for any.
        """
        return self._builder.has_emitted_call(call_id, generation_id)

    def map(self, event: TurnEvent, *, generation_id: str | None = None) -> list[StreamEvent]:
        """Return the stream events for an event of the run; there may be none.

        Args:
            event: The event.
            generation_id: The id of its reply: `AgentRun.generation_id` or
                `SceneRun.generation_id` at the time the event is read. If not given, ids are
                derived from the id of the run.

        Raises:
            TypeError: The object is not an event of a run.
        """
        if isinstance(event, SceneStep):
            if event.stop_reason is not None:
                self._stop_reason, self._error = event.stop_reason.value, event.error
                self._reference = event.reference
            return self._scene_steps.map(event, generation_id)
        generation = f"{self._builder.run_id}.0" if generation_id is None else generation_id
        if isinstance(event, (TextDelta, ReasoningDelta)):
            return self._map_delta(event, generation)
        if isinstance(event, (ToolCallStart, ToolCallDelta, ToolCall, InvalidToolCall)):
            return self._map_call(event, generation)
        if isinstance(event, (ToolProgress, ToolResult)):
            return self._map_result(event, generation)
        if isinstance(event, _STATES):
            state = _state_fields(event)
            return [self._builder.tool_state(generation, event.tool_call_id, **state)]
        if isinstance(event, (ToolAggregateMessage, UsageMessage)):
            return self._map_message(event, generation)
        if isinstance(event, Selection):
            fields = _selection_fields(event)
            return [self._builder.build("selection", generation_id=generation_id, **fields)]
        if isinstance(event, RawText):
            return [self._builder.build("raw", generation_id=generation, delta=event.delta)]
        if isinstance(event, (FinishUpdate, AgentResult)):
            if isinstance(event, AgentResult):
                self._stop_reason = event.stop_reason.value
            return self._texts.close()
        if isinstance(event, HandoffEvent):
            # Its call is an event of its own. What follows is from the other agent.
            self._builder.from_agent = event.to_agent
            return self._texts.close()
        if isinstance(event, (Discarded, FabricatedResult)):  # pyright: ignore[reportUnnecessaryIsInstance]
            return []
        raise TypeError(f"event must be an event of a run, got {type(event).__name__}")

    def _reply_of(self, generation: str) -> _ReplyState:
        if self._reply.generation_id != generation:
            self._reply = _ReplyState(generation)
        return self._reply

    def _map_delta(self, event: TextDelta | ReasoningDelta, generation: str) -> list[StreamEvent]:
        kind: PartKind = "text" if isinstance(event, TextDelta) else "reasoning"
        number = self._reply_of(generation).numbers.place(kind, event.text)
        return self._texts.add_delta(
            kind, f"{generation}.{number}", event.text, generation_id=generation
        )

    def _map_call(
        self, event: ToolCallStart | ToolCallDelta | ToolCall | InvalidToolCall, generation: str
    ) -> list[StreamEvent]:
        reply = self._reply_of(generation)
        group = reply.numbers.call(event.index)
        # Text after other calls belongs to another message.
        closing = [] if group <= reply.group else self._texts.close()
        reply.group = max(group, reply.group)
        message_id = calls_id(generation, group)

        def build(kind: str, field: str, each: Mapping[str, Any]) -> list[StreamEvent]:
            fields: dict[str, Any] = {"role": "assistant", "messageId": message_id, field: [each]}
            return [*closing, self._builder.build(kind, generation_id=generation, **fields)]

        if isinstance(event, (ToolCall, InvalidToolCall)):
            return build("tools_call", "toolCalls", reply.call_fields(event))
        update: dict[str, Any] = {"index": event.index}
        if isinstance(event, ToolCallDelta):
            update["functionArgs"] = event.fragment
        else:
            update["functionName"] = event.name
            if event.id not in reply.announced:
                # A call with a duplicate id is identified by its index until it has its own id.
                reply.announced.add(event.id)
                update["toolCallId"] = event.id
        return build("tools_call_update", "toolCallUpdates", update)

    def _map_result(self, event: ToolProgress | ToolResult, generation: str) -> list[StreamEvent]:
        if isinstance(event, ToolProgress):
            text = progress_text(event.value, self._max_progress_chars)
            extra: dict[str, Any] = {"result": text, "isError": False}
        else:
            code = event.error_code
            extra = {
                "name": event.name,
                "result": event.result,
                "isError": event.is_error,
                "errorCode": None if code is None else code.value,
                "duration": event.duration,
                "metadata": add_references({}, [event]) or None,
            }
        done = isinstance(event, ToolResult)
        return self._builder.result(generation, event.tool_call_id, extra, done=done)

    def _map_message(self, message: Message, generation: str | None = None) -> list[StreamEvent]:
        if not isinstance(
            message, (TextMessage, ReasoningMessage, ToolAggregateMessage, UsageMessage)
        ):
            return []
        extra = message.to_dict()
        for envelope in ("chatId", "runId", "generationId"):
            extra.pop(envelope, None)
        generation = message.generation_id or generation
        if isinstance(message, (TextMessage, ReasoningMessage)):
            if message.id is None:
                raise ValueError(f"{type(message).__name__}.id must be a string, got None")
            extra["delta"] = extra.pop("text")
        elif message.id is None:
            part = "usage" if isinstance(message, UsageMessage) else "calls"
            extra["messageId"] = f"{generation}.{part}"
        return [self._builder.build(**extra, generation_id=generation, done=True)]


class _ReplyState:
    """State of a reply while it streams."""

    def __init__(self, generation_id: str) -> None:
        self.generation_id = generation_id
        self.numbers = PartNumbers()
        self.group = -1
        """The number of the last message with calls."""
        self.announced: set[str] = set()
        self._ids = CallIds()
        self._count = 0

    def call_fields(self, call: ToolCall | InvalidToolCall) -> dict[str, Any]:
        """Return the fields of a call in its event, with the id that the executor assigns."""
        call_id = self._ids.unique(call.id, self._count)
        self._count += 1
        self.announced.add(call_id)
        fields: dict[str, Any] = {"toolCallId": call_id, "name": call.name, "index": call.index}
        if isinstance(call, ToolCall):
            [call_dict] = ToolCallMessage([call]).to_dict()["toolCalls"]
            # The raw text of the call was emitted in fragments.
            call_dict.pop("raw", None)
            return {**call_dict, **fields}
        if len(call.raw) <= _MAX_RAW:
            fields["raw"] = call.raw
        if call.dialect != "natural":
            fields["dialect"] = call.dialect
        if call.recovered:
            fields["recovered"] = True
        messages = [violation.message for violation in call.violations]
        fields["invalid"] = {"reason": call.kind, "message": "; ".join(messages) or call.kind}
        return fields


_STATES = (ToolStarted, ToolQuestion, ToolApprovalRequested, ToolApproval, ToolDeferred)
"""Events for a change of a call's state."""


def _state_fields(
    event: ToolStarted | ToolQuestion | ToolApprovalRequested | ToolApproval | ToolDeferred,
) -> dict[str, Any]:
    match event:
        case ToolStarted():
            return {"state": "running"}
        case ToolQuestion():
            fields = {"key": event.key, "question": event.question}
            return {"state": "awaiting_answer", **fields, "schema": to_json_value(event.schema)}
        case ToolApprovalRequested():
            return {"state": "awaiting_approval"}
        case ToolApproval():
            state = "approved" if event.outcome == "allowed" else "denied"
            return {"state": state, "reason": event.reason, "decidedBy": event.decided_by}
        case ToolDeferred():
            return {"state": "deferred", "key": event.key}


def _selection_fields(selection: Selection) -> dict[str, Any]:
    tool = selection.tool
    ranking: list[dict[str, Any]] = []
    for each in selection.ranking:
        ranked = {"tool": each.tool.name, "score": each.score, "error": each.error}
        ranking.append({name: value for name, value in ranked.items() if value is not None})
    return {
        "tool": None if tool is None else tool.name,
        "score": selection.score,
        "fallback": selection.fallback,
        "calls": selection.calls,
        "duration": selection.duration,
        "ranking": ranking,
    }
