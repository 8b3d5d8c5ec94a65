"""What a server sends, cut where it is nested so deep that the SDK would not parse it.

One tool whose schema is nested deeper than the parser goes would cost the whole listing. Cut,
the listing is read, and the tool is left out for what stands in the place of the cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import httpx2

MAX_DEPTH = 180
"""The parser of the SDK goes to 200. No schema that is nested so deep can be used."""

CUT_MARKER = "\uffffnested too deep"
"""Stands where something was cut."""

_STRUCTURAL = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def limit_depth(text: str) -> str:
    """The JSON text, with `CUT_MARKER` in the place of what is nested deeper than `MAX_DEPTH`."""
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
        return text  # It has no end, and is no JSON anyway.
    return "".join((*kept, text[start:]))


async def limit_response_depth(response: httpx2.Response) -> None:
    """Cuts what a response will bring; a hook of an HTTP client."""
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
    """Bytes of JSON, or of events whose data is JSON."""

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
