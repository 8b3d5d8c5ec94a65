"""The UI message stream of the AI SDK, which `useChat` reads.

A run is one message of the assistant; each reply of the model is a step of it. What the protocol
has no word for comes as data parts: `data-scene`, `data-selection`, `data-tool-state`,
`data-tool-progress` and `data-error`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from .calls import CallTracker, TrackedCall, generation_of
from .json_fields import chosen, fields_of, items_of, number_of, payload, text_of
from .outcomes import CUT_OFF, RunOutcome, ending_of, failure_of, is_error, is_progress
from .unsafe_keys import is_refused, taken

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

AiSdkVersion: TypeAlias = Literal[5, 6, 7]
"""A major version of the package `ai`."""

AI_SDK_VERSIONS: tuple[AiSdkVersion, ...] = (5, 6, 7)
"""The major versions that there are clients of."""

# What a reply ends with for a client, where it is not "other".
_REASONS = {
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
        self._out: list[str] = []
        self._started = False
        self._ended = False
        self._step: str | None = None
        # The part that is written, as its kind, the id of its message and its own.
        self._part: tuple[str, str, str] | None = None
        self._parts: dict[str, int] = {}
        self._calls = CallTracker(known_calls)
        self._data = 0
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
                self._prose(event)
            case "tools_call_update":
                self._fragments(event)
            case "tools_call":
                self._whole_calls(event)
            case "tool_result" | "tool_state":
                self._mention(event)
            case "tools_aggregate":
                self._aggregate(event)
            case "usage":
                self._count(event)
            case "error":
                self._fault(event)
            case "scene":
                self._scene(event)
            case "selection":
                self._selection(event)
            case "run":
                self._run(event)
            case _:
                pass
        return self._flush()

    def close(self) -> Sequence[str]:
        """The chunks that end the stream; an error if the run has not ended."""
        if self._started and not self._ended:
            self._leave_for_good(CUT_OFF)
            self._write("error", errorText=CUT_OFF)
        self._ended = True
        return [*self._flush(), "[DONE]"]

    def _flush(self) -> list[str]:
        out, self._out = self._out, []
        return out

    def _write(self, type_: str, **fields: object) -> None:
        chunk = payload(type_, **fields)
        if is_refused(chunk):
            chunk = payload(type_, **{name: taken(each) for name, each in fields.items()})
        self._out.append(chunk)

    def _start(self) -> None:
        if not self._started:
            self._started = True
            self._write("start", messageId=self._message_id or self._run_id)

    def _enter(self, generation: str) -> None:
        """Begins the step of a reply, unless the client is in it."""
        self._start()
        if self._step != generation:
            self._show_orphans(besides=generation)
            self._step_to(generation)

    def _step_to(self, generation: str) -> None:
        if self._step != generation:
            self._leave("The model did not finish this call.")
            self._step = generation
            self._write("start-step")

    def _leave(self, why: str) -> None:
        """Ends the step, and what is open in it: clients look for a call in its step only."""
        self._end_part()
        for call in self._calls:
            if call.opened and not call.settled:
                self._refuse(call, why)
        if self._step is not None:
            self._write("finish-step")
            self._step = None

    def _leave_for_good(self, why: str) -> None:
        self._show_orphans()
        self._leave(why)

    def _show_orphans(self, *, besides: str | None = None) -> None:
        for call in self._calls.orphans(besides):
            self._step_to(call.generation)
            self._announce(call, call.name or "tool")
            self._settle(call, {})

    # Texts and thoughts

    def _prose(self, event: Mapping[str, object]) -> None:
        kind = "text" if event.get("kind") == "text" else "reasoning"
        message = text_of(event, "messageId") or kind
        delta = text_of(event, "delta")
        if delta:
            self._enter(generation_of(event))
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

    def _fragments(self, event: Mapping[str, object]) -> None:
        for call in self._calls.fragments(event):
            self._open(call)
            if delta := call.unsent():
                self._write("tool-input-delta", toolCallId=call.id, inputTextDelta=delta)

    def _whole_calls(self, event: Mapping[str, object]) -> None:
        for call, each in self._calls.whole(event):
            self._open(call)
            invalid = fields_of(each, "invalid")
            if invalid is None:
                self._settle(call, each.get("arguments", {}))
            else:
                why = text_of(invalid, "message") or "The call cannot be run."
                self._refuse(call, why, text_of(each, "raw"))

    def _open(self, call: TrackedCall) -> None:
        if not call.opened:
            self._enter(call.generation)
            self._announce(call, call.name or "tool")

    def _announce(self, call: TrackedCall, name: str) -> None:
        self._end_part()
        call.opened = True
        call.name = name
        self._write("tool-input-start", toolCallId=call.id, toolName=name, dynamic=True)

    def _settle(self, call: TrackedCall, arguments: object) -> None:
        self._write(
            "tool-input-available",
            toolCallId=call.id,
            toolName=call.name,
            input={} if arguments is None else arguments,
            dynamic=True,
        )
        self._release(call)

    def _refuse(self, call: TrackedCall, why: str, raw: str | None = None) -> None:
        self._write(
            "tool-input-error",
            toolCallId=call.id,
            toolName=call.name,
            input="".join(call.pieces) or raw or "",
            errorText=why,
            dynamic=True,
        )
        self._release(call)

    def _release(self, call: TrackedCall) -> None:
        call.settled = True
        call.pieces.clear()
        for event in call.release():
            self._about(call, event)

    def _mention(self, event: Mapping[str, object]) -> None:
        call = self._calls.mentioned(event)
        if call is None or call.ended:
            return
        if call.settled:
            self._about(call, event)
        else:
            call.hold(event)

    def _about(self, call: TrackedCall, event: Mapping[str, object]) -> None:
        self._start()
        if event.get("kind") == "tool_state":
            self._state(call, event)
        elif is_progress(event):
            told = text_of(event, "result") or ""
            self._output(call, told, preliminary=True)
            data = {"toolCallId": call.id, "progress": told}
            self._write("data-tool-progress", data=data, transient=True)
        else:
            call.ended = True
            result = text_of(event, "result") or ""
            if not is_error(event):
                self._output(call, result)
            elif self._version >= 6 and event.get("errorCode") == "denied":
                self._write("tool-output-denied", toolCallId=call.id)
            else:
                # Version 5 looks for a dynamic tool only if told to.
                fields = {"toolCallId": call.id, "errorText": result, "dynamic": True}
                self._write("tool-output-error", **fields)

    def _output(self, call: TrackedCall, output: str, *, preliminary: bool | None = None) -> None:
        self._write(
            "tool-output-available",
            toolCallId=call.id,
            output=output,
            dynamic=True,
            preliminary=preliminary,
        )

    def _state(self, call: TrackedCall, event: Mapping[str, object]) -> None:
        state = text_of(event, "state")
        key = text_of(event, "key")
        if key and self._version >= 6 and state == "awaiting_approval":
            call.asked = key
            self._write("tool-approval-request", approvalId=key, toolCallId=call.id)
        elif self._version >= 7 and state in ("approved", "denied") and call.asked:
            # Clients give up at an answer to what they were not asked.
            self._write(
                "tool-approval-response",
                approvalId=call.asked,
                approved=state == "approved",
                reason=text_of(event, "reason"),
            )
        if state == "running" and not call.stated:
            # That is what calls do: a part for each would say nothing.
            return
        call.stated = True
        data = chosen(event, "state", "key", "question", "schema", "reason", "decidedBy")
        self._write("data-tool-state", id=call.id, data={"toolCallId": call.id, **data})

    # The rest

    def _aggregate(self, event: Mapping[str, object]) -> None:
        self._whole_calls(event)
        common = chosen(event, "generationId", "messageId")
        for result in items_of(event, "toolResults"):
            self._mention({**common, **result, "kind": "tool_result", "done": True})

    def _count(self, event: Mapping[str, object]) -> None:
        for name in _COUNTS:
            self._usage[name] += number_of(event, name)

    def _fault(self, event: Mapping[str, object]) -> None:
        self._last_error = text_of(event, "message") or self._last_error
        # A chunk of type `error` would be the end of it for clients.
        self._tell("error", chosen(event, "message", "code", "toolCallId"))

    def _scene(self, event: Mapping[str, object]) -> None:
        step = fields_of(event, "step")
        if step is not None:
            self._tell("scene", step)

    def _selection(self, event: Mapping[str, object]) -> None:
        names = ("tool", "score", "fallback", "calls", "duration", "ranking")
        self._tell("selection", chosen(event, *names))

    def _tell(self, name: str, data: Mapping[str, object]) -> None:
        self._start()
        self._data += 1
        self._write(f"data-{name}", id=f"{name}-{self._data}", data=data)

    def _run(self, event: Mapping[str, object]) -> None:
        self._start()
        if text_of(event, "status") != "finished":
            return
        ending = ending_of(event)
        self._leave_for_good("The run ended before this call was written.")
        stop_reason = text_of(event, "stopReason") or "completed"
        metadata: dict[str, object] = {"stopReason": stop_reason}
        if any(self._usage.values()):
            metadata["usage"] = self._usage
        if ending in (RunOutcome.ANSWERED, RunOutcome.WAITING):
            reason = _REASONS.get(stop_reason, "other")
            self._write("finish", finishReason=reason, messageMetadata=metadata)
        else:
            self._write("message-metadata", messageMetadata=metadata)
            if ending is RunOutcome.STOPPED:
                self._write("abort", reason=stop_reason)
            else:
                self._write("error", errorText=failure_of(event, self._last_error))
        self._ended = True
