"""Chat servers on the loopback, and clients that read their streams."""

from __future__ import annotations

import asyncio
import functools
import json
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette

from toolweave import Agent
from toolweave.store import MessageStore
from toolweave.web import AgentResponder, WebLimits, chat_app

TEST_TIMEOUT = 20.0
"""Seconds until a waiting test fails."""

QUICK = WebLimits(batch=0.005, shutdown_grace=0.0, requests=None)
"""Limits with short delays, for tests."""

Event = dict[str, Any]


@asynccontextmanager
async def serve(app: Starlette) -> AsyncIterator[httpx.AsyncClient]:
    """Serve an application as in production, and yield a client of it."""
    # With the protocol named, the loop disables Nagle's algorithm, which costs 40 ms a request.
    with socket.socket(proto=socket.IPPROTO_TCP) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", 0))
        # Clients that connect before the server is ready wait in the backlog.
        bound.listen(256)
        config = uvicorn.Config(app, lifespan="on", log_config=None, timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        task = asyncio.get_running_loop().create_task(server.serve(sockets=[bound]))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        try:
            async with httpx.AsyncClient(base_url=url, timeout=TEST_TIMEOUT) as client:
                yield client
        finally:
            server.should_exit = True
            await asyncio.wait_for(task, TEST_TIMEOUT)


def app_of(path: Path, agent: Agent, **options: Any) -> Starlette:
    """Return the application of an agent, with a store in a file."""
    store = MessageStore(f"sqlite:///{path / 'chats.db'}", poll=0.02)
    return chat_app(store, AgentResponder(agent), **{"limits": QUICK, **options})


@asynccontextmanager
async def serve_agent(path: Path, agent: Agent, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Serve an agent, and yield a client."""
    async with serve(app_of(path, agent, **options)) as client:
        yield client


async def new_chat(client: httpx.AsyncClient, **headers: str) -> str:
    """Create a chat and return its address."""
    answer = await client.post("/chats", json={}, headers=headers)
    assert answer.status_code == 201, answer.text
    return f"/chats/{answer.json()['chatId']}"


async def say(client: httpx.AsyncClient, chat: str, text: str, **more: str) -> Event:
    """Post a message and return the server's response."""
    answer = await client.post(f"{chat}/messages", json={"text": text, **more})
    assert answer.status_code == 202, answer.text
    body: Event = answer.json()
    return body


@dataclass
class Line:
    """One event of a stream, unparsed."""

    id: int | None
    data: str


async def lines(response: httpx.Response) -> AsyncIterator[Line]:
    """Yield the events of a stream as they arrive."""
    number: int | None = None
    data: list[str] = []
    async for line in response.aiter_lines():
        if line.startswith("id: "):
            number = int(line[4:])
        elif line.startswith("data: "):
            data.append(line[6:])
        elif not line:
            if data:
                yield Line(number, "\n".join(data))
            number, data = None, []


async def events(
    client: httpx.AsyncClient, chat: str, after: int = 0, *, follow: bool = False
) -> AsyncIterator[Event]:
    """Yield the events of a chat as they arrive."""
    address = f"{chat}/events?after={after}&follow={int(follow)}"
    async with client.stream("GET", address) as response:
        if response.status_code == 204:
            return
        assert response.status_code == 200, (await response.aread()).decode()
        async for line in lines(response):
            event: Event = json.loads(line.data)
            assert line.id == event["sequenceNumber"]
            yield event


async def all_events(client: httpx.AsyncClient, chat: str, after: int = 0) -> list[Event]:
    """Return the events of a chat up to the end of its last run."""

    async def read() -> list[Event]:
        return [event async for event in events(client, chat, after)]

    return await asyncio.wait_for(read(), TEST_TIMEOUT)


async def until(
    client: httpx.AsyncClient, chat: str, kind: str, after: int = 0, **fields: object
) -> Event:
    """Return the first event of a kind with certain fields."""

    async def read() -> Event:
        async for event in events(client, chat, after, follow=True):
            if event["kind"] == kind and fields.items() <= event.items():
                return event
        raise AssertionError(f"the stream ended without {kind} {fields}")

    return await asyncio.wait_for(read(), TEST_TIMEOUT)


async def finished(client: httpx.AsyncClient, chat: str, run_id: str) -> Event:
    """Return the terminal event of a run."""
    return await until(client, chat, "run", runId=run_id, status="finished")


def text_of(events: Sequence[Event], role: str = "assistant") -> str:
    """Return the text of a role in some events."""
    return "".join(
        event.get("delta", "")
        for event in events
        if event["kind"] == "text" and event.get("role", "assistant") == role
    )


def numbers(events: Sequence[Event]) -> list[int]:
    """Return the sequence numbers of events."""
    return [event["sequenceNumber"] for event in events]


async def soon(happening: asyncio.Event) -> None:
    """Wait for an event that the test expects."""
    await asyncio.wait_for(happening.wait(), TEST_TIMEOUT)


def on_a_server(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on a new event loop, with a timeout."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 2 * TEST_TIMEOUT))

    return run
