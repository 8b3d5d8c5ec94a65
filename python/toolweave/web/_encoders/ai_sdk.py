"""Encoder for the UI message stream of the AI SDK, which `useChat` reads.

A run is one message of the assistant, and each reply of the model is a step of it. Events that the
protocol does not define are sent as data parts: `data-scene`, `data-selection`, `data-tool-state`,
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
"""Major version of the package `ai`."""

AI_SDK_VERSIONS: tuple[AiSdkVersion, ...] = (5, 6, 7)
"""Supported major versions of the package `ai`."""

# Finish reasons by stop reason; "other" for the rest.
_FINISH_REASONS = {
    "completed": "stop",
    "empty": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "deferred": "tool-calls",
}
_COUNTS = ("inputTokens", "outputTokens", "cachedInputTokens")


class AiSdkEncoder:
    """Encoder of a run's events as chunks of a UI message stream.

    Calls are dynamic tools; their id is made of the reply's id and the call's id. A result is held
    until the client has the arguments of its call, since arguments that come later overwrite it.

    Args:
        version: Oldest major version of `ai` among the clients. Approval requests and denials are
            sent from version 6 on, and approvals from version 7 on. Version 5 would fail on them,
            so it gets data parts and errors instead.
        message_id: Id of the message that the client creates or continues; the run's id if None.
        known_calls: Ids of the calls in the message that the client continues; their results are
            added to it. Results of unknown calls are sent together with a call.

    Example:
        >>> encoder = AiSdkEncoder(version=6)
        >>> encoder.encode({"kind": "run", "runId": "r", "status": "started"})
        ['{"type":"start","messageId":"r"}']
    """

    media_type = "text/event-stream"
    """Content type of the stream."""

    def __init__(
        self,
        *,
        version: AiSdkVersion = 5,
        message_id: str | None = None,
        known_calls: Collection[str] = (),
    ) -> None:
        if version not in AI_SDK_VERSIONS:
            raise ValueError(f"version must be 5, 6 or 7, got {version!r}")
        self._version = version
        self._message_id = message_id
        self._run_id: str | None = None
        self._payloads: list[str] = []
        self._started = False
        self._ended = False
        self._step: str | None = None
        # The open part: its kind, the id of its message, and its own id.
        self._part: tuple[str, str, str] | None = None
        self._parts: dict[str, int] = {}
        self._calls = CallTracker(known_calls)
        self._data_count = 0
        self._usage = dict.fromkeys(_COUNTS, 0)
        self._last_error: str | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """Additional headers of the response."""
        return {
            "cache-control": "no-cache",
            "x-vercel-ai-ui-message-stream": "v1",
            "x-accel-buffering": "no",
        }

    def encode(self, event: Mapping[str, object]) -> Sequence[str]:
        """Return the chunks for an event.

        A stream has one run, that of the first event with a run id. Events of other runs and of
        unknown kinds are ignored.
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
        """Return the chunks that end the stream: an error if the run has not ended."""
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
        """Start the step of a reply, unless it is the current step."""
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
        """End the step and all that is open in it: clients look for a call only in its step."""
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

    # Text and reasoning.

    def _text_event(self, event: Mapping[str, object]) -> None:
        kind = "text" if event.get("kind") == "text" else "reasoning"
        message = text_of(event, "messageId") or kind
        delta = text_of(event, "delta")
        if delta:
            self._enter_step(generation_of(event))
            if self._part is None or self._part[:2] != (kind, message):
                self._end_part()
                # A text that continues after something else must be a new part.
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

    # Calls.

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
                # Version 5 looks for dynamic tools only if `dynamic` is set.
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
            # Clients fail on a response without a request.
            self._write(
                "tool-approval-response",
                approvalId=call.approval_key,
                approved=state == "approved",
                reason=text_of(event, "reason"),
            )
        if state == "running" and not call.state_sent:
            # All calls run: a part for each would carry no information.
            return
        call.state_sent = True
        data = pick(event, "state", "key", "question", "schema", "reason", "decidedBy")
        self._write("data-tool-state", id=call.id, data={"toolCallId": call.id, **data})

    # Other events.

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
        # A chunk of type `error` would end the stream for clients.
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
