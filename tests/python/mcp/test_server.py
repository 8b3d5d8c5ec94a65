"""A toolset served to MCP clients: that of the SDK, and that of toolweave."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import httpx2
import mcp_types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext, IncomingMessage

from mcp_processes import SERVE_TOOLS, SERVERS, appears, toolweave_server
from toolweave import ToolCall, ToolResult, cli
from toolweave.executor import ToolExecutor, ToolProgress
from toolweave.integrations.mcp import connect_http, connect_stdio

Mode: TypeAlias = Literal["auto", "legacy"]
WAYS = [("stdio", "auto"), ("stdio", "legacy"), ("http", "auto"), ("http", "legacy")]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with toolweave_server() as url:
        yield url


@asynccontextmanager
async def client_of(way: str, url: str, mode: Mode, **options: Any) -> AsyncIterator[Client]:
    stdio = StdioServerParameters(command=sys.executable, args=SERVE_TOOLS, cwd=SERVERS)
    async with Client(url if way == "http" else stdio, mode=mode, cache=None, **options) as client:
        yield client


def content_of(result: mcp_types.CallToolResult) -> tuple[bool, str, Any]:
    (part,) = result.content
    assert isinstance(part, mcp_types.TextContent)
    return result.is_error, part.text, result.structured_content


@pytest.mark.parametrize(("way", "mode"), WAYS)
def test_a_client_of_the_sdk_is_served(way: str, mode: Mode, url: str) -> None:
    shown: list[tuple[float, float | None, str | None]] = []

    async def show(progress: float, total: float | None, message: str | None) -> None:
        shown.append((progress, total, message))

    async def main() -> None:
        async with client_of(way, url, mode) as client:
            assert client.server_info is not None
            assert client.server_info.name == "toolweave"
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["add"].description == "Add two numbers."
            assert tools["add"].input_schema["required"] == ["a", "b"]
            assert tools["add"].output_schema is None
            assert tools["draw"].output_schema == {"type": "object"}
            counts = tools["count"].annotations
            assert counts is not None
            assert counts.idempotent_hint

            async def call(name: str, **arguments: Any) -> tuple[bool, str, Any]:
                return content_of(await client.call_tool(name, arguments, progress_callback=show))

            assert await call("add", a=1, b=2) == (False, "3", None)
            before = await call("additions")
            wrong = (True, "Invalid arguments for tool 'add': /a: \"x\" is not an integer", None)
            assert await call("add", a="x", b=2) == wrong
            assert await call("additions") == before
            oslo = {"city": "Oslo", "degrees": 8.5}
            assert await call("weather", city="Oslo") == (
                False,
                '{"city":"Oslo","degrees":8.5}',
                oslo,
            )
            assert shown == []
            assert (await call("count", up_to=2))[1] == "done"
            assert shown == [(1, None, "at 1"), (2, None, "at 2"), (3, None, "done")]
            assert await call("fail", message="no luck") == (
                True,
                "Error executing tool: no luck",
                None,
            )
            failed, text, _ = await call("nowhere")
            assert failed
            assert text.startswith("Tool 'nowhere' not found. Available tools: add")
            failed, text, _ = await call("launch")
            assert failed
            assert "not approved" in text
            failed, text, _ = await call("draw")
            assert failed
            assert text.endswith("does not fit its own schema: the value: [1,2] is not an object")
            assert (await call("print_something"))[1] == "printed"

    asyncio.run(main())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_that_cancels_cancels_the_tool(mode: Mode, url: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"

    async def main() -> None:
        async with client_of("http", url, mode) as client:
            waiting = asyncio.create_task(client.call_tool("wait", {"marker": str(marker)}))
            assert await asyncio.to_thread(appears, marker, "waiting")
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await asyncio.to_thread(appears, marker, "cancelled")

    asyncio.run(main())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_is_notified_of_tools_that_a_call_has_added(mode: Mode, url: str) -> None:
    changes_seen: asyncio.Queue[None] = asyncio.Queue()

    async def on_message(message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            changes_seen.put_nowait(None)

    async def learn(client: Client) -> None:
        word = f"yell_{mode}"
        await client.call_tool("learn", {"word": word})
        await asyncio.wait_for(changes_seen.get(), 5)
        assert content_of(await client.call_tool(word, {"text": "hey"}))[1] == "HEY"

    async def main() -> None:
        async with client_of("http", url, mode, message_handler=on_message) as client:
            changes = client.server_capabilities.tools
            assert changes is not None
            assert changes.list_changed
            if mode == "legacy":
                await learn(client)
            else:
                async with client.listen(tools_list_changed=True):
                    await learn(client)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (mcp_types.ElicitResult(action="accept", content={"answer": 4}), "ordered size 4"),
        (mcp_types.ElicitResult(action="decline"), "The user did not want to answer"),
        (
            mcp_types.ElicitResult(action="accept", content={"answer": 0}),
            "The user's answer does not fit the question",
        ),
    ],
    ids=["answers", "declines", "answers nonsense"],
)
def test_a_tool_asks_the_user_of_the_client(
    answer: mcp_types.ElicitResult, expected: str, url: str
) -> None:
    async def elicit(
        _: ClientRequestContext, question: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult:
        assert question.message == "How large?"
        return answer

    async def main() -> None:
        async with client_of("http", url, "legacy", elicitation_callback=elicit) as client:
            assert expected in content_of(await client.call_tool("order"))[1]

    asyncio.run(main())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_without_questions_is_not_asked(mode: Mode, url: str) -> None:
    async def main() -> None:
        async with client_of("http", url, mode) as client:
            failed, text, _ = content_of(await client.call_tool("order"))
            assert failed
            assert "The user cannot be asked over this connection" in text

    asyncio.run(main())


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_our_client_is_served_as_if_the_tools_were_here(way: str, url: str) -> None:
    async def main() -> None:
        here = (
            connect_http(url)
            if way == "http"
            else connect_stdio(sys.executable, SERVE_TOOLS, cwd=SERVERS)
        )
        async with here as tools:
            calls = [
                ToolCall("a", "add", {"a": 1, "b": 2}),
                ToolCall("b", "weather", {"city": "Oslo"}),
                ToolCall("c", "count", {"up_to": 1}),
                ToolCall("d", "fail", {"message": "no luck"}),
            ]
            events = [event async for event in ToolExecutor(tools).stream(calls)]
            results = {e.tool_call_id: e for e in events if isinstance(e, ToolResult)}
            assert [results[name].result for name in "abcd"] == [
                "3",
                '{"city":"Oslo","degrees":8.5}',
                "done",
                "Error executing tool: no luck",
            ]
            assert results["b"].value == {"city": "Oslo", "degrees": 8.5}
            progress = [event.value for event in events if isinstance(event, ToolProgress)]
            assert progress == [
                {"progress": 1.0, "message": "at 1"},
                {"progress": 2.0, "message": "done"},
            ]

    asyncio.run(main())


def test_a_page_of_another_host_is_not_served(url: str) -> None:
    for header in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        response = httpx2.post(url, headers=header, json={})
        assert response.status_code in (403, 421)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such_module"], "module 'no_such_module' cannot be imported"),
        (["json:nothing"], "module 'json' has no 'nothing'"),
        (["json"], "module 'json' has no tools: decorate functions with @tool"),
        (["json:loads"], "json:loads cannot be served: tools must be a list"),
        (["json", "--http", "somewhere"], "--http must be a port or HOST:PORT, got 'somewhere'"),
    ],
)
def test_the_command_says_what_it_cannot_serve(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["mcp", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"toolweave mcp: {message}")
