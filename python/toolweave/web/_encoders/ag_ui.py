"""Encoder for AG-UI, the protocol of CopilotKit and `@ag-ui/client`.

Events that the protocol does not define are sent as `CUSTOM`: `tool-progress`, `tool-state`,
`scene`, `selection`, `usage` and `error`. Scenes are steps, named ``scene:<name>``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .calls import CallTracker, TrackedCall, generation_of
from .json_fields import fields_of, is_json_of, items_of, payload, pick, text_of, to_text
from .outcomes import CUT_OFF, RunOutcome, failure_message, is_error, is_progress, outcome_of
from .snapshot import MessageSnapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COUNTS = ("inputTokens", "outputTokens", "cachedInputTokens", "cost")
# States of calls that wait for the user.
_QUESTIONS = ("awaiting_approval", "awaiting_answer")


class AgUiEncoder:
    """Encoder of a run's events as events of AG-UI.

    Clients of version 0.0.59 and of version 1.0 accept the same events. The protocol has no way to
    mark a failed call that both versions show, and cannot correct arguments that were streamed. The
    metadata of the events have this information. If `history` is given, a `MESSAGES_SNAPSHOT`
    before the end of the run also corrects the client's messages.

    Args:
        thread_id: Id of the thread; that of the chat if None.
        run_id: Id of the run that the client chose; that of the server if None.
        history: The messages that the client sent, unchanged. Clients drop messages that a snapshot
            does not have, so no snapshot is sent if this is None.
        protocol_version: Protocol version of the client. From ``1.0`` on, cancelled runs end with
            an outcome that says so.
        echo: True to include the messages of users, for clients that only watch the chat.

    Example:
        >>> encoder = AgUiEncoder()
        >>> encoder.encode({"kind": "run", "chatId": "c", "runId": "r", "status": "started"})
        ['{"type":"RUN_STARTED","threadId":"c","runId":"r"}']
    """

    media_type = "text/event-stream"
    """Content type of the stream."""

    def __init__(
        self,
        *,
        thread_id: str | None = None,
        run_id: str | None = None,
        history: Sequence[Mapping[str, object]] | None = None,
        protocol_version: str | None = None,
        echo: bool = False,
    ) -> None:
        self._thread_id = thread_id
        self._client_run_id = run_id
        self._run_id: str | None = None
        self._snapshot = None if history is None else MessageSnapshot(history)
        self._v1 = _supports_v1(protocol_version)
        self._echo = echo
        self._payloads: list[str] = []
        self._started = False
        self._ended = False
        # Ids of open messages, in the order in which they were opened.
        self._open_texts: dict[str, None] = {}
        self._open_reasoning: dict[str, None] = {}
        self._step_name: str | None = None
        self._generation: str | None = None
        self._calls = CallTracker(self._snapshot.known_calls() if self._snapshot else ())
        self._questions: dict[str, dict[str, object]] = {}
        self._last_error: str | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """Additional headers of the response."""
        return {"cache-control": "no-cache", "x-accel-buffering": "no"}

    def encode(self, event: Mapping[str, object]) -> Sequence[str]:
        """Return the AG-UI events for an event.

        A stream has one run, that of the first event with a run id. Events of other runs and of
        unknown kinds are ignored.
        """
        run_id = text_of(event, "runId")
        if self._ended or (run_id and self._run_id and run_id != self._run_id):
            return []
        self._run_id = self._run_id or run_id
        if text_of(event, "role") not in (None, "assistant", "tool"):
            if self._echo and event.get("kind") == "text":
                self._text_event(event)
            return self._flush()
        match event.get("kind"):
            case "text":
                self._text_event(event)
            case "reasoning":
                self._reasoning_event(event)
            case "tools_call_update":
                self._call_fragments(event)
            case "tools_call":
                self._complete_calls(event)
            case "tool_result" | "tool_state":
                self._call_event(event)
            case "tools_aggregate":
                self._aggregate(event)
            case "usage":
                self._custom_event(event, "usage", *_COUNTS)
            case "error":
                self._last_error = text_of(event, "message") or self._last_error
                self._custom_event(event, "error", "message", "code", "toolCallId")
            case "scene":
                self._scene_event(event)
            case "selection":
                names = ("tool", "score", "fallback", "calls", "duration", "ranking")
                self._custom_event(event, "selection", *names)
            case "run":
                self._run_event(event)
            case _:
                pass
        return self._flush()

    def close(self) -> Sequence[str]:
        """Return the events that end the stream: `RUN_ERROR` if the run has not ended."""
        if self._started and not self._ended:
            self._close_all()
            self._write("RUN_ERROR", message=CUT_OFF, code="stream_ended")
        self._ended = True
        return self._flush()

    def _flush(self) -> list[str]:
        out, self._payloads = self._payloads, []
        return out

    def _write(self, type_: str, **fields: object) -> None:
        self._payloads.append(payload(type_, **fields))

    def _start(self, event: Mapping[str, object]) -> None:
        if self._started:
            return
        self._started = True
        self._thread_id = self._thread_id or text_of(event, "chatId") or "chat"
        self._client_run_id = self._client_run_id or self._run_id or "run"
        self._write(
            "RUN_STARTED",
            threadId=self._thread_id,
            runId=self._client_run_id,
            protocolVersion="1.0" if self._v1 else None,
        )

    def _run_event(self, event: Mapping[str, object]) -> None:
        self._start(event)
        if text_of(event, "status") != "finished":
            return
        self._close_all()
        run_outcome = outcome_of(event)
        if self._snapshot is not None and self._snapshot.differs:
            self._write("MESSAGES_SNAPSHOT", messages=self._snapshot.messages())
        stop_reason = text_of(event, "stopReason") or "completed"
        if run_outcome is RunOutcome.FAILED:
            message = failure_message(event, self._last_error)
            self._write("RUN_ERROR", message=message, code=stop_reason)
        else:
            outcome: dict[str, object] | None = None
            if run_outcome is RunOutcome.WAITING and self._questions:
                outcome = {"type": "interrupt", "interrupts": list(self._questions.values())}
            elif run_outcome is RunOutcome.STOPPED and self._v1:
                outcome = {"type": "cancelled"}
            self._write(
                "RUN_FINISHED",
                threadId=self._thread_id,
                runId=self._client_run_id,
                result={"stopReason": stop_reason},
                outcome=outcome,
            )
        self._ended = True

    def _close_all(self) -> None:
        for message in list(self._open_texts):
            self._end_text(message)
        for message in list(self._open_reasoning):
            self._end_reasoning(message)
        for call in self._calls:
            if call.announced and not call.arguments_sent:
                self._end_call(call, metadata={"invalid": "The call was not finished."})
        self._start_unannounced_calls()
        self._end_scene()

    def _enter_generation(self, generation: str) -> None:
        """Set the current reply, and send the unannounced calls of earlier replies."""
        if self._generation != generation:
            self._generation = generation
            self._start_unannounced_calls(current_generation=generation)

    def _start_unannounced_calls(self, *, current_generation: str | None = None) -> None:
        for call in self._calls.unannounced(current_generation):
            self._start_call(call, call.name or "tool")
            self._finish_arguments(call, {})

    # Text and reasoning.

    def _text_event(self, event: Mapping[str, object]) -> None:
        message = text_of(event, "messageId") or "text"
        delta = text_of(event, "delta")
        if delta:
            self._start(event)
            self._enter_generation(generation_of(event))
            role = text_of(event, "role") or "assistant"
            if message not in self._open_texts:
                self._open_texts[message] = None
                self._write("TEXT_MESSAGE_START", messageId=message, role=role)
            self._write("TEXT_MESSAGE_CONTENT", messageId=message, delta=delta)
            if self._snapshot is not None:
                self._snapshot.text(message, role, delta)
        if event.get("done") is True:
            self._end_text(message)

    def _end_text(self, message: str) -> None:
        if message in self._open_texts:
            del self._open_texts[message]
            self._write("TEXT_MESSAGE_END", messageId=message)

    def _reasoning_event(self, event: Mapping[str, object]) -> None:
        message = text_of(event, "messageId") or "reasoning"
        delta = text_of(event, "delta")
        if delta:
            self._start(event)
            self._enter_generation(generation_of(event))
            if message not in self._open_reasoning:
                self._open_reasoning[message] = None
                self._write("REASONING_START", messageId=message)
                self._write("REASONING_MESSAGE_START", messageId=message, role="reasoning")
            self._write("REASONING_MESSAGE_CONTENT", messageId=message, delta=delta)
        if event.get("done") is True:
            self._end_reasoning(message)

    def _end_reasoning(self, message: str) -> None:
        if message in self._open_reasoning:
            del self._open_reasoning[message]
            self._write("REASONING_MESSAGE_END", messageId=message)
            self._write("REASONING_END", messageId=message)

    # Calls.

    def _call_fragments(self, event: Mapping[str, object]) -> None:
        self._start(event)
        for call in self._calls.fragments(event):
            self._ensure_started(call)
            self._send_arguments(call, call.unsent())

    def _complete_calls(self, event: Mapping[str, object]) -> None:
        self._start(event)
        for call, each in self._calls.complete(event):
            self._ensure_started(call)
            invalid = fields_of(each, "invalid")
            if invalid is None:
                self._finish_arguments(call, each.get("arguments", {}))
            else:
                why = text_of(invalid, "message") or "The call cannot be run."
                self._end_call(call, metadata={"invalid": why})

    def _ensure_started(self, call: TrackedCall) -> None:
        if not call.announced:
            self._enter_generation(call.generation)
            self._start_call(call, call.name or "tool")

    def _start_call(self, call: TrackedCall, name: str) -> None:
        call.announced = True
        call.name = name
        self._write(
            "TOOL_CALL_START", toolCallId=call.id, toolCallName=name, parentMessageId=call.parent
        )
        if self._snapshot is not None:
            self._snapshot.call(call.parent, call.id, name)

    def _send_arguments(self, call: TrackedCall, delta: str) -> None:
        if delta:
            self._write("TOOL_CALL_ARGS", toolCallId=call.id, delta=delta)
            if self._snapshot is not None:
                self._snapshot.arguments(call.id, delta)

    def _finish_arguments(self, call: TrackedCall, arguments: object) -> None:
        """End a call with these arguments; correct the streamed ones if they differ."""
        streamed = "".join(call.pieces)
        text = to_text(arguments)
        if text.startswith(streamed):
            self._send_arguments(call, text[len(streamed) :])
            self._end_call(call)
        elif is_json_of(streamed, arguments):
            self._end_call(call)
        else:
            if self._snapshot is not None:
                self._snapshot.correct(call.id, text)
            self._end_call(call, metadata={"arguments": text})

    def _end_call(self, call: TrackedCall, *, metadata: Mapping[str, object] | None = None) -> None:
        call.arguments_sent = True
        call.pieces.clear()
        self._write("TOOL_CALL_END", toolCallId=call.id, metadata=metadata)
        for event in call.release():
            self._emit_call_event(call, event)

    def _call_event(self, event: Mapping[str, object]) -> None:
        self._start(event)
        call = self._calls.referenced(event)
        if call is None or call.result_sent:
            return
        if call.arguments_sent:
            self._emit_call_event(call, event)
        else:
            call.hold(event)

    def _emit_call_event(self, call: TrackedCall, event: Mapping[str, object]) -> None:
        if event.get("kind") == "tool_state":
            self._state_event(call, event)
        elif is_progress(event):
            value = {"toolCallId": call.id, "progress": text_of(event, "result") or ""}
            self._write("CUSTOM", name="tool-progress", value=value)
        else:
            call.result_sent = True
            self._send_result(call, event)

    def _send_result(self, call: TrackedCall, event: Mapping[str, object]) -> None:
        content = text_of(event, "result") or ""
        message = text_of(event, "messageId")
        if message is None or event.get("kind") == "tools_aggregate":
            message = f"{call.parent}_result_{call.call_id}"
        code = text_of(event, "errorCode") or "tool_error" if is_error(event) else None
        self._write(
            "TOOL_CALL_RESULT",
            messageId=message,
            toolCallId=call.id,
            content=content,
            role="tool",
            metadata=None if code is None else {"error": code},
        )
        if self._snapshot is not None:
            self._snapshot.result(message, call.id, content, code)

    def _state_event(self, call: TrackedCall, event: Mapping[str, object]) -> None:
        value = pick(event, "state", "key", "question", "schema", "reason", "decidedBy")
        self._write("CUSTOM", name="tool-state", value={"toolCallId": call.id, **value})
        state = text_of(event, "state")
        self._questions.pop(call.id, None)
        key = text_of(event, "key")
        if state in _QUESTIONS and key:
            interrupt: dict[str, object] = {"id": key, "reason": state, "toolCallId": call.id}
            if message := text_of(event, "question") or text_of(event, "reason"):
                interrupt["message"] = message
            if schema := fields_of(event, "schema"):
                interrupt["responseSchema"] = schema
            self._questions[call.id] = interrupt

    # Other events.

    def _aggregate(self, event: Mapping[str, object]) -> None:
        self._complete_calls(event)
        generation = generation_of(event)
        for result in items_of(event, "toolResults"):
            common = {"kind": "tool_result", "generationId": generation, "done": True}
            self._call_event({**result, **common})

    def _scene_event(self, event: Mapping[str, object]) -> None:
        step = fields_of(event, "step")
        if step is None:
            return
        self._start(event)
        scene = text_of(step, "scene")
        if step.get("status") == "ExecutingScene" and scene:
            self._end_scene()
            self._step_name = f"scene:{scene}"
            self._write("STEP_STARTED", stepName=self._step_name)
        self._write("CUSTOM", name="scene", value=step)
        if step.get("status") in ("Completed", "GeneratingFinalResponse"):
            self._end_scene()

    def _end_scene(self) -> None:
        if self._step_name is not None:
            self._write("STEP_FINISHED", stepName=self._step_name)
            self._step_name = None

    def _custom_event(self, event: Mapping[str, object], name: str, *names: str) -> None:
        self._start(event)
        self._write("CUSTOM", name=name, value=pick(event, *names))


def _supports_v1(version: str | None) -> bool:
    major = (version or "").partition(".")[0]
    return major.isascii() and major.isdigit() and len(major) < 9 and int(major) >= 1
