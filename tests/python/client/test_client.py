"""Both chat clients against a real server: the same scenarios and the same log."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from chat_clients import FLAVOURS, Client, Events, chat_client
from chat_servers import QUICK, all_events, on_a_server, serve_agent, text_of
from cutting_proxy import cutting
from toolweave import Agent, Deferred, Message, ToolContext, tool
from toolweave.client import AsyncChatClient, AsyncChatEvents, ChatClient, ChatEvents
from toolweave.exceptions import ChatRequestError
from toolweave.lifecycle import StreamReducer
from toolweave.testing import ScriptedModel
from toolweave.web import WebLimits, ask_in_chat

flavours = pytest.mark.parametrize("flavour", FLAVOURS)
SOON = WebLimits(batch=0.001, shutdown_grace=0.0, requests=None, retry=0.001, heartbeat=0.02)
SEPARATORS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def model(messages: Sequence[Message]) -> AsyncIterator[str]:
    if "</tool_response>" in getattr(messages[-1], "text", ""):
        for number in range(20):
            yield f"It{SEPARATORS}is {number} "
    else:
        yield 'Let me see. <add>{"a": 2, "b": 3}</add>'


async def key_of(events: Events, state: str) -> str:
    """Wait for a state of a call, and return the key for its answer."""
    async for event in events:
        if event["kind"] == "tool_state" and event["state"] == state and "key" in event:
            return str(event["key"])
    raise AssertionError("no answer is pending")


async def rest(events: Events) -> list[Any]:
    return [event async for event in events]


@flavours
@on_a_server
async def test_following_yields_the_log_and_its_snapshot(tmp_path: Path, flavour: str) -> None:
    async with (
        serve_agent(tmp_path, Agent(model, [add]), limits=SOON) as server,
        chat_client(flavour, server.base_url) as client,
    ):
        chat = await client.start(chat_id=f"mine-{flavour}", metadata={"title": "Sums"})
        assert chat == f"mine-{flavour}"
        receipt = await client.send(chat, f"2{SEPARATORS}+ 3?", message_id="m1")
        events = client.follow(chat)
        received = await rest(events)
        assert received == await all_events(server, f"/chats/{chat}")
        assert text_of(received, "user") == f"2{SEPARATORS}+ 3?"
        whole = StreamReducer()
        for event in received:
            whole.push(event)
        assert events.snapshot() == await client.snapshot(chat) == whole.snapshot()
        assert events.last_sequence_number == received[-1]["sequenceNumber"]
        # The same message again starts no run, and adds no events.
        assert await client.send(chat, f"2{SEPARATORS}+ 3?", message_id="m1") == receipt
        assert await rest(client.follow(chat, after=events.last_sequence_number)) == []


@pytest.mark.parametrize("length", [40, 300, 1500])
@flavours
@on_a_server
async def test_wherever_the_connection_breaks_exactly_the_log_is_read(
    tmp_path: Path, flavour: str, length: int
) -> None:
    async with serve_agent(tmp_path, Agent(model, [add]), limits=SOON) as server:
        async with chat_client(flavour, server.base_url) as client:
            chat = await client.start()
            await client.send(chat, "2 + 3?")
        # Every connection of this client is cut while the run continues.
        async with (
            cutting(server.base_url, length) as (url, proxy),
            chat_client(flavour, url, retries=20) as client,
        ):
            events = client.follow(chat)
            received = await rest(events)
        assert proxy.cuts > 1
        assert received == await all_events(server, f"/chats/{chat}")
        assert events.snapshot()["missing"] == []


@flavours
@on_a_server
async def test_a_client_that_disconnects_resumes_with_its_reducer(
    tmp_path: Path, flavour: str
) -> None:
    async with (
        serve_agent(tmp_path, Agent(model, [add]), limits=SOON) as server,
        chat_client(flavour, server.base_url) as client,
    ):
        chat = await client.start()
        await client.send(chat, "2 + 3?")
        reducer = StreamReducer()
        received: list[Any] = []
        for _ in range(3):
            events = client.follow(chat, reducer=reducer)
            received += [await anext(events), await anext(events)]
            await events.aclose()
        received += await rest(client.follow(chat, reducer=reducer))
        assert received == await all_events(server, f"/chats/{chat}")
        assert reducer.missing == []


@flavours
@on_a_server
async def test_a_run_is_stopped(tmp_path: Path, flavour: str) -> None:
    entered = asyncio.Event()

    async def wait() -> None:
        """Wait."""
        entered.set()
        await asyncio.Event().wait()

    agent = Agent(ScriptedModel("<wait>{}</wait>"), [wait])
    async with (
        serve_agent(tmp_path, agent, limits=SOON) as server,
        chat_client(flavour, server.base_url) as client,
    ):
        chat = await client.start()
        receipt = await client.send(chat, "Wait!")
        await asyncio.wait_for(entered.wait(), 10)
        with pytest.raises(ChatRequestError) as caught:
            await client.send(chat, "And now?")
        assert (caught.value.status, caught.value.code) == (409, "chat_busy")
        assert await client.stop(chat, receipt.run_id) is True
        snapshot = await client.snapshot(chat)
        assert [run["stopReason"] for run in snapshot["runs"]] == ["cancelled"]
        assert await client.stop(chat, receipt.run_id) is False
        with pytest.raises(ChatRequestError) as caught:
            await client.stop(chat, "none")
        assert (caught.value.status, caught.value.code) == (404, "unknown_run")


@pytest.mark.parametrize("approved", [True, False])
@flavours
@on_a_server
async def test_a_call_is_approved_or_denied(tmp_path: Path, flavour: str, approved: bool) -> None:
    deleted: list[str] = []

    @tool(requires_approval=True)
    async def delete(path: str) -> str:
        """Delete a file."""
        deleted.append(path)
        return f"{path} is gone"

    replies = ScriptedModel('<delete>{"path": "notes"}</delete>', "Done.")
    agent = Agent(replies, [delete], approver=ask_in_chat)
    async with (
        serve_agent(tmp_path, agent, limits=SOON) as server,
        chat_client(flavour, server.base_url) as client,
    ):
        chat = await client.start()
        await client.send(chat, "Clean up!")
        events = client.follow(chat)
        key = await key_of(events, "awaiting_approval")
        reason = None if approved else "It is mine."
        assert await client.approve(chat, key, approved, reason=reason) == "resolved"
        received = await rest(events)
        [result] = [event for event in received if event["kind"] == "tool_result" and event["done"]]
        assert deleted == (["notes"] if approved else [])
        assert result.get("errorCode") == (None if approved else "denied")
        assert await client.approve(chat, key, approved, reason=reason) == "duplicate"
        for key_, code, status in ((key, "conflict", 409), ("none/of these", "not_found", 404)):
            with pytest.raises(ChatRequestError) as caught:
                await client.approve(chat, key_, not approved)
            assert (caught.value.status, caught.value.code) == (status, code)


@flavours
@on_a_server
async def test_questions_and_late_results_are_answered(tmp_path: Path, flavour: str) -> None:
    @tool
    async def pick(ctx: ToolContext) -> str:
        """Ask for a size."""
        schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
        return str(await ctx.ask("Which size?", schema))

    @tool
    async def order() -> Deferred:
        """Order shoes."""
        return Deferred(key=f"order/{flavour} 1")

    replies = ScriptedModel("<pick>{}</pick>", "<order>{}</order>", "All is there.", "Bye.")
    async with (
        serve_agent(tmp_path, Agent(replies, [pick, order]), limits=SOON) as server,
        chat_client(flavour, server.base_url) as client,
    ):
        chat = await client.start()
        await client.send(chat, "Shoes!")
        events = client.follow(chat)
        key = await key_of(events, "awaiting_answer")
        with pytest.raises(ChatRequestError) as caught:
            await client.answer(chat, key, {"size": "large"})
        assert (caught.value.status, caught.value.code) == (422, "unusable")
        assert await client.answer(chat, key, {"size": 42}) == "resolved"
        await rest(events)
        assert await client.answer(chat, f"order/{flavour} 1", "It is here.") == "resolved"
        snapshot = await client.snapshot(chat)
        calls = [call for each in snapshot["messages"] for call in each.get("toolCalls", ())]
        assert [call["result"] for call in calls] == ["{'size': 42}", "It is here."]
        assert snapshot["messages"][-1]["text"] == "All is there."
        # The chat continues without a new message.
        assert (await client.send(chat)).message_id is None
        assert (await client.snapshot(chat))["messages"][-1]["text"] == "Bye."


@flavours
@on_a_server
async def test_heartbeats_keep_a_silent_run_open_and_further_runs_are_followed(
    tmp_path: Path, flavour: str
) -> None:
    go = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        await go.wait()
        return "over"

    agent = Agent(ScriptedModel("<wait>{}</wait>", "It is over.", "Again."), [wait])
    async with (
        serve_agent(tmp_path, agent, limits=SOON) as server,
        chat_client(flavour, server.base_url, timeout=5.0, retries=0) as client,
    ):
        chat = await client.start()
        await client.send(chat, "Wait!")
        events = client.follow(chat, further_runs=True)
        async for event in events:
            if event["kind"] == "tool_state" and event["state"] == "running":
                break
        asyncio.get_running_loop().call_later(0.1, go.set)
        ends = 0
        async for event in events:
            if event["kind"] == "run" and event["status"] == "finished":
                ends += 1
                if ends == 2:
                    break
                await client.send(chat, "Once more!")
        await events.aclose()
        assert events.snapshot()["messages"][-1]["text"] == "Again."


@flavours
@on_a_server
async def test_headers_identify_users_and_unknown_chats_are_errors(
    tmp_path: Path, flavour: str
) -> None:
    def user(request: Any) -> str | None:
        found: str | None = request.headers.get("x-user")
        return found

    agent = Agent(ScriptedModel("Hi."))
    async with serve_agent(tmp_path, agent, limits=QUICK, authenticate=user) as server:
        async with chat_client(flavour, server.base_url) as client:
            with pytest.raises(ChatRequestError, match="failed with status 401"):
                await client.start()
        async with chat_client(flavour, server.base_url, headers={"x-user": "ann"}) as client:
            chat = await client.start()
            await client.send(chat, "Hello!")
            assert (await client.snapshot(chat))["messages"][-1]["text"] == "Hi."
            with pytest.raises(ChatRequestError) as caught:
                await rest(client.follow("none"))
            assert (caught.value.status, caught.value.code) == (404, "unknown_chat")


@flavours
@on_a_server
async def test_an_unreachable_server_is_an_error_that_names_its_url(flavour: str) -> None:
    async with chat_client(flavour, "http://127.0.0.1:9", retries=1) as client:
        asks: list[Any] = [client.start, lambda: client.send("c", "Hi"), lambda: follow(client)]
        for ask in asks:
            with pytest.raises(ChatRequestError, match=r"http://127\.0\.0\.1:9/chats") as caught:
                await ask()
            assert caught.value.code == "unreachable"
            assert isinstance(caught.value.__cause__, httpx.ConnectError)


async def follow(client: Client) -> None:
    await rest(client.follow("c"))


def test_both_flavours_have_the_same_methods() -> None:
    for blocking, asynchronous in ((ChatClient, AsyncChatClient), (ChatEvents, AsyncChatEvents)):
        names = [
            {each.replace("aclose", "close") for each in vars(cls) if not each.startswith("_")}
            for cls in (blocking, asynchronous)
        ]
        assert names[0] == names[1]
        for name in names[0] - {"close", "last_sequence_number"}:
            one, other = (inspect.signature(getattr(cls, name)) for cls in (blocking, asynchronous))
            assert one.parameters == other.parameters
            assert getattr(blocking, name).__doc__ == getattr(asynchronous, name).__doc__


def test_without_httpx_the_extra_is_named_and_the_package_does_not_load_it() -> None:
    program = (
        "import sys, toolweave, toolweave.lifecycle; assert 'httpx' not in sys.modules;"
        "sys.modules['httpx'] = None; import toolweave.client"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False
    )
    assert "pip install 'toolweave[client]'" in done.stderr
