"""Bytes of OpenAI's chat completions, as the server sends them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from replies import PROSE, cut, repeated

HEAD = (
    b"HTTP/1.1 200 OK\r\n"
    b"date: Sun, 22 Nov 2026 12:00:00 GMT\r\n"
    b"content-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n"
    b"cache-control: no-cache\r\n"
    b"openai-version: 2020-10-01\r\n"
    b"openai-processing-ms: 212\r\n"
    b"x-request-id: req_3f1c0a5b8f0f4be6a6f1f3f9d1d5c9a2\r\n"
    b"x-ratelimit-remaining-requests: 9999\r\n\r\n"
)
END = b"0\r\n\r\n"
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
CALL_NAME = "GetWeather"
RESULT = "12 degrees, as was looked up"
"""Result of the tool, by which the server recognises requests with results."""
_ENVELOPE = {
    "id": "chatcmpl-CfT4gQ8vJpIYh2n1yQ0b6mXwWvS3r",
    "object": "chat.completion.chunk",
    "created": 1795348800,
    "model": "gpt-4o-2024-08-06",
    "service_tier": "default",
    "system_fingerprint": "fp_cbf1785567",
}
_USAGE = {
    "prompt_tokens": 212,
    "completion_tokens": 200,
    "total_tokens": 412,
    "prompt_tokens_details": {"cached_tokens": 128, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
}


@dataclass(frozen=True)
class Piece:
    """Data that is written at once."""

    data: bytes
    call: int | None = None
    """Number of the call that ends in it, if its time is recorded."""


@dataclass(frozen=True)
class Script:
    """Reply: data that is sent at once, then a piece per tick."""

    first: bytes
    pieces: list[Piece]

    def whole(self) -> bytes:
        """Return the whole reply."""
        return self.first + b"".join(piece.data for piece in self.pieces)


def event(choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
    """Return an event in its own HTTP chunk; about 300 bytes for a token."""
    body = {**_ENVELOPE, "choices": choices, "usage": usage, "obfuscation": "hq0Ewz3"}
    data = b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"
    return framed(data)


def framed(data: bytes) -> bytes:
    """Return data as a chunk of HTTP/1.1."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Return the only choice of a chunk."""
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def token(text: str) -> bytes:
    """Return a chunk with a token of text."""
    return event([choice({"content": text})])


def call_part(function: dict[str, str], identity: dict[str, str] | None = None) -> bytes:
    """Return a chunk with a part of a native call; the first part has its id and type."""
    return event([choice({"tool_calls": [{"index": 0, **(identity or {}), "function": function}]})])


def script(
    tokens: list[str], calls: dict[int, int] | None = None, *, native: Sequence[str] = ()
) -> Script:
    """Return a reply of tokens; `calls` maps positions of tokens that end a call to its number.

    `native` are the tokens of the arguments of a native call at the end, if there is one.
    """
    numbers = calls or {}
    opening = event([choice({"role": "assistant", "content": "", "refusal": None})])
    pieces = [Piece(token(text), numbers.get(at)) for at, text in enumerate(tokens)]
    if native:
        identity = {"id": "call_5Zt8mQ2vXc1LrYk0WbN7sJ4p", "type": "function"}
        pieces.append(Piece(call_part({"name": CALL_NAME, "arguments": ""}, identity)))
        pieces += [Piece(call_part({"arguments": text})) for text in native]
    end = event([choice({}, "tool_calls" if native else "stop")])
    closing = end + event([], _USAGE) + framed(b"data: [DONE]\n\n") + END
    # The first token comes with the head, so that a client knows that its stream has started.
    first = HEAD + opening + pieces.pop(0).data
    return Script(first, [*pieces, Piece(closing)])


def call_text(number: int) -> str:
    """Return a call with its own number."""
    return f"<{CALL_NAME}>{call_arguments(number)}</{CALL_NAME}>"


def call_arguments(number: int) -> str:
    """Return the arguments of a call with its own number."""
    return f'{{"location": "Oslo", "call": {number}}}'


def reply_tokens(count: int) -> list[str]:
    """Return prose with a call in the middle, in `count` tokens of four characters."""
    call = call_text(0)
    around = 4 * count - len(call)
    before = repeated(PROSE, around // 2)
    return cut(before + call + repeated(PROSE, around - around // 2, start=around // 2))


def text_tokens(form: str, count: int) -> list[str]:
    """Return the tokens of the text of a reply with `count` tokens.

    In the form `call` a call is in the middle of the text, in `native` the reply ends with a native
    call, and `prose` has none.
    """
    if form == "call":
        return reply_tokens(count)
    native = len(cut(call_arguments(0))) if form == "native" else 0
    return cut(repeated(PROSE, 4 * (count - native)))


def form_script(form: str, count: int) -> Script:
    """Return a reply of one of these forms."""
    native = cut(call_arguments(0)) if form == "native" else []
    return script(text_tokens(form, count), native=native)


def spread_script(first_call: int, calls: int, between: int, offset: int) -> Script:
    """Return a reply with several calls, each after `between` tokens of prose.

    The closing brace and the closing tag of a call are in one token, since a call is complete with
    its tag. `offset` is the number of additional tokens of prose before the first call.
    """
    tokens = cut(repeated(PROSE, 4 * (offset + 1)))
    ends: dict[int, int] = {}
    for number in range(first_call, first_call + calls):
        tokens += cut(repeated(PROSE, 4 * between))
        body, closing = call_text(number).split("}", 1)
        tokens += [*cut(body), "}" + closing]
        ends[len(tokens) - 1] = number
    tokens += cut(repeated(PROSE, 4 * (between - offset)))
    return script(tokens, ends)


def completion(text: str) -> bytes:
    """Return a whole reply that is not streamed."""
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    body = {
        **_ENVELOPE,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": _USAGE,
    }
    return answer(json.dumps(body).encode())


def answer(body: bytes) -> bytes:
    """Return a JSON body with its head."""
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )
