"""Tools of MCP servers run like local tools. The servers use the API of the SDK."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_processes import SDK_SERVER, appears, is_alive, plain_server, sdk_server
from toolweave import ToolCall, ToolResult
from toolweave.exceptions import ToolServerError
from toolweave.executor import ToolExecutor, ToolProgress, ToolQuestion
from toolweave.integrations.mcp import MCPTools, connect_http, connect_stdio

PLAN = {
    "pages": [
        {
            "tools": [
                {"name": name, "inputSchema": {"type": "object"}}
                for name in ("pid", "die", "environment")
            ]
        }
    ]
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with sdk_server() as (url, _):
        yield url


@asynccontextmanager
async def connected(transport: str, url: str, **options: Any) -> AsyncIterator[MCPTools]:
    tools = (
        connect_http(url, **options)
        if transport == "http"
        else connect_stdio(sys.executable, [SDK_SERVER, transport], **options)
    )
    async with tools:
        yield tools


async def result_of(
    executor: ToolExecutor, name: str, arguments: Mapping[str, Any] | None = None
) -> ToolResult:
    aggregate = await executor.execute([ToolCall("call_0", name, arguments or {})])
    (result,) = aggregate.tool_results
    return result


@pytest.mark.parametrize("transport", ["http", "stdio", "legacy"])
def test_the_tools_of_a_server_answer_like_local_tools(transport: str, url: str) -> None:
    async def main() -> None:
        async with connected(transport, url) as tools:
            assert tools.connected
            assert tools.problems == ()
            assert tools.instructions == "Ask for anything."
            executor = ToolExecutor(tools)
            added = await result_of(executor, "add", {"a": 1, "b": 2})
            assert (added.value, added.result, added.is_error) == (3, "3", False)
            weather = await result_of(executor, "weather", {"city": "Oslo"})
            assert weather.value == {"city": "Oslo", "degrees": 8.5}
            picture = await result_of(executor, "picture")
            assert picture.result == "Here it is:\n[image: image/png, 8 bytes]"
            failed = await result_of(executor, "fail", {"message": "no luck"})
            assert (failed.result, failed.error_code) == (
                "Error executing tool fail: no luck",
                "tool_error",
            )
        assert not tools.connected

    asyncio.run(main())


async def named(tools: MCPTools, name: str) -> None:
    """Wait until there is a tool of that name."""
    while name not in tools:  # noqa: ASYNC110 - there is no event
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("transport", ["http", "stdio", "legacy"])
def test_progress_questions_and_changes_come_through(transport: str, url: str) -> None:
    async def main() -> None:
        async with connected(transport, url) as tools:
            executor = ToolExecutor(tools)
            shown = [
                event.value
                async for event in executor.stream([ToolCall("c", "count", {"up_to": 2})])
                if isinstance(event, ToolProgress)
            ]
            assert shown == [
                {"progress": 1.0, "total": 2.0, "message": "at 1"},
                {"progress": 2.0, "total": 2.0, "message": "at 2"},
            ]
            answers: list[str] = []
            async for event in executor.stream([ToolCall("o", "order", {})]):
                if isinstance(event, ToolQuestion):
                    assert event.question == "How large?"
                    executor.resolve(event.key, {"size": 4})
                if isinstance(event, ToolResult):
                    answers.append(event.result)
            assert answers == ["ordered size 4"]
            # A call adds a tool; over HTTP, the notification has a separate connection.
            word, add = f"shout_{transport}", tools.get("add")
            await result_of(executor, "learn", {"word": word})
            await asyncio.wait_for(named(tools, word), 20)
            assert (await result_of(executor, word, {"text": "hey"})).result == "HEY"
            assert tools.get("add") is add

    asyncio.run(main())


def test_a_user_who_does_not_answer_has_declined(url: str) -> None:
    async def main() -> None:
        async with connect_http(url) as tools:
            executor = ToolExecutor(tools)
            async for event in executor.stream([ToolCall("o", "order", {})]):
                if isinstance(event, ToolQuestion):
                    executor.resolve(event.key, "not now", is_error=True)
                if isinstance(event, ToolResult):
                    assert event.result == "decline"

    asyncio.run(main())


def test_a_question_that_could_belong_to_several_calls_is_not_asked() -> None:
    async def main() -> None:
        async with connected("legacy", "") as tools:
            executor = ToolExecutor(tools)
            calls = [ToolCall(str(number), "order_for_two", {}) for number in range(2)]
            events = [event async for event in executor.stream(calls)]
            assert not any(isinstance(event, ToolQuestion) for event in events)
            texts = [event.result for event in events if isinstance(event, ToolResult)]
            assert len(texts) == 2
            assert all("the question belongs to none" in text for text in texts)

    asyncio.run(main())


def test_arguments_that_do_not_fit_are_never_sent(url: str) -> None:
    async def main() -> None:
        async with connect_http(url) as tools:
            executor = ToolExecutor(tools)
            before = (await result_of(executor, "calls")).value
            for wrong in ({"a": 1, "b": "2"}, {"a": 1}, {"a": 1.5, "b": 2}):
                assert (await result_of(executor, "add", wrong)).error_code == "invalid_arguments"
            assert (await result_of(executor, "calls")).value == before

    asyncio.run(main())


@pytest.mark.parametrize("transport", ["http", "legacy"])
def test_a_call_that_takes_too_long_is_cancelled_at_the_server(
    transport: str, url: str, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"

    async def main() -> None:
        async with connected(transport, url) as tools:
            executor = ToolExecutor(tools)
            waiting = asyncio.create_task(result_of(executor, "wait", {"marker": str(marker)}))
            assert await asyncio.to_thread(appears, marker, "waiting")
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await asyncio.to_thread(appears, marker, "cancelled")
            assert (await result_of(executor, "add", {"a": 1, "b": 1})).value == 2

    asyncio.run(main())


def test_many_calls_share_a_connection(url: str) -> None:
    async def main() -> None:
        async with connect_http(url) as tools:
            executor = ToolExecutor(tools)
            calls = [ToolCall(str(n), "add", {"a": n, "b": n}) for n in range(50)]
            aggregate = await executor.execute(calls)
            assert [result.value for result in aggregate.tool_results] == [2 * n for n in range(50)]

    asyncio.run(main())


def test_a_server_that_dies_in_a_call_is_restarted_for_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with plain_server(PLAN, tmp_path) as tools:
            executor = ToolExecutor(tools)
            first = int((await result_of(executor, "pid")).result)
            died = await result_of(executor, "die")
            assert died.result == (
                "MCP server 'plain' broke off while the tool was running; whether the tool "
                "has done its work is not known"
            )
            assert not tools.connected
            second = int((await result_of(executor, "pid")).result)
            assert second != first
            assert tools.connected
        assert not is_alive(first)
        assert not is_alive(second)

    with caplog.at_level(logging.INFO, logger="toolweave.mcp"):
        asyncio.run(main())
    records = [record for record in caplog.records if record.name == "toolweave.mcp"]
    assert [record.getMessage() for record in records] == ["connecting again"]
    assert vars(records[0])["server"] == "plain"


def test_a_server_is_not_started_again_unless_it_may_be(tmp_path: Path) -> None:
    async def main() -> None:
        async with plain_server(PLAN, tmp_path, reconnect=False) as tools:
            executor = ToolExecutor(tools)
            await result_of(executor, "die")
            after = await result_of(executor, "pid")
            assert after.result == "MCP server 'plain' is not connected any more"

    asyncio.run(main())


def test_a_server_over_http_may_restart() -> None:
    async def main() -> None:
        with sdk_server() as (url, process):
            tools = await connect_http(url, name="web").__aenter__()
            executor = ToolExecutor(tools)
            assert (await result_of(executor, "add", {"a": 1, "b": 2})).value == 3
            process.kill()
            process.wait()
            for _ in range(2):
                gone = await result_of(executor, "add", {"a": 1, "b": 2})
                assert gone.error_code == "tool_error"
                assert gone.result.startswith("MCP server 'web' ")
        with sdk_server(int(url.rpartition(":")[2].partition("/")[0])):
            assert (await result_of(executor, "add", {"a": 2, "b": 2})).value == 4
            await tools.__aexit__(None, None, None)

    asyncio.run(main())


def test_a_connection_may_be_left_in_another_task_than_it_was_made_in(tmp_path: Path) -> None:
    async def main() -> None:
        tools = plain_server(PLAN, tmp_path)
        await asyncio.create_task(tools.__aenter__())
        pid = int((await result_of(ToolExecutor(tools), "pid")).result)
        assert is_alive(pid)
        await asyncio.create_task(tools.__aexit__(None, None, None))
        assert not is_alive(pid)

    asyncio.run(main())


def test_no_process_is_left_when_the_caller_is_cancelled(tmp_path: Path) -> None:
    async def main() -> None:
        pid: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def work() -> None:
            async with plain_server(PLAN, tmp_path) as tools:
                pid.set_result(int((await result_of(ToolExecutor(tools), "pid")).result))
                await asyncio.Event().wait()

        working = asyncio.create_task(work())
        assert is_alive(await pid)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert not is_alive(await pid)

    asyncio.run(main())


def test_tools_can_be_chosen_and_get_a_prefix(url: str) -> None:
    async def main() -> None:
        async with connect_http(url, prefix="web", include=["add", "fail"], timeout=7) as tools:
            assert [tool.name for tool in tools] == ["web_add", "web_fail"]
            added = tools.get("web_add")
            assert added is not None
            assert added.timeout == 7
            assert added.metadata["mcp"]["tool"] == "add"
            assert (await result_of(ToolExecutor(tools), "web_add", {"a": 1, "b": 2})).value == 3
        harmless = connect_http(
            url, include=lambda tool: bool(tool.annotations and tool.annotations.read_only_hint)
        )
        async with harmless as tools:
            assert [(tool.name, tool.idempotent) for tool in tools] == [("look", True)]

    asyncio.run(main())


def test_a_server_gets_our_headers_over_http_and_no_environment_but_its_own(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "ours")

    async def main() -> None:
        async with connect_http(url, headers={"x-token": "t0ken"}) as tools:
            got = await result_of(ToolExecutor(tools), "header", {"name": "x-token"})
            assert got.result == "t0ken"
        async with plain_server(PLAN, tmp_path, env={"GIVEN": "this"}) as tools:
            environment = await result_of(ToolExecutor(tools), "environment")
            assert environment.result == '{"GIVEN": "this", "SECRET": null}'

    asyncio.run(main())


def test_local_tools_can_be_added_to_those_of_the_server(url: str) -> None:
    async def main() -> None:
        async with connect_http(url, include=["add"]) as tools:

            def double(number: int) -> int:
                return 2 * number

            tools.add(double)
            await tools.refresh()
            assert [tool.name for tool in tools] == ["add", "double"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["no-such-command-anywhere"], "cannot be connected to: [Errno 2] No such file"),
        ([sys.executable, "-c", "pass"], "cannot be connected to: Connection closed"),
        ([sys.executable, "-c", "input()\ninput()"], "did not answer within 0.5 seconds"),
    ],
    ids=["missing", "ends at once", "silent"],
)
def test_a_program_that_is_not_a_server_is_an_error_that_says_so(
    command: list[str], message: str
) -> None:
    async def main() -> None:
        timeout = 0.5 if "within" in message else 10.0
        tools = connect_stdio(command[0], command[1:], name="it", connect_timeout=timeout)
        with pytest.raises(ToolServerError) as caught:
            await tools.__aenter__()
        assert str(caught.value).startswith(f"MCP server 'it' {message}")
        assert caught.value.server == "it"

    asyncio.run(main())


def test_an_unreachable_url_is_an_error_that_says_so() -> None:
    async def main() -> None:
        with pytest.raises(ToolServerError, match="cannot be connected to"):
            await connect_http("http://127.0.0.1:9/mcp").__aenter__()

    asyncio.run(main())


def test_a_missing_sdk_is_an_error_that_says_so() -> None:
    program = "import sys; sys.modules['mcp'] = None; import toolweave.integrations.mcp"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False
    )
    assert "pip install 'toolweave[mcp]'" in done.stderr


def test_import_toolweave_does_not_import_the_sdk() -> None:
    program = "import sys, toolweave, toolweave.cli; assert 'mcp' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
