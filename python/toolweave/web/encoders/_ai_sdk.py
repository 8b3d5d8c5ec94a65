"""Encoder for the UI message stream of the AI SDK, which `useChat` reads.

A run is one message of the assistant, and each reply of the model is a step of it. Events that the
protocol does not define are sent as data parts: `data-scene`, `data-selection`, `data-tool-state`,
`data-tool-progress` and `data-error`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from ..._checks import check_items, check_text
from .._sse import to_json
from ._calls import generation_of
from ._encoder import RunEncoder
from ._events import RunOutcome, failure_message, is_error, number_of, payload, pick, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ._calls import TrackedCall

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
# Keys that the AI SDK's parser rejects, to prevent prototype pollution: it aborts the whole stream
# at such a key, wherever it is, and models may write any key.
_UNSAFE_KEYS = ('"__proto__":', '"constructor":{')


class AiSdkEncoder(RunEncoder):
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

    def __init__(
        self,
        *,
        version: AiSdkVersion = 5,
        message_id: str | None = None,
        known_calls: Collection[str] = (),
    ) -> None:
        if version not in AI_SDK_VERSIONS:
            raise ValueError(f"version must be 5, 6 or 7, got {version!r}")
        check_text("message_id", message_id, none=True)
        known_calls = check_items("known_calls", known_calls, str, "a collection of strings")
        super().__init__(known_calls)
        self._version = version
        self._message_id = message_id
        # The open part: its kind, the id of its message, and its own id.
        self._part: tuple[str, str, str] | None = None
        self._parts: dict[str, int] = {}
        self._data_count = 0
        self._usage = dict.fromkeys(_COUNTS, 0)

    @property
    def headers(self) -> Mapping[str, str]:
        """Additional headers of the response."""
        return {**super().headers, "x-vercel-ai-ui-message-stream": "v1"}

    def close(self) -> Sequence[str]:
        """Return the chunks that end the stream: an error if the run has not ended."""
        return [*super().close(), "[DONE]"]

    def _write(self, type_: str, **fields: object) -> None:
        chunk = payload(type_, **fields)
        if _has_unsafe_key(chunk):
            chunk = payload(type_, **{name: _sanitize(each) for name, each in fields.items()})
        self._payloads.append(chunk)

    def _user_event(self, event: Mapping[str, object]) -> None:
        """Send nothing."""

    def _send_start(self) -> None:
        self._write("start", messageId=self._message_id or self._run_id)

    def _finish(self, event: Mapping[str, object], outcome: RunOutcome, stop_reason: str) -> None:
        self._end_all("The run ended before this call was written.")
        metadata: dict[str, object] = {"stopReason": stop_reason}
        if any(self._usage.values()):
            metadata["usage"] = self._usage
        if outcome in (RunOutcome.ANSWERED, RunOutcome.WAITING):
            reason = _FINISH_REASONS.get(stop_reason, "other")
            self._write("finish", finishReason=reason, messageMetadata=metadata)
            return
        self._write("message-metadata", messageMetadata=metadata)
        if outcome is RunOutcome.STOPPED:
            self._write("abort", reason=stop_reason)
        else:
            self._write_failure(failure_message(event, self._last_error), stop_reason)

    def _end_all(self, problem: str, /) -> None:
        self._start_unannounced_calls()
        self._end_reply(problem)

    def _write_failure(self, message: str, _: str, /) -> None:
        self._write("error", errorText=message)

    def _write_custom(self, name: str, value: Mapping[str, object]) -> None:
        # Errors, too: a chunk of type `error` would end the stream for clients.
        self._start()
        self._data_count += 1
        self._write(f"data-{name}", id=f"{name}-{self._data_count}", data=value)

    def _start_reply(self, generation: str) -> None:
        """Start the step of a reply, unless it is the current step."""
        if self._generation != generation:
            self._end_reply("The model did not finish this call.")
            self._generation = generation
            self._write("start-step")

    def _end_reply(self, problem: str) -> None:
        """End the step and all that is open in it: clients look for a call only in its step."""
        self._end_part()
        for call in self._calls:
            if call.announced and not call.arguments_sent:
                self._send_invalid(call, problem)
        if self._generation is not None:
            self._write("finish-step")
            self._generation = None

    # Text and reasoning.

    def _delta(self, kind: Literal["text", "reasoning"], event: Mapping[str, object]) -> None:
        message = text_of(event, "messageId") or kind
        delta = text_of(event, "delta")
        if delta:
            self._enter_reply(generation_of(event))
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

    def _send_call(self, call: TrackedCall, name: str) -> None:
        self._end_part()
        self._write("tool-input-start", toolCallId=call.id, toolName=name, dynamic=True)

    def _send_fragment(self, call: TrackedCall, delta: str) -> None:
        self._write("tool-input-delta", toolCallId=call.id, inputTextDelta=delta)

    def _send_arguments(self, call: TrackedCall, arguments: object) -> None:
        self._write(
            "tool-input-available",
            toolCallId=call.id,
            toolName=call.name,
            input={} if arguments is None else arguments,
            dynamic=True,
        )
        self._end_arguments(call)

    def _send_invalid(self, call: TrackedCall, problem: str, raw: str | None = None, /) -> None:
        self._write(
            "tool-input-error",
            toolCallId=call.id,
            toolName=call.name,
            input="".join(call.pieces) or raw or "",
            errorText=problem,
            dynamic=True,
        )
        self._end_arguments(call)

    def _send_progress(self, call: TrackedCall, progress: str) -> None:
        self._send_output(call, progress, preliminary=True)
        data = {"toolCallId": call.id, "progress": progress}
        self._write("data-tool-progress", data=data, transient=True)

    def _send_result(self, call: TrackedCall, event: Mapping[str, object]) -> None:
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

    def _send_state(self, call: TrackedCall, event: Mapping[str, object]) -> None:
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

    def _usage_event(self, event: Mapping[str, object]) -> None:
        for name in _COUNTS:
            self._usage[name] += number_of(event, name)


def _has_unsafe_key(text: str) -> bool:
    """Return True if clients reject a JSON text."""
    return any(each in text for each in _UNSAFE_KEYS)


def _sanitize(value: object) -> object:
    """Return a value that clients accept: JSON that they would reject becomes a string.

    Nothing is omitted, since the user may have to approve the value.
    """
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        value = {name: _as_text_if_unsafe(each) for name, each in fields.items()}
    return _as_text_if_unsafe(value)


def _as_text_if_unsafe(value: object) -> object:
    text = to_json(value)
    return text if _has_unsafe_key(text) else value
