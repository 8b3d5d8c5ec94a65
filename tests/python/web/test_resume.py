"""Resumed streams: from any event, in any process and at any speed, nothing is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from chat_servers import (
    QUICK,
    TEST_TIMEOUT,
    Event,
    all_events,
    app_of,
    events,
    finished,
    lines,
    new_chat,
    numbers,
    on_a_server,
    say,
    serve,
    serve_agent,
    soon,
    text_of,
    until,
)
from effort import effort
from toolweave import Agent, Message
from toolweave.web import WebLimits

WORDS = [f"word{number} " for number in range(16)]


async def talkative(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
    """Model that writes many words, each of which is an event or part of one."""
    for number, word in enumerate(WORDS):
        yield word
        if number % 4 == 0:
            yield '<note>{"text": "' + word.strip() + '"}</note>'
            # Let other tasks run.
            await asyncio.sleep(0.002)


async def note(text: str) -> str:
    """Note a text."""
    return f"noted {text}"


def agent() -> Agent:
    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:
        if len(messages) > 2:
            yield "Done."
            return
        async for piece in talkative(messages):
            yield piece

    return Agent(model, [note])


async def read_in_pieces(
    clients: Sequence[httpx.AsyncClient], chat: str, cuts: Sequence[int], *, header: bool
) -> list[Event]:
    """Read a chat in parts of so many events each, every part from another server."""
    received: list[Event] = []
    for number, cut in enumerate([*cuts, 1_000_000]):
        client = clients[number % len(clients)]
        last = str(received[-1]["sequenceNumber"] if received else 0)
        headers, query = ({"Last-Event-ID": last}, "") if header else ({}, f"?after={last}")
        async with client.stream("GET", f"{chat}/events{query}", headers=headers) as response:
            if response.status_code == 204:
                continue
            taken = 0
            async for line in lines(response):
                received.append(json.loads(line.data))
                assert line.id == received[-1]["sequenceNumber"]
                taken += 1
                if taken > cut:
                    break
    return received


def test_wherever_a_client_is_cut_off_it_reads_exactly_the_log(tmp_path: Path) -> None:
    # Few events are buffered, so that slow clients read from the store.
    limits = WebLimits(batch=0.001, buffered_events=5, shutdown_grace=0.0, requests=None)
    loop = asyncio.new_event_loop()

    def wait(coroutine: Coroutine[Any, Any, Any]) -> Any:
        return loop.run_until_complete(asyncio.wait_for(coroutine, TEST_TIMEOUT))

    servers = AsyncExitStack()
    clients = [
        wait(servers.enter_async_context(serve_agent(tmp_path, agent(), limits=limits)))
        for _ in range(2)
    ]

    @settings(max_examples=effort(10), phases=[Phase.generate])
    @given(cuts=st.lists(st.integers(0, 12), max_size=8), header=st.booleans())
    def law(cuts: list[int], header: bool) -> None:
        async def check() -> None:
            chat = await new_chat(clients[0])
            await say(clients[0], chat, "Talk!")
            received = await read_in_pieces(clients, chat, cuts, header=header)
            assert numbers(received) == list(range(1, len(received) + 1))
            assert received == await all_events(clients[1], chat)
            assert received[-1]["stopReason"] == "completed"
            assert text_of(received) == "".join(WORDS) + "Done."

        wait(check())

    try:
        law()
    finally:
        wait(servers.aclose())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


@on_a_server
async def test_another_process_streams_an_active_run(tmp_path: Path) -> None:
    go = [asyncio.Event() for _ in range(3)]

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        for number, each in enumerate(go):
            yield f"{number} "
            await soon(each)

    both = Agent(model)
    async with serve_agent(tmp_path, both) as client, serve(app_of(tmp_path, both)) as other:
        chat = await new_chat(client)
        await say(client, chat, "Count!")
        reading = events(other, chat)
        text = ""
        for number, each in enumerate(go):
            while not text.endswith(f"{number} "):
                event = await asyncio.wait_for(anext(reading), TEST_TIMEOUT)
                text += event.get("delta", "") if event.get("role") == "assistant" else ""
            each.set()
        rest = [event async for event in reading]
        assert rest[-1]["stopReason"] == "completed"


@on_a_server
async def test_a_client_that_reads_nothing_does_not_delay_the_run(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        await soon(go)
        for _ in range(400):
            yield "x" * 10_000
            await asyncio.sleep(0)

    limits = WebLimits(batch=0.0, buffered_events=10, buffered_bytes=50_000, requests=None)
    async with serve_agent(tmp_path, Agent(model), limits=limits) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Talk!")
        host, port = client.base_url.host, client.base_url.port
        reader, writer = await asyncio.open_connection(host, port, limit=1024)
        writer.write(f"GET {chat}/events HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        await writer.drain()
        await reader.readuntil(b"\r\n\r\n")
        go.set()
        # The run ends although the client has read nothing of it.
        await finished(client, chat, accepted["runId"])
        # The client then gets all of it.
        body = b""
        while b'"finished"' not in body:
            piece = await asyncio.wait_for(reader.read(1 << 20), TEST_TIMEOUT)
            assert piece
            body += piece
        writer.close()
        received = [
            json.loads(line[6:])
            for line in _unchunked(body).split("\n")
            if line.startswith("data: ")
        ]
        assert received == await all_events(client, chat)
        assert len(text_of(received)) == 4_000_000


def _unchunked(body: bytes) -> str:
    """Return the text of a body with chunked transfer encoding."""
    text, at = b"", 0
    while at < len(body):
        size, _, _ = body[at:].partition(b"\r\n")
        start = at + len(size) + 2
        text += body[start : start + int(size, 16)]
        at = start + int(size, 16) + 2
    return text.decode()


@on_a_server
async def test_a_silent_stream_sends_heartbeats(tmp_path: Path) -> None:
    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        await asyncio.Event().wait()
        raise AssertionError

    limits = WebLimits(heartbeat=0.02, retry=2.5, shutdown_grace=0.0, requests=None)
    async with serve_agent(tmp_path, Agent(model), limits=limits) as client:
        chat = await new_chat(client)
        await say(client, chat, "Well?")
        comments, seen = 0, ""
        async with client.stream("GET", f"{chat}/events") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            assert response.headers["x-accel-buffering"] == "no"
            assert "no-transform" in response.headers["cache-control"]
            async for piece in response.aiter_text():
                seen += piece
                comments = sum(line.startswith(":") for line in seen.split("\n"))
                if comments > 2:
                    break
        assert seen.startswith("retry: 2500\n\n")


@on_a_server
async def test_text_comes_in_batches_and_results_at_once(tmp_path: Path) -> None:
    entered, go = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Wait."""
        entered.set()
        await soon(go)
        return "ready"

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:
        if len(messages) > 2:
            yield "Done."
            return
        for word in ("I ", "will ", "wait. "):
            yield word
            await asyncio.sleep(0)
        yield "<wait>{}</wait>"

    # Without other events, text would be stored after an hour.
    limits = WebLimits(batch=3600.0, requests=None)
    async with serve_agent(tmp_path, Agent(model, [wait]), limits=limits) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Well?")
        await soon(entered)
        go.set()
        await until(client, chat, "tool_result", done=True)
        await finished(client, chat, accepted["runId"])
        received = await all_events(client, chat)
        texts = [
            event["delta"]
            for event in received
            if event["kind"] == "text" and event["role"] == "assistant" and event.get("delta")
        ]
        assert [text.strip() for text in texts] == ["I will wait.", "Done."]


@on_a_server
async def test_a_deleted_chat_ends_its_streams(tmp_path: Path) -> None:
    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        return "Yes."

    async with serve_agent(tmp_path, Agent(model), limits=QUICK) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Well?")
        await finished(client, chat, accepted["runId"])
        following = events(client, chat, follow=True)
        assert (await anext(following))["kind"] == "text"
        assert (await client.delete(chat)).status_code == 204
        rest = [event async for event in following]
        assert rest[-1]["kind"] == "run"
        assert (await client.get(f"{chat}/events")).status_code == 404
