"""Filter that validates the tools of a listing one by one, before the SDK parses the listing.

The SDK rejects a whole page of `tools/list` because of one malformed tool, and validates results
against the `outputSchema` with a validator that a hostile pattern can block forever. Therefore,
malformed tools are removed here and recorded, and output schemas are moved to a private field. The
valid tools are passed along in `_meta`, so that thousands of them are not parsed again at once.

The SDK cannot parse JSON beyond a certain depth either, so one tool with a schema nested too deep
would make the whole listing unreadable. Therefore, the depth of responses is limited, and such a
tool is removed because of the marker in its definition.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import httpx2
import mcp_types
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import methods
from pydantic import ValidationError

from ..._slices import in_slices

if TYPE_CHECKING:
    from types import TracebackType

    from mcp.client._transport import ReadStream, TransportStreams
    from typing_extensions import Self

OUTPUT_SCHEMA = "toolweave/outputSchema"
"""Key of the output schema in a tool's `_meta`."""

TOOLS = "toolweave/tools"
"""Key of the valid tools in the `_meta` of a page."""

MAX_DEFINITION_BYTES = 256 * 1024
"""Maximum size of a definition as JSON. Tools with longer ones are omitted."""

MAX_DEPTH = 180
"""Maximum depth of JSON. The parser of the SDK accepts 200; no valid schema is nested so deep."""

CUT_MARKER = "\uffffnested too deep"
"""Marker in place of a removed value."""

_STRUCTURAL = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


@dataclass(frozen=True)
class ToolProblem:
    """Problem of a tool of a server, which is omitted or changed."""

    name: str
    """Name of the tool on the server; empty if it has none."""
    message: str
    """Description of the problem."""


class ListingFilter:
    """Filter that removes malformed tools from listings.

    Args:
        version: Function that returns the negotiated version of the protocol.
    """

    def __init__(self, version: Callable[[], str]) -> None:
        self._version = version
        self.problems: list[ToolProblem] = []
        """Problems of removed tools since this list was last cleared."""

    async def process(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        """Filter a message of the server in place, and return it."""
        if isinstance(item, ValidationError):
            item = _parse_too_deep(item)
        if not isinstance(item, SessionMessage):
            return item
        message = item.message
        if not isinstance(message, mcp_types.JSONRPCResponse):
            return item
        tools = message.result.get("tools")
        if isinstance(tools, list):
            listed = cast("list[object]", tools)
            passed = [self._accept(definition) async for definition in in_slices(listed)]
            meta: object = message.result.get("_meta")
            if meta is not None and not isinstance(meta, dict):
                return item  # The SDK rejects the page.
            tools = [tool for tool in passed if tool is not None]
            message.result["_meta"] = {**cast("dict[str, object]", meta or {}), TOOLS: tools}
            # Only the fields that the SDK needs, since it parses a page at once.
            message.result["tools"] = [
                {"name": tool.name, "inputSchema": tool.input_schema} for tool in tools
            ]
        return item

    def _accept(self, definition: object) -> mcp_types.Tool | None:
        if not isinstance(definition, dict):
            self.problems.append(ToolProblem("", "its definition must be an object"))
            return None
        tool = cast("dict[str, Any]", definition)
        output_schema = tool.pop("outputSchema", None)
        passed = self._read(tool, output_schema)
        if isinstance(passed, str):
            name = tool.get("name")
            self.problems.append(ToolProblem(name if isinstance(name, str) else "", passed))
            return None
        if output_schema is not None:
            passed.meta = {**(passed.meta or {}), OUTPUT_SCHEMA: output_schema}
        return passed

    def _read(self, tool: dict[str, Any], output_schema: object) -> mcp_types.Tool | str:
        """Return the tool, or a description of its problem."""
        text = json.dumps([tool, output_schema])
        if len(text) > MAX_DEFINITION_BYTES:
            return f"its definition is longer than {MAX_DEFINITION_BYTES // 1024} KiB"
        if json.dumps(CUT_MARKER) in text:
            return f"its definition is nested too deep; at most {MAX_DEPTH} levels are read"
        # The required fields of a page.
        page = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [tool]}
        try:
            methods.validate_server_result("tools/list", self._version(), page)
            return mcp_types.Tool.model_validate(tool, by_name=False)
        except ValidationError as err:
            first = err.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(step) for step in first["loc"] if step not in ("tools", 0))
            return f"its definition is malformed at {place or 'its root'}: {first['msg']}"


def tools_of_page(page: mcp_types.ListToolsResult) -> list[mcp_types.Tool]:
    """Return the tools of a filtered page."""
    passed: object = (page.meta or {}).get(TOOLS)
    return cast("list[mcp_types.Tool]", passed) if isinstance(passed, list) else page.tools


def _parse_too_deep(error: ValidationError) -> SessionMessage | Exception:
    """Parse a message again with its depth limited, if only its nesting was too deep."""
    first = error.errors(include_url=False)[0]
    text = first["input"]
    if first["type"] != "json_invalid" or not isinstance(text, str):
        return error
    try:
        message = mcp_types.jsonrpc_message_adapter.validate_json(limit_depth(text), by_name=False)
    except ValidationError:
        return error
    if isinstance(message, mcp_types.JSONRPCResponse) and "tools" not in message.result:
        # A truncated result would look like a complete one.
        text = f"the answer is nested deeper than {MAX_DEPTH} levels"
        data = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message=text)
        return SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=message.id, error=data))
    return SessionMessage(message)


@asynccontextmanager
async def filtered(
    transport: Transport, listing_filter: ListingFilter, on_end: Callable[[], None]
) -> AsyncGenerator[TransportStreams, None]:
    """Enter a transport, and filter its incoming messages.

    Args:
        transport: Transport that has not been entered yet.
        listing_filter: Filter for each message.
        on_end: Callback for the end of the stream.
    """
    async with transport as (incoming, outgoing):
        yield _FilteredStream(incoming, listing_filter, on_end), outgoing


class _FilteredStream:
    """Stream of messages from a server that filters each of them."""

    def __init__(
        self,
        stream: ReadStream[SessionMessage | Exception],
        listing_filter: ListingFilter,
        on_end: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._filter = listing_filter
        self._on_end = on_end

    @property
    def last_context(self) -> Any:
        """Context of the sender, with which the SDK assigns messages to calls."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return await self._filter.process(await self._stream.receive())

    def __aiter__(self) -> _FilteredStream:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            item = await self._stream.__anext__()
        except BaseException:
            self._on_end()
            raise
        return await self._filter.process(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return await self._stream.__aexit__(exc_type, exc_val, exc_tb)


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
