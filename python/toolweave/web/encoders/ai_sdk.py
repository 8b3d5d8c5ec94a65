"""The UI message stream of the AI SDK, which `useChat` reads.

A run is one message of the assistant; each reply of the model is a step of it. What the protocol
has no word for comes as data parts: `data-scene`, `data-selection`, `data-tool-state`,
`data-tool-progress` and `data-error`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from .calls import CallTracker, TrackedCall, generation_of
from .json_fields import fields_of, items_of, number_of, payload, pick, text_of
from .outcomes import CUT_OFF, RunOutcome, failure_message, is_error, is_progress, outcome_of
from .unsafe_keys import has_unsafe_key, sanitize

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

AiSdkVersion: TypeAlias = Literal[5, 6, 7]
"""A major version of the package `ai`."""

AI_SDK_VERSIONS: tuple[AiSdkVersion, ...] = (5, 6, 7)
"""The major versions that there are clients of."""

# What a reply ends with for a client, where it is not "other".
_FINISH_REASONS = {
    "completed": "stop",
    "empty": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "deferred": "tool-calls",
}
_COUNTS = ("inputTokens", "outputTokens", "cachedInputTokens")


class AiSdkEncoder:
    """Writes the events of a run as chunks of a UI message stream.

    Calls are dynamic tools, whose id is that of the reply and that of the call in it. A result
    waits until the client has the arguments of its call, since it would undo them otherwise.

    Args:
        version: The oldest major version of `ai` among the clients. From 6 on they are asked for
            approvals and told of refusals, from 7 on also of approvals; those of version 5, which
            would give up at that, see them as data parts and errors.
        message_id: The id of the message that the client makes, or goes on with; the run's if None.
        known_calls: The ids of the calls in the message that the client goes on with: their results
            go there. Those of calls that the client does not know are shown with a call of their
            own.

    Example:
        >>> encoder = AiSdkEncoder(version=6)
        >>> encoder.encode({"kind": "run", "runId": "r", "status": "started"})
        ['{"type":"start","messageId":"r"}']
    """

    media_type = "text/event-stream"
    """The content type of the stream."""

    def __init__(
        self,
        *,
        version: AiSdkVersion = 5,
        message_id: str | None = None,
        known_calls: Collection[str] = (),
    ) -> None:
        if version not in AI_SDK_VERSIONS:
            raise ValueError(f"version must be 5, 6 or 7, not {version!r}")
        self._version = version
        self._message_id = message_id
        self._run_id: str | None = None
        self._payloads: list[str] = []
        self._started = False
        self._ended = False
        self._step: str | None = None
        # The part that is written, as its kind, the id of its message and its own.
        self._part: tuple[str, str, str] | None = None
        self._parts: dict[str, int] = {}
        self._calls = CallTracker(known_calls)
        self._data_count = 0
        self._usage = dict.fromkeys(_COUNTS, 0)
        self._last_error: str | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """What the client wants to see in the response besides the content type."""
        return {
            "cache-control": "no-cache",
            "x-vercel-ai-ui-message-stream": "v1",
            "x-accel-buffering": "no",
        }

    def encode(self, event: Mapping[str, object]) -> Sequence[str]:
        """The chunks that an event comes to.

        One stream is one run, that of the first event that names one: events of others, and of
        kinds that the encoder does not know, come to nothing.
        """
        run_id = text_of(event, "runId")
        if self._ended or (run_id and self._run_id and run_id != self._run_id):
            return []
        if text_of(event, "role") not in (None, "assistant", "tool"):
            return []
        self._run_id = self._run_id or run_id
        match event.get("kind"):
            case "text" | "reasoning":
                self._text_event(event)
            case "tools_call_update":
                self._call_fragments(event)
            case "tools_call":
                self._complete_calls(event)
            case "tool_result" | "tool_state":
                self._call_event(event)
            case "tools_aggregate":
                self._aggregate(event)
            case "usage":
                self._add_usage(event)
            case "error":
                self._error_event(event)
            case "scene":
                self._scene_event(event)
            case "selection":
                self._selection_event(event)
            case "run":
                self._run_event(event)
            case _:
                pass
        return self._flush()

    def close(self) -> Sequence[str]:
        """The chunks that end the stream; an error if the run has not ended."""
        if self._started and not self._ended:
            self._end_all(CUT_OFF)
            self._write("error", errorText=CUT_OFF)
        self._ended = True
        return [*self._flush(), "[DONE]"]

    def _flush(self) -> list[str]:
        out, self._payloads = self._payloads, []
        return out

    def _write(self, type_: str, **fields: object) -> None:
        chunk = payload(type_, **fields)
        if has_unsafe_key(chunk):
            chunk = payload(type_, **{name: sanitize(each) for name, each in fields.items()})
        self._payloads.append(chunk)

    def _start(self) -> None:
        if not self._started:
            self._started = True
            self._write("start", messageId=self._message_id or self._run_id)

    def _enter_step(self, generation: str) -> None:
        """Begins the step of a reply, unless the client is in it."""
        self._start()
        if self._step != generation:
            self._start_unannounced_calls(current_generation=generation)
            self._start_step(generation)

    def _start_step(self, generation: str) -> None:
        if self._step != generation:
            self._end_step("The model did not finish this call.")
            self._step = generation
            self._write("start-step")

    def _end_step(self, error_text: str) -> None:
        """Ends the step, and what is open in it: clients look for a call in its step only."""
        self._end_part()
        for call in self._calls:
            if call.announced and not call.arguments_sent:
                self._send_input_error(call, error_text)
        if self._step is not None:
            self._write("finish-step")
            self._step = None

    def _end_all(self, error_text: str) -> None:
        self._start_unannounced_calls()
        self._end_step(error_text)

    def _start_unannounced_calls(self, *, current_generation: str | None = None) -> None:
        for call in self._calls.unannounced(current_generation):
            self._start_step(call.generation)
            self._start_call(call, call.name or "tool")
            self._send_input(call, {})

    # Texts and thoughts

    def _text_event(self, event: Mapping[str, object]) -> None:
        kind = "text" if event.get("kind") == "text" else "reasoning"
        message = text_of(event, "messageId") or kind
        delta = text_of(event, "delta")
        if delta:
            self._enter_step(generation_of(event))
            if self._part is None or self._part[:2] != (kind, message):
                self._end_part()
                # A text that goes on after something else is another part for the client.
                count = self._parts[message] = self._parts.get(message, -1) + 1
                self._part = (kind, message, f"{message}:{count}" if count else message)
                self._write(f"{kind}-start", id=self._part[2])
            self._write(f"{kind}-delta", id=self._part[2], delta=delta)
        if event.get("done") is True and self._part and self._part[:2] == (kind, message):
            self._end_part()

    def _end_part(self) -> None:
        if self._part is not None:
            self._write(f"{self._part[0]}-end", id=self._part[2])
            self._part = None

    # Calls

    def _call_fragments(self, event: Mapping[str, object]) -> None:
        for call in self._calls.fragments(event):
            self._ensure_started(call)
            if delta := call.unsent():
                self._write("tool-input-delta", toolCallId=call.id, inputTextDelta=delta)

    def _complete_calls(self, event: Mapping[str, object]) -> None:
        for call, each in self._calls.complete(event):
            self._ensure_started(call)
            invalid = fields_of(each, "invalid")
            if invalid is None:
                self._send_input(call, each.get("arguments", {}))
            else:
                error_text = text_of(invalid, "message") or "The call cannot be run."
                self._send_input_error(call, error_text, text_of(each, "raw"))

    def _ensure_started(self, call: TrackedCall) -> None:
        if not call.announced:
            self._enter_step(call.generation)
            self._start_call(call, call.name or "tool")

    def _start_call(self, call: TrackedCall, name: str) -> None:
        self._end_part()
        call.announced = True
        call.name = name
        self._write("tool-input-start", toolCallId=call.id, toolName=name, dynamic=True)

    def _send_input(self, call: TrackedCall, arguments: object) -> None:
        self._write(
            "tool-input-available",
            toolCallId=call.id,
            toolName=call.name,
            input={} if arguments is None else arguments,
            dynamic=True,
        )
        self._emit_held_events(call)

    def _send_input_error(self, call: TrackedCall, error_text: str, raw: str | None = None) -> None:
        self._write(
            "tool-input-error",
            toolCallId=call.id,
            toolName=call.name,
            input="".join(call.pieces) or raw or "",
            errorText=error_text,
            dynamic=True,
        )
        self._emit_held_events(call)

    def _emit_held_events(self, call: TrackedCall) -> None:
        call.arguments_sent = True
        call.pieces.clear()
        for event in call.release():
            self._emit_call_event(call, event)

    def _call_event(self, event: Mapping[str, object]) -> None:
        call = self._calls.referenced(event)
        if call is None or call.result_sent:
            return
        if call.arguments_sent:
            self._emit_call_event(call, event)
        else:
            call.hold(event)

    def _emit_call_event(self, call: TrackedCall, event: Mapping[str, object]) -> None:
        self._start()
        if event.get("kind") == "tool_state":
            self._state_event(call, event)
        elif is_progress(event):
            progress = text_of(event, "result") or ""
            self._send_output(call, progress, preliminary=True)
            data = {"toolCallId": call.id, "progress": progress}
            self._write("data-tool-progress", data=data, transient=True)
        else:
            call.result_sent = True
            result = text_of(event, "result") or ""
            if not is_error(event):
                self._send_output(call, result)
            elif self._version >= 6 and event.get("errorCode") == "denied":
                self._write("tool-output-denied", toolCallId=call.id)
            else:
                # Version 5 looks for a dynamic tool only if told to.
                fields = {"toolCallId": call.id, "errorText": result, "dynamic": True}
                self._write("tool-output-error", **fields)

    def _send_output(
        self, call: TrackedCall, output: str, *, preliminary: bool | None = None
    ) -> None:
        self._write(
            "tool-output-available",
            toolCallId=call.id,
            output=output,
            dynamic=True,
            preliminary=preliminary,
        )

    def _state_event(self, call: TrackedCall, event: Mapping[str, object]) -> None:
        state = text_of(event, "state")
        key = text_of(event, "key")
        if key and self._version >= 6 and state == "awaiting_approval":
            call.approval_key = key
            self._write("tool-approval-request", approvalId=key, toolCallId=call.id)
        elif self._version >= 7 and state in ("approved", "denied") and call.approval_key:
            # Clients give up at an answer to what they were not asked.
            self._write(
                "tool-approval-response",
                approvalId=call.approval_key,
                approved=state == "approved",
                reason=text_of(event, "reason"),
            )
        if state == "running" and not call.state_sent:
            # That is what calls do: a part for each would say nothing.
            return
        call.state_sent = True
        data = pick(event, "state", "key", "question", "schema", "reason", "decidedBy")
        self._write("data-tool-state", id=call.id, data={"toolCallId": call.id, **data})

    # The rest

    def _aggregate(self, event: Mapping[str, object]) -> None:
        self._complete_calls(event)
        common = pick(event, "generationId", "messageId")
        for result in items_of(event, "toolResults"):
            self._call_event({**common, **result, "kind": "tool_result", "done": True})

    def _add_usage(self, event: Mapping[str, object]) -> None:
        for name in _COUNTS:
            self._usage[name] += number_of(event, name)

    def _error_event(self, event: Mapping[str, object]) -> None:
        self._last_error = text_of(event, "message") or self._last_error
        # A chunk of type `error` would be the end of it for clients.
        self._write_data("error", pick(event, "message", "code", "toolCallId"))

    def _scene_event(self, event: Mapping[str, object]) -> None:
        step = fields_of(event, "step")
        if step is not None:
            self._write_data("scene", step)

    def _selection_event(self, event: Mapping[str, object]) -> None:
        names = ("tool", "score", "fallback", "calls", "duration", "ranking")
        self._write_data("selection", pick(event, *names))

    def _write_data(self, name: str, data: Mapping[str, object]) -> None:
        self._start()
        self._data_count += 1
        self._write(f"data-{name}", id=f"{name}-{self._data_count}", data=data)

    def _run_event(self, event: Mapping[str, object]) -> None:
        self._start()
        if text_of(event, "status") != "finished":
            return
        run_outcome = outcome_of(event)
        self._end_all("The run ended before this call was written.")
        stop_reason = text_of(event, "stopReason") or "completed"
        metadata: dict[str, object] = {"stopReason": stop_reason}
        if any(self._usage.values()):
            metadata["usage"] = self._usage
        if run_outcome in (RunOutcome.ANSWERED, RunOutcome.WAITING):
            reason = _FINISH_REASONS.get(stop_reason, "other")
            self._write("finish", finishReason=reason, messageMetadata=metadata)
        else:
            self._write("message-metadata", messageMetadata=metadata)
            if run_outcome is RunOutcome.STOPPED:
                self._write("abort", reason=stop_reason)
            else:
                self._write("error", errorText=failure_message(event, self._last_error))
        self._ended = True
