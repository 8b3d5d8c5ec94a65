"""Replies as the server-sent events of each provider."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"


def openai_chunk(*choices: dict[str, Any], **more: Any) -> bytes:
    chunk = {"id": "r1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**chunk, "choices": choices, **more}).encode() + b"\n\n"


def delta(finish: str | None = None, /, **fields: Any) -> bytes:
    """Return a chunk with one choice."""
    return openai_chunk({"index": 0, "delta": fields, "finish_reason": finish})


def call(index: int | None = 0, *, arguments: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return a fragment of a native call: ``id``, ``name``, and its arguments."""
    function = {"name": fields.pop("name", None), "arguments": arguments}
    fragment = {"index": index, "type": "function", "function": function, **fields}
    return {key: value for key, value in fragment.items() if value is not None}


def openai_usage(prompt: int, completion: int, cached: int = 0) -> bytes:
    details = {"cached_tokens": cached}
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": 0}
    return openai_chunk(usage={**usage, "prompt_tokens_details": details})


def openai_text(pieces: Iterable[str], finish: str = "stop") -> list[bytes]:
    """Return a text reply, with usage 7 (2 cached) and 5."""
    events = [delta(role="assistant", content="")] + [delta(content=piece) for piece in pieces]
    return [*events, delta(finish), openai_usage(7, 5, 2), DONE]


def openai_calls(calls: Sequence[tuple[str, str, Sequence[str]]]) -> list[bytes]:
    """Return a reply of native calls: id, name and argument pieces of each."""
    events = []
    for index, (identity, name, pieces) in enumerate(calls):
        events.append(delta(tool_calls=[call(index, id=identity, name=name, arguments="")]))
        events += [delta(tool_calls=[call(index, arguments=piece)]) for piece in pieces]
    return [*events, delta("tool_calls"), openai_usage(7, 5, 2), DONE]


def anthropic_event(kind: str, **fields: Any) -> bytes:
    data = json.dumps({"type": kind, **fields})
    return f"event: {kind}\ndata: {data}\n\n".encode()


def anthropic_start(**usage: int) -> bytes:
    counts = {"input_tokens": 4, "output_tokens": 1, **usage}
    message = {"id": "m1", "type": "message", "role": "assistant", "content": [], "model": "m"}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": counts}
    return anthropic_event("message_start", message=message)


def anthropic_block(
    index: int, block: dict[str, Any], deltas: Iterable[dict[str, Any]]
) -> list[bytes]:
    return [
        anthropic_event("content_block_start", index=index, content_block=block),
        *(anthropic_event("content_block_delta", index=index, delta=delta) for delta in deltas),
        anthropic_event("content_block_stop", index=index),
    ]


def anthropic_end(reason: str, output_tokens: int = 5) -> list[bytes]:
    ended = {"stop_reason": reason, "stop_sequence": None}
    usage = {"output_tokens": output_tokens}
    return [
        anthropic_event("message_delta", delta=ended, usage=usage),
        anthropic_event("message_stop"),
    ]


def anthropic_text(pieces: Iterable[str], finish: str = "end_turn") -> list[bytes]:
    """Return a text reply, with usage 7 (2 cached, 1 written to the cache) and 5."""
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    start = anthropic_start(cache_read_input_tokens=2, cache_creation_input_tokens=1)
    block = anthropic_block(0, {"type": "text", "text": ""}, deltas)
    return [start, *block, *anthropic_end(finish)]


def anthropic_calls(calls: Sequence[tuple[str, str, Sequence[str]]]) -> list[bytes]:
    """Return a reply of native calls after a text, as `openai_calls`."""
    events = [anthropic_start(cache_read_input_tokens=2, cache_creation_input_tokens=1)]
    events += anthropic_block(0, {"type": "text", "text": ""}, [])
    for index, (identity, name, pieces) in enumerate(calls, 1):
        block = {"type": "tool_use", "id": identity, "name": name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        events += anthropic_block(index, block, deltas)
    return [*events, *anthropic_end("tool_use")]
