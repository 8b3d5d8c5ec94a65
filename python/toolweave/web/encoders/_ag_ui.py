"""Encoder for AG-UI, the protocol of CopilotKit and `@ag-ui/client`.

Events that the protocol does not define are sent as `CUSTOM`: `tool-progress`, `tool-state`,
`scene`, `selection`, `usage` and `error`. Scenes are steps, named ``scene:<name>``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ..._checks import check_flag, check_items, check_text
from .._sse import to_json
from ._calls import generation_of
from ._encoder import RunEncoder
from ._events import (
    RunOutcome,
    failure_message,
    fields_of,
    is_error,
    is_json_of,
    items_of,
    pick,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._calls import TrackedCall

_COUNTS = ("inputTokens", "outputTokens", "cachedInputTokens", "cost")
# States of calls that wait for the user.
_QUESTIONS = ("awaiting_approval", "awaiting_answer")
_UNFINISHED = "The call was not finished."
# Events that start the run even if nothing else is sent for them.
_CALL_KINDS = ("tools_call_update", "tools_call", "tool_result", "tool_state", "tools_aggregate")
# Clients keep messages of these roles, unless a snapshot has some.
_CLIENT_ROLES = ("activity", "reasoning")


class AgUiEncoder(RunEncoder):
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

    def __init__(
        self,
        *,
        thread_id: str | None = None,
        run_id: str | None = None,
        history: Sequence[Mapping[str, object]] | None = None,
        protocol_version: str | None = None,
        echo: bool = False,
    ) -> None:
        check_text("thread_id", thread_id, none=True)
        check_text("run_id", run_id, none=True)
        check_text("protocol_version", protocol_version, none=True)
        check_flag("echo", echo)
        if history is not None:
            history = check_items("history", history, Mapping, "a sequence of mappings")
        self._snapshot = None if history is None else MessageSnapshot(history)
        super().__init__(() if self._snapshot is None else self._snapshot.known_calls())
        self._thread_id = thread_id
        self._client_run_id = run_id
        self._chat_id: str | None = None
        self._v1 = _supports_v1(protocol_version)
        self._echo = echo
        # Ids of open messages by kind, in the order in which they were opened.
        self._open: dict[str, dict[str, None]] = {"text": {}, "reasoning": {}}
        self._step_name: str | None = None
        self._questions: dict[str, dict[str, object]] = {}

    def _encode(self, event: Mapping[str, object]) -> None:
        self._chat_id = text_of(event, "chatId")
        if event.get("kind") in _CALL_KINDS:
            self._start()
        super()._encode(event)

    def _user_event(self, event: Mapping[str, object]) -> None:
        self._chat_id = text_of(event, "chatId")
        self._run_id = self._run_id or text_of(event, "runId")
        if self._echo and event.get("kind") == "text":
            self._delta("text", event)

    def _send_start(self) -> None:
        self._thread_id = self._thread_id or self._chat_id or "chat"
        self._client_run_id = self._client_run_id or self._run_id or "run"
        self._write(
            "RUN_STARTED",
            threadId=self._thread_id,
            runId=self._client_run_id,
            protocolVersion="1.0" if self._v1 else None,
        )

    def _finish(self, event: Mapping[str, object], outcome: RunOutcome, stop_reason: str) -> None:
        self._end_all(_UNFINISHED)
        if self._snapshot is not None and self._snapshot.differs:
            self._write("MESSAGES_SNAPSHOT", messages=self._snapshot.messages())
        if outcome is RunOutcome.FAILED:
            self._write_failure(failure_message(event, self._last_error), stop_reason)
            return
        details: dict[str, object] | None = None
        if outcome is RunOutcome.WAITING and self._questions:
            details = {"type": "interrupt", "interrupts": list(self._questions.values())}
        elif outcome is RunOutcome.STOPPED and self._v1:
            details = {"type": "cancelled"}
        self._write(
            "RUN_FINISHED",
            threadId=self._thread_id,
            runId=self._client_run_id,
            result={"stopReason": stop_reason},
            outcome=details,
        )

    def _end_all(self, _: str, /) -> None:
        for kind, messages in self._open.items():
            for message in list(messages):
                self._end_message(kind, message)
        for call in self._calls:
            if call.announced and not call.arguments_sent:
                self._send_invalid(call, _UNFINISHED)
        self._start_unannounced_calls()
        self._end_scene()

    def _write_failure(self, message: str, code: str, /) -> None:
        self._write("RUN_ERROR", message=message, code=code)

    def _write_custom(self, name: str, value: object) -> None:
        self._start()
        self._write("CUSTOM", name=name, value=value)

    # Text and reasoning.

    def _delta(self, kind: Literal["text", "reasoning"], event: Mapping[str, object]) -> None:
        message = text_of(event, "messageId") or kind
        delta = text_of(event, "delta")
        if delta:
            self._enter_reply(generation_of(event))
            prefix, role = "REASONING_MESSAGE", "reasoning"
            if kind == "text":
                prefix, role = "TEXT_MESSAGE", text_of(event, "role") or "assistant"
                if self._snapshot is not None:
                    self._snapshot.text(message, role, delta)
            if message not in self._open[kind]:
                self._open[kind][message] = None
                if kind == "reasoning":
                    self._write("REASONING_START", messageId=message)
                self._write(f"{prefix}_START", messageId=message, role=role)
            self._write(f"{prefix}_CONTENT", messageId=message, delta=delta)
        if event.get("done") is True and message in self._open[kind]:
            self._end_message(kind, message)

    def _end_message(self, kind: str, message: str) -> None:
        del self._open[kind][message]
        if kind == "text":
            self._write("TEXT_MESSAGE_END", messageId=message)
        else:
            self._write("REASONING_MESSAGE_END", messageId=message)
            self._write("REASONING_END", messageId=message)

    # Calls.

    def _send_call(self, call: TrackedCall, name: str) -> None:
        self._write(
            "TOOL_CALL_START", toolCallId=call.id, toolCallName=name, parentMessageId=call.parent
        )
        if self._snapshot is not None:
            self._snapshot.call(call.parent, call.id, name)

    def _send_fragment(self, call: TrackedCall, delta: str) -> None:
        self._write("TOOL_CALL_ARGS", toolCallId=call.id, delta=delta)
        if self._snapshot is not None:
            self._snapshot.arguments(call.id, delta)

    def _send_arguments(self, call: TrackedCall, arguments: object) -> None:
        streamed = "".join(call.pieces)
        text = to_json(arguments)
        metadata = None
        if text.startswith(streamed):
            if rest := text[len(streamed) :]:
                self._send_fragment(call, rest)
        elif not is_json_of(streamed, arguments):
            if self._snapshot is not None:
                self._snapshot.correct(call.id, text)
            metadata = {"arguments": text}
        self._end_call(call, metadata)

    def _send_invalid(self, call: TrackedCall, problem: str, _: str | None = None, /) -> None:
        self._end_call(call, {"invalid": problem})

    def _end_call(self, call: TrackedCall, metadata: Mapping[str, object] | None) -> None:
        self._write("TOOL_CALL_END", toolCallId=call.id, metadata=metadata)
        self._end_arguments(call)

    def _send_progress(self, call: TrackedCall, progress: str) -> None:
        self._write_custom("tool-progress", {"toolCallId": call.id, "progress": progress})

    def _send_result(self, call: TrackedCall, event: Mapping[str, object]) -> None:
        content = text_of(event, "result") or ""
        message = text_of(event, "messageId")
        if message is None:
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

    def _send_state(self, call: TrackedCall, event: Mapping[str, object]) -> None:
        value = pick(event, "state", "key", "question", "schema", "reason", "decidedBy")
        self._write_custom("tool-state", {"toolCallId": call.id, **value})
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

    def _usage_event(self, event: Mapping[str, object]) -> None:
        self._write_custom("usage", pick(event, *_COUNTS))

    def _scene_event(self, step: Mapping[str, object]) -> None:
        self._start()
        scene = text_of(step, "scene")
        if step.get("status") == "ExecutingScene" and scene:
            self._end_scene()
            self._step_name = f"scene:{scene}"
            self._write("STEP_STARTED", stepName=self._step_name)
        self._write_custom("scene", step)
        if step.get("status") in ("Completed", "GeneratingFinalResponse"):
            self._end_scene()

    def _end_scene(self) -> None:
        if self._step_name is not None:
            self._write("STEP_FINISHED", stepName=self._step_name)
            self._step_name = None


class MessageSnapshot:
    """The messages that a snapshot must have.

    Args:
        history: The messages of earlier turns.
    """

    def __init__(self, history: Sequence[Mapping[str, object]]) -> None:
        self._history = [each for each in history if each.get("role") not in _CLIENT_ROLES]
        # Messages by id, in order, and calls with their arguments.
        self._messages: dict[str, _SnapshotMessage] = {}
        self._calls: dict[str, tuple[str, list[str]]] = {}
        self._results: dict[str, dict[str, object]] = {}
        self.differs = False
        """True if clients have other messages after reading the stream."""

    def known_calls(self) -> set[str]:
        """Return the ids of calls in the history."""
        calls = [call for each in self._history for call in items_of(each, "toolCalls")]
        return {id_ for call in calls if (id_ := text_of(call, "id")) is not None}

    def text(self, message: str, role: str, delta: str) -> None:
        """Add a delta of text."""
        self._messages.setdefault(message, _SnapshotMessage(role)).texts.append(delta)

    def call(self, message: str, call_id: str, name: str) -> None:
        """Add a call."""
        self._messages.setdefault(message, _SnapshotMessage("assistant")).calls.append(call_id)
        self._calls[call_id] = (name, [])

    def arguments(self, call_id: str, delta: str) -> None:
        """Add a delta of a call's arguments."""
        self._calls[call_id][1].append(delta)

    def correct(self, call_id: str, arguments: str) -> None:
        """Replace the arguments of a call, which differ from the streamed ones."""
        self._calls[call_id][1][:] = [arguments]
        self.differs = True

    def result(self, message: str, call_id: str, content: str, error: str | None) -> None:
        """Add the result of a call, with its error code if it failed."""
        message_fields: dict[str, object] = {
            "id": message,
            "role": "tool",
            "toolCallId": call_id,
            "content": content,
        }
        if error is not None:
            # Some clients show only this field.
            message_fields["error"] = content or error
            message_fields["metadata"] = {"error": error}
            self.differs = True
        self._results[call_id] = message_fields

    def messages(self) -> list[Mapping[str, object]]:
        """Return all messages in the format of AG-UI."""
        known = {each.get("id") for each in self._history}
        written: list[Mapping[str, object]] = list(self._history)
        written += [each for id_, each in self._results.items() if id_ not in self._calls]
        for id_, message in self._messages.items():
            if id_ in known:
                continue
            entry: dict[str, object] = {"id": id_, "role": message.role}
            if message.texts:
                entry["content"] = "".join(message.texts)
            if message.calls:
                entry["toolCalls"] = [self._call(each) for each in message.calls]
            written.append(entry)
            written += [self._results[each] for each in message.calls if each in self._results]
        return written

    def _call(self, call_id: str) -> dict[str, object]:
        name, arguments = self._calls[call_id]
        function = {"name": name, "arguments": "".join(arguments) or "{}"}
        return {"id": call_id, "type": "function", "function": function}


@dataclass
class _SnapshotMessage:
    """A message of a snapshot; the results of its calls follow it."""

    role: str
    texts: list[str] = field(default_factory=list[str])
    calls: list[str] = field(default_factory=list[str])


def _supports_v1(version: str | None) -> bool:
    major = (version or "").partition(".")[0]
    return major.isascii() and major.isdigit() and len(major) < 9 and int(major) >= 1
