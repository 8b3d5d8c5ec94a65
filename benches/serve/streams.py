"""Streams of chat completions, read with as little work as possible."""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

from endpoint import wire
from serve.servers import MODEL

TIMEOUT = 120.0
"""Seconds for a whole stream."""
_FIRST_TOKEN = re.compile(rb'"content": ?"[^"]')
TOOL = {
    "type": "function",
    "function": {
        "name": wire.CALL_NAME,
        "description": "Get the current weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"location": {"type": "string"}, "call": {"type": "integer"}},
            "required": ["location", "call"],
        },
    },
}


@dataclass(frozen=True)
class Reply:
    """Text and calls of a stream."""

    text: str
    calls: list[tuple[str, Any]]
    """Name and parsed arguments of each call."""


@dataclass
class Stream(asyncio.Protocol):
    """Connection that sends a request and collects the response."""

    request: bytes
    received: bytearray = field(default_factory=bytearray)
    asked_at: float = 0.0
    first_at: float | None = None
    """Time at which the first token was received."""

    def __post_init__(self) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.begun = asyncio.Event()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.asked_at = time.perf_counter()
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.received += data
        if self.first_at is None and _FIRST_TOKEN.search(self.received):
            self.first_at = time.perf_counter()
            self.begun.set()
        if self.received.endswith(wire.END) and not self.ended.done():
            self.ended.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            message = f"the connection was lost after {bytes(self.received[-500:])!r}: {exc}"
            self.ended.set_exception(ConnectionError(message))
        self.begun.set()

    async def begin(self) -> None:
        """Wait for the first token."""
        await asyncio.wait_for(self.begun.wait(), TIMEOUT)
        if self.first_at is None:
            await self.ended

    async def reply(self) -> Reply:
        """Wait for the end, close the connection, and read the response."""
        await asyncio.wait_for(self.ended, TIMEOUT)
        self.close()
        return parsed(bytes(self.received))

    def close(self) -> None:
        """Close the connection."""
        if self.transport is not None:
            self.transport.abort()
        if self.ended.done():
            self.ended.exception()
        else:
            self.ended.cancel()


async def opened(port: int, group: str, *, with_tools: bool) -> Stream:
    """Open a stream of a group of replies."""
    body: dict[str, Any] = {
        "model": MODEL,
        "stream": True,
        "messages": [{"role": "user", "content": f"What is the weather? group:{group}"}],
    }
    if with_tools:
        body["tools"] = [TOOL]
    data = json.dumps(body).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
        "authorization: Bearer unused\r\ncontent-type: application/json\r\n"
        f"content-length: {len(data)}\r\n\r\n"
    )
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(
        lambda: Stream(head.encode() + data), "127.0.0.1", port
    )
    return stream


def parsed(response: bytes) -> Reply:
    """Return the reply of a response.

    Raises:
        ValueError: It is not a whole stream of chat completions.
    """
    head, _, body = response.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        message = f"the response is {response[:500]!r}"
        raise ValueError(message)
    events = [event for event in unframed(body).decode().split("\n\n") if event]
    if events.pop() != "data: [DONE]":
        message = f"the response ends with {response[-500:]!r}"
        raise ValueError(message)
    text = ""
    calls: dict[int, list[str]] = {}
    for event in events:
        for choice in json.loads(event.removeprefix("data: "))["choices"]:
            delta = choice["delta"]
            text += delta.get("content") or ""
            for part in delta.get("tool_calls") or []:
                call = calls.setdefault(part["index"], ["", ""])
                call[0] += part["function"].get("name") or ""
                call[1] += part["function"].get("arguments") or ""
    return Reply(text, [(name, json.loads(arguments)) for name, arguments in calls.values()])


def unframed(body: bytes) -> bytes:
    """Return the data of a body in the chunks of HTTP/1.1."""
    data = bytearray()
    at = 0
    while True:
        end = body.index(b"\r\n", at)
        size = int(body[at:end], 16)
        if size == 0:
            return bytes(data)
        data += body[end + 2 : end + 2 + size]
        at = end + 2 + size + 2
