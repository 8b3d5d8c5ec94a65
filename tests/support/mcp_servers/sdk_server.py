"""A typical third-party server, written with the SDK's high-level API.

Run as `sdk_server.py stdio`, as `sdk_server.py legacy` to support, as most servers do, only the
versions of the protocol before 2026, or as `sdk_server.py http PORT`: it prints the port.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from mcp.server.mcpserver import (
    AcceptedElicitation,
    Context,
    Elicit,
    ElicitationResult,
    Image,
    MCPServer,
    Resolve,
)
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

server = MCPServer(
    "everything",
    instructions="Ask for anything.",
    log_level="ERROR",
)
seen: list[dict[str, Any]] = []


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    seen.append({"a": a, "b": b})
    return a + b


@server.tool()
def calls() -> int:
    """Return the number of additions."""
    return len(seen)


class Weather(BaseModel):
    city: str
    degrees: float


@server.tool()
def weather(city: Annotated[str, Field(min_length=2)]) -> Weather:
    """Look up the weather."""
    return Weather(city=city, degrees=8.5)


@server.tool(structured_output=False)
def picture() -> list[Any]:
    """Draw."""
    return ["Here it is:", Image(data=b"\x89PNG1234", format="png")]


@server.tool()
def fail(message: str) -> str:
    """Fail."""
    raise ToolError(message)


@server.tool()
async def count(up_to: int, ctx: Context) -> str:
    """Count, and report progress."""
    for number in range(1, up_to + 1):
        await ctx.report_progress(number, up_to, f"at {number}")
    return "done"


@server.tool()
async def wait(marker: str) -> str:
    """Wait forever, and leave a mark when cancelled."""
    mark = Path(marker).write_text
    try:
        mark("waiting", encoding="utf-8")
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        mark("cancelled", encoding="utf-8")
        raise
    return "never"


@server.tool()
async def learn(word: str, ctx: Context) -> str:
    """Add another tool."""

    def learned(text: str) -> str:
        return text.upper()

    server.add_tool(learned, name=word, description="Shouts.")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return f"learned {word}"


@server.tool()
def header(name: str, ctx: Context) -> str:
    """Return a header of the request."""
    return (ctx.headers or {}).get(name, "not sent")


class Size(BaseModel):
    size: int


def ask_size() -> Elicit[Size]:
    return Elicit("How large?", Size)


@server.tool()
async def order(answer: Annotated[ElicitationResult[Size], Resolve(ask_size)]) -> str:
    """Ask the user."""
    if isinstance(answer, AcceptedElicitation):
        return f"ordered size {answer.data.size}"
    return answer.action


class Barrier:
    """A barrier for two calls."""

    def __init__(self) -> None:
        self._there = 0
        self._both = asyncio.Event()

    async def wait(self) -> None:
        self._there += 1
        if self._there == 2:
            self._both.set()
        await self._both.wait()


asking, answered = Barrier(), Barrier()


@server.tool()
async def order_for_two(ctx: Context) -> str:
    """Ask the user once called twice, and end once both calls have an answer."""
    await asking.wait()
    try:
        answer = await ctx.elicit("How large?", Size)
    finally:
        await answered.wait()
    return answer.action


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def look(ctx: Context) -> str:
    """Look, without changing anything."""
    return str(ctx.protocol_version)


async def serve_older_clients() -> None:
    lowlevel = server._lowlevel_server
    async with stdio_server() as (incoming, outgoing):
        await serve_loop(lowlevel, incoming, outgoing, lifespan_state=None)


async def serve_http(port: int) -> None:
    listening = socket.create_server(("127.0.0.1", port))
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    if sys.argv[1] == "legacy":
        asyncio.run(serve_older_clients())
    elif sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        asyncio.run(serve_http(int(sys.argv[2])))
