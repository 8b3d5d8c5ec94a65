"""Logs of runs as stream events, and their encoded payloads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self


class EventLog:
    """A builder for the event log of a run."""

    def __init__(self, *, chat_id: str = "chat", run_id: str = "run") -> None:
        self.chat_id = chat_id
        self.run_id = run_id
        self.events: list[dict[str, Any]] = []

    def emit(self, kind: str, **fields: Any) -> Self:
        present = {name: value for name, value in fields.items() if value is not None}
        self.events.append(
            {
                "kind": kind,
                "chatId": self.chat_id,
                "runId": self.run_id,
                "sequenceNumber": len(self.events) + 1,
                "timestampUtc": 1_790_000_000_000 + len(self.events),
                **present,
            }
        )
        return self

    def asked(self, text: str, message_id: str = "question") -> Self:
        return self.emit("text", messageId=message_id, role="user", delta=text, done=True)

    def started(self) -> Self:
        return self.emit("run", status="started")

    def finished(self, stop_reason: str = "completed", error: str | None = None) -> Self:
        return self.emit("run", status="finished", stopReason=stop_reason, error=error)

    def text(self, generation: str, number: int, *pieces: str, done: bool = True) -> Self:
        return self._prose("text", generation, number, pieces, done=done)

    def reasoning(self, generation: str, number: int, *pieces: str, done: bool = True) -> Self:
        return self._prose("reasoning", generation, number, pieces, done=done)

    def _prose(
        self, kind: str, generation: str, number: int, pieces: Iterable[str], *, done: bool
    ) -> Self:
        *before, last = pieces
        for piece in before:
            self._piece(kind, generation, number, piece, done=False)
        return self._piece(kind, generation, number, last, done=done)

    def _piece(self, kind: str, generation: str, number: int, delta: str, *, done: bool) -> Self:
        return self.emit(
            kind,
            messageId=f"{generation}.{number}",
            generationId=generation,
            role="assistant",
            delta=delta,
            done=done,
        )

    def fragment(
        self,
        generation: str,
        index: int | None,
        *,
        call_id: str | None = None,
        name: str | None = None,
        arguments: str | None = None,
    ) -> Self:
        update = {
            "toolCallId": call_id,
            "index": index,
            "functionName": name,
            "functionArgs": arguments,
        }
        return self.emit(
            "tools_call_update",
            messageId=f"{generation}.calls",
            generationId=generation,
            role="assistant",
            toolCallUpdates=[{key: value for key, value in update.items() if value is not None}],
        )

    def calls(self, generation: str, *calls: dict[str, Any]) -> Self:
        return self.emit(
            "tools_call",
            messageId=f"{generation}.calls",
            generationId=generation,
            role="assistant",
            toolCalls=list(calls),
        )

    def result(
        self,
        generation: str,
        call_id: str,
        result: str,
        *,
        error: str | None = None,
        done: bool = True,
    ) -> Self:
        return self.emit(
            "tool_result",
            messageId=f"{generation}.calls_result_{call_id}",
            generationId=generation,
            toolCallId=call_id,
            result=result,
            isError=error is not None,
            errorCode=error,
            done=done,
        )

    def state(self, generation: str, call_id: str, state: str, **fields: Any) -> Self:
        return self.emit(
            "tool_state",
            messageId=f"{generation}.calls",
            generationId=generation,
            toolCallId=call_id,
            state=state,
            **fields,
        )

    def usage(self, generation: str, inputs: int, outputs: int) -> Self:
        return self.emit(
            "usage",
            messageId=f"{generation}.usage",
            generationId=generation,
            inputTokens=inputs,
            outputTokens=outputs,
            cachedInputTokens=0,
        )

    def scene(self, status: str, **fields: Any) -> Self:
        return self.emit("scene", step={"status": status, **fields})


def call(
    call_id: str,
    name: str,
    arguments: dict[str, Any] | None = None,
    *,
    index: int = 0,
    invalid: str | None = None,
) -> dict[str, Any]:
    """Return a call in wire format."""
    written: dict[str, Any] = {
        "toolCallId": call_id,
        "name": name,
        "arguments": arguments or {},
        "index": index,
    }
    if invalid is not None:
        written["invalid"] = {"reason": "invalid_arguments", "message": invalid}
    return written


def encode(encoder: Any, events: Iterable[dict[str, Any]]) -> list[str]:
    """Return all payloads of a stream."""
    payloads = [payload for event in events for payload in encoder.encode(event)]
    return [*payloads, *encoder.close()]


def chunks(payloads: Iterable[str]) -> list[dict[str, Any]]:
    """Return the payloads as clients parse them."""
    return [json.loads(payload) for payload in payloads if payload != "[DONE]"]


def types(payloads: Iterable[str]) -> list[str]:
    """Return the types of the chunks of a stream, in order."""
    return [
        "[DONE]" if payload == "[DONE]" else json.loads(payload)["type"] for payload in payloads
    ]


def framed(payloads: Iterable[str]) -> str:
    """Return the payloads as a server sends them: with ids and keep-alive comments."""
    return "".join(
        f"id: {number}\ndata: {payload}\n\n: still here\n\n"
        for number, payload in enumerate(payloads, 1)
    )
