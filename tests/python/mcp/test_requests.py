"""A call of a tool is one request to its server, whatever was listed, called or changed before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.client import Transport
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.runner import serve_loop
from mcp.shared.memory import create_client_server_memory_streams

from effort import effort
from toolweave import ToolCall, ToolResult
from toolweave.executor import ToolExecutor
from toolweave.integrations.mcp import MCPTools

NAMES = ("add", "look", "pay")
LISTENING = "subscriptions/listen"

tools = st.dictionaries(st.sampled_from(NAMES), st.booleans())
"""Tools of a server by name; true for those with an output schema."""
steps = st.lists(
    st.tuples(st.just("call"), st.sampled_from(NAMES))
    | st.tuples(st.just("at once"), st.sampled_from(NAMES))
    | st.tuples(st.sampled_from(["announced", "unannounced"]), tools)
    | st.just(("refresh", "")),
    max_size=8,
)


class CountedServer:
    """An SDK server in this process that records its requests.

    Args:
        listed: Its tools, in addition to one that changes them.
    """

    def __init__(self, listed: dict[str, bool]) -> None:
        self.asked: list[str] = []
        self.listening = asyncio.Event()
        self.next_tools: dict[str, bool] | None = None
        self._server = MCPServer("counted", log_level="ERROR")
        self._server._lowlevel_server.middleware.append(self._count)
        self._listed: dict[str, bool] = {}

        @self._server.tool()
        async def change(ctx: Context) -> str:
            self.list(self.next_tools or {})
            if str(ctx.protocol_version) >= "2026":
                await ctx.notify_tools_changed()
            else:
                await ctx.session.send_tool_list_changed()
            return "changed"

        self.list(listed)

    def list(self, listed: dict[str, bool]) -> None:
        for name in self._listed:
            self._server.remove_tool(name)
        for name, is_structured in listed.items():

            def run(number: int = 0) -> dict[str, int]:
                return {"number": number}

            self._server.add_tool(run, name=name, structured_output=is_structured)
        self._listed = dict(listed)

    async def _count(self, ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        if ctx.method == LISTENING:
            self.listening.set()
        elif ctx.request_id is not None:
            self.asked.append(ctx.method)
        return await call_next(ctx)

    @asynccontextmanager
    async def transport(self, era: Literal["modern", "legacy"]) -> AsyncGenerator[Any, None]:
        server = self._server._lowlevel_server
        async with create_client_server_memory_streams() as (client_streams, (incoming, outgoing)):

            async def serve() -> None:
                if era == "modern":
                    options = server.create_initialization_options()
                    await server.run(incoming, outgoing, options)
                else:
                    await serve_loop(server, incoming, outgoing, lifespan_state=None)

            async with anyio.create_task_group() as group:
                group.start_soon(serve)
                yield client_streams
                await client_streams[1].aclose()
                await outgoing.aclose()
                group.cancel_scope.cancel()


def connected(server: CountedServer, era: Literal["modern", "legacy"]) -> MCPTools:
    def transport() -> Transport:
        return server.transport(era)

    return MCPTools(
        "counted",
        transport,
        prefix="",
        include=None,
        connect_timeout=30.0,
        reconnect=False,
        options={},
    )


async def result_of(executor: ToolExecutor, *names: str) -> tuple[ToolResult, ...]:
    calls = [ToolCall(f"call_{n}", name, {}, index=n) for n, name in enumerate(names)]
    return (await executor.execute(calls)).tool_results


@pytest.mark.parametrize("era", ["modern", "legacy"])
@settings(max_examples=effort(15))
@given(listed=tools, script=steps)
def test_a_call_is_one_request(
    era: Literal["modern", "legacy"], listed: dict[str, bool], script: list[tuple[str, Any]]
) -> None:
    async def main() -> None:
        server = CountedServer(listed)
        async with connected(server, era) as found:
            executor = ToolExecutor(found)
            if era == "modern":
                await server.listening.wait()  # Changes before that are not announced.
                await asyncio.sleep(0)
            known = {**listed, "change": True}
            assert {tool.name for tool in found} == known.keys()
            for kind, what in script:
                server.asked.clear()
                match kind:
                    case "call" | "at once":
                        names = [what] if kind == "call" else [*known, what]
                        await result_of(executor, *(n for n in names if n != "change"))
                        sent = [name for name in names if name in known and name != "change"]
                        assert server.asked == ["tools/call"] * len(sent)
                    case "announced":
                        server.next_tools = what
                        [result] = await result_of(executor, "change")
                        assert result.result == "changed"
                        assert sorted(server.asked) == ["tools/call", "tools/list"]
                        known = {**what, "change": True}
                        assert {tool.name for tool in found} == known.keys()
                    case "unannounced":
                        server.list(what)
                        assert server.asked == []
                    case _:
                        await found.refresh()
                        assert server.asked == ["tools/list"]
                        known = {tool.name: True for tool in found}

    asyncio.run(main())
