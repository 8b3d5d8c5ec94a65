"""Depth limit for the JSON of a server, which the SDK cannot parse beyond a certain depth.

Without it, one tool with a schema nested too deep makes the whole listing unreadable. With it, the
listing can be parsed, and the tool is omitted because of the marker in its definition.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import httpx2

MAX_DEPTH = 180
"""Maximum depth of JSON. The parser of the SDK accepts 200; no valid schema is nested so deep."""

CUT_MARKER = "\uffffnested too deep"
"""Marker in place of a removed value."""

_STRUCTURAL = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def limit_depth(text: str) -> str:
    """Return the JSON text with `CUT_MARKER` in place of values nested deeper than `MAX_DEPTH`."""
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return text
    kept: list[str] = []
    level = start = 0
    for found in _STRUCTURAL.finditer(text):
        if found[0] in "[{":
            level += 1
            if level == MAX_DEPTH + 1:
                kept += (text[start : found.start()], json.dumps(CUT_MARKER))
        elif found[0] in "]}":
            if level == MAX_DEPTH + 1:
                start = found.end()
            level -= 1
    if level > MAX_DEPTH:
        return text  # It is incomplete, and therefore not JSON.
    return "".join((*kept, text[start:]))


async def limit_response_depth(response: httpx2.Response) -> None:
    """Limit the depth of a response; a hook of an HTTP client."""
    if "content-encoding" in response.headers or not isinstance(
        response.stream, httpx2.AsyncByteStream
    ):
        return
    content_type = response.headers.get("content-type", "").lower()
    if content_type.startswith("application/json"):
        response.headers.pop("content-length", None)
        response.stream = _DepthLimitedStream(response.stream, by_line=False)
    elif content_type.startswith("text/event-stream"):
        response.stream = _DepthLimitedStream(response.stream, by_line=True)


class _DepthLimitedStream(httpx2.AsyncByteStream):
    """Stream of JSON, or of events with JSON data, with limited depth."""

    def __init__(self, stream: httpx2.AsyncByteStream, *, by_line: bool) -> None:
        self._stream = stream
        self._by_line = by_line

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held: list[bytes] = []
        async for chunk in self._stream:
            whole, newline, rest = chunk.rpartition(b"\n")
            if not self._by_line or not newline:
                held.append(chunk)
                continue
            lines = b"".join((*held, whole, newline)).split(b"\n")
            yield b"\n".join(map(_limit_bytes, lines))
            held = [rest]
        if any(held):
            yield _limit_bytes(b"".join(held))

    async def aclose(self) -> None:
        await self._stream.aclose()


def _limit_bytes(data: bytes) -> bytes:
    if data.count(b"{") + data.count(b"[") <= MAX_DEPTH:
        return data
    return limit_depth(data.decode(errors="replace")).encode()
