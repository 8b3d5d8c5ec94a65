"""Validators of AI SDK and AG-UI streams, as strict as the strictest client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_TOOL_CHUNKS = {
    "tool-input-start": {"toolCallId", "toolName", "dynamic"},
    "tool-input-delta": {"toolCallId", "inputTextDelta"},
    "tool-input-available": {"toolCallId", "toolName", "input", "dynamic"},
    "tool-input-error": {"toolCallId", "toolName", "input", "errorText", "dynamic"},
    "tool-output-available": {"toolCallId", "output", "dynamic"},
    "tool-output-error": {"toolCallId", "errorText", "dynamic"},
    "tool-output-denied": {"toolCallId"},
    "tool-approval-request": {"toolCallId", "approvalId"},
    "tool-approval-response": {"approvalId", "approved"},
}
_SINCE = {"tool-output-denied": 6, "tool-approval-request": 6, "tool-approval-response": 7}
_FINISH_REASONS = {"stop", "length", "content-filter", "tool-calls", "error", "other"}
# Fields of any type, null included.
_JSON = {"input", "output"}


class Grammar:
    """The base of both validators."""

    def __init__(self) -> None:
        self.ended = False
        self.complete_calls: set[str] = set()
        self.results: dict[str, dict[str, Any]] = {}

    def read(self, payload: str) -> dict[str, Any]:
        chunk: dict[str, Any] = json.loads(payload, parse_constant=_refuse)
        assert "\n" not in payload
        assert not self.ended, f"after the end: {payload}"
        assert all(value is not None for name, value in chunk.items() if name not in _JSON), payload
        return chunk


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


class UiMessageStream(Grammar):
    """A validator of AI SDK streams."""

    def __init__(self, version: int) -> None:
        super().__init__()
        self.version = version
        self.started = False
        self.step = 0
        self.in_step = False
        # The open parts, and the step in which each call was opened.
        self.open: dict[str, str] = {}
        self.used: set[str] = set()
        self.calls: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self.inputs: dict[str, str] = {}
        self.approvals: set[str] = set()
        self.done = False

    def check(self, payloads: Sequence[str]) -> None:
        for payload in payloads:
            assert not self.done, f"after the end: {payload}"
            if payload == "[DONE]":
                self.done = True
            else:
                self.take(self.read(payload))
        assert self.done
        assert self.ended or not self.started

    def take(self, chunk: dict[str, Any]) -> None:
        type_ = chunk["type"]
        assert (type_ == "start") != self.started, chunk
        if type_ == "start":
            self.started = True
            assert set(chunk) <= {"type", "messageId"}
        elif type_ == "start-step":
            assert not self.in_step
            self.in_step, self.step = True, self.step + 1
        elif type_ == "finish-step":
            assert self.in_step
            assert not self.open
            assert all(
                c in self.complete_calls for c, step in self.calls.items() if step == self.step
            )
            self.in_step = False
        elif type_ in ("finish", "abort", "error"):
            assert not self.in_step
            assert chunk.get("finishReason", "stop") in _FINISH_REASONS
            self.ended = True
        elif type_.startswith(("text-", "reasoning-")):
            self.prose(chunk)
        elif type_.startswith("tool-"):
            assert self.version >= _SINCE.get(type_, 5), chunk
            assert set(chunk) >= _TOOL_CHUNKS[type_] | {"type"}
            assert chunk.get("dynamic", True) is True
            self.tool(chunk)
        else:
            assert type_.startswith("data-") or type_ == "message-metadata", chunk

    def prose(self, chunk: dict[str, Any]) -> None:
        assert self.in_step
        kind, _, what = chunk["type"].partition("-")
        part = chunk["id"]
        if what == "start":
            assert part not in self.used
            self.used.add(part)
            self.open[part] = kind
        else:
            assert self.open[part] == kind
            if what == "end":
                del self.open[part]
            else:
                assert chunk["delta"]
                message = part.partition(":")[0]
                self.texts[message] = self.texts.get(message, "") + chunk["delta"]

    def tool(self, chunk: dict[str, Any]) -> None:
        type_ = chunk["type"]
        if type_ == "tool-approval-response":
            assert chunk["approvalId"] in self.approvals
            return
        call = chunk["toolCallId"]
        if type_ == "tool-input-start":
            assert self.in_step
            assert call not in self.calls
            self.calls[call] = self.step
        elif type_.startswith("tool-input"):
            assert self.calls[call] == self.step
            assert self.in_step
            assert call not in self.complete_calls
            if type_ == "tool-input-delta":
                assert chunk["inputTextDelta"]
                self.inputs[call] = self.inputs.get(call, "") + chunk["inputTextDelta"]
            else:
                self.complete_calls.add(call)
        else:
            # Later argument deltas would overwrite anything else.
            assert call in self.complete_calls
            assert call not in self.results, f"twice: {chunk}"
            if type_ == "tool-approval-request":
                self.approvals.add(chunk["approvalId"])
            elif not chunk.get("preliminary"):
                self.results[call] = chunk


_AG_UI = {
    "RUN_STARTED": {"threadId", "runId"},
    "RUN_FINISHED": {"threadId", "runId"},
    "RUN_ERROR": {"message"},
    "STEP_STARTED": {"stepName"},
    "STEP_FINISHED": {"stepName"},
    "TEXT_MESSAGE_START": {"messageId", "role"},
    "TEXT_MESSAGE_CONTENT": {"messageId", "delta"},
    "TEXT_MESSAGE_END": {"messageId"},
    "REASONING_START": {"messageId"},
    "REASONING_MESSAGE_START": {"messageId", "role"},
    "REASONING_MESSAGE_CONTENT": {"messageId", "delta"},
    "REASONING_MESSAGE_END": {"messageId"},
    "REASONING_END": {"messageId"},
    "TOOL_CALL_START": {"toolCallId", "toolCallName", "parentMessageId"},
    "TOOL_CALL_ARGS": {"toolCallId", "delta"},
    "TOOL_CALL_END": {"toolCallId"},
    "TOOL_CALL_RESULT": {"messageId", "toolCallId", "content", "role"},
    "CUSTOM": {"name", "value"},
    "MESSAGES_SNAPSHOT": {"messages"},
}
_OPTIONAL = {
    "RUN_STARTED": {"protocolVersion"},
    "RUN_FINISHED": {"result", "outcome"},
    "RUN_ERROR": {"code"},
    "TOOL_CALL_END": {"metadata"},
    "TOOL_CALL_RESULT": {"metadata"},
}


class AgUiStream(Grammar):
    """A validator of AG-UI streams."""

    def __init__(self) -> None:
        super().__init__()
        self.started = False
        self.open: set[tuple[str, str]] = set()
        self.texts: dict[str, str] = {}
        self.calls: dict[str, str] = {}
        self.inputs: dict[str, str] = {}

    def check(self, payloads: Sequence[str]) -> None:
        for payload in payloads:
            self.take(self.read(payload))
        assert self.ended == self.started

    def take(self, event: dict[str, Any]) -> None:
        type_ = event["type"]
        fields = set(event) - {"type"}
        # The newer client warns about unknown fields.
        assert _AG_UI[type_] <= fields <= _AG_UI[type_] | _OPTIONAL.get(type_, set()), event
        assert self.started != (type_ == "RUN_STARTED"), event
        what, _, end = type_.rpartition("_")
        if type_ == "RUN_STARTED":
            self.started = True
        elif what == "RUN":
            assert not self.open, self.open
            self.ended = True
        elif end in ("START", "STARTED", "END", "FINISHED"):
            named = (what, event.get("stepName") or event.get("toolCallId") or event["messageId"])
            if end.startswith("START"):
                assert named not in self.open
                self.open.add(named)
            else:
                self.open.remove(named)
            if type_ == "TOOL_CALL_START":
                assert named[1] not in self.calls
                self.calls[named[1]] = event["toolCallName"]
            elif type_ == "TOOL_CALL_END":
                self.complete_calls.add(named[1])
        elif end == "CONTENT":
            assert (what, event["messageId"]) in self.open
            assert event["delta"]
            message = event["messageId"]
            self.texts[message] = self.texts.get(message, "") + event["delta"]
        elif type_ == "TOOL_CALL_ARGS":
            call = event["toolCallId"]
            assert ("TOOL_CALL", call) in self.open
            assert event["delta"]
            self.inputs[call] = self.inputs.get(call, "") + event["delta"]
        elif type_ == "TOOL_CALL_RESULT":
            assert event["toolCallId"] in self.complete_calls
            assert event["toolCallId"] not in self.results, f"twice: {event}"
            self.results[event["toolCallId"]] = event
