"""Chat servers in killable processes, clients that reconnect, and checks of their chats."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
from typing_extensions import Self

from chat_servers import Event, lines, numbers
from event_snapshots import FINAL, calls_of, snapshot_of
from toolweave import to_anthropic, to_openai
from toolweave.store import MessageStore

SERVERS = Path(__file__).parent / "servers"
TEST_TIMEOUT = 90.0
"""Seconds until a waiting test fails."""


class FaultServer:
    """A process of `fault_server.py`.

    Args:
        config: Fields of its `Config`.
    """

    def __init__(self, **config: Any) -> None:
        command = [sys.executable, str(SERVERS / "fault_server.py"), json.dumps(config)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        self.url = ""

    async def open(self) -> None:
        """Wait until it accepts requests."""
        self.url = f"http://127.0.0.1:{int(await self.line())}"

    async def line(self) -> str:
        """Return the next line that it prints."""
        assert self.process.stdout is not None
        line = await asyncio.wait_for(asyncio.to_thread(self.process.stdout.readline), TEST_TIMEOUT)
        assert line, "the server has died"
        return line.strip()

    async def held(self, count: int) -> list[str]:
        """Wait until so many runs hold, and return the names of their points."""
        found: list[str] = []
        while len(found) < count:
            kind, *rest = (await self.line()).split()
            if kind == "held":
                found.append(rest[-1])
        return found

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


@asynccontextmanager
async def serving(**config: Any) -> AsyncIterator[FaultServer]:
    """Run a server, and kill it at the end unless it is already dead."""
    server = FaultServer(**config)
    try:
        await server.open()
        yield server
    finally:
        server.kill()


class Site:
    """The server of the chats, which changes when another one takes over.

    Args:
        url: URL of the server.
    """

    def __init__(self, url: str) -> None:
        self.client = httpx.AsyncClient(
            timeout=TEST_TIMEOUT, limits=httpx.Limits(max_connections=None)
        )
        self.url = url

    async def new_chat(self) -> str:
        """Create a chat and return its id."""
        answer = await self.client.post(f"{self.url}/chats", json={})
        assert answer.status_code == 201, answer.text
        chat: str = answer.json()["chatId"]
        return chat

    async def post(self, chat: str, **plan: Any) -> httpx.Response:
        """Request a run."""
        body = {"text": json.dumps(plan)}
        return await self.client.post(f"{self.url}/chats/{chat}/messages", json=body)

    async def say(self, chat: str, **plan: Any) -> Event:
        """Request a run and check that it is accepted."""
        answer = await self.post(chat, **plan)
        assert answer.status_code == 202, answer.text
        body: Event = answer.json()
        return body

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()


class Follower:
    """A client of a chat that reconnects after every disconnect, with the last id it has seen.

    Args:
        site: Server of the chat.
        chat: Id of the chat.
    """

    def __init__(self, site: Site, chat: str) -> None:
        self.chat = chat
        self.events: list[Event] = []
        self.connections = 0
        self._site = site
        self._changed = asyncio.Event()

    async def until(self, is_it: Callable[[Event], bool]) -> Event:
        """Read until a matching event arrives, and return it."""

        async def read() -> Event:
            while True:
                try:
                    async for event in self.connected():
                        self.events.append(event)
                        self._changed.set()
                        if is_it(event):
                            return event
                except httpx.TransportError:
                    # The server is dead, and the next one has not started yet.
                    await asyncio.sleep(0.02)

        return await asyncio.wait_for(read(), TEST_TIMEOUT)

    async def until_end(self) -> Event:
        """Read until a run has ended."""
        return await self.until(is_end)

    async def have(self, is_it: Callable[[Event], bool], count: int) -> None:
        """Wait until so many matching events have arrived, while another task reads."""
        while sum(map(is_it, self.events)) < count:
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), TEST_TIMEOUT)

    async def connected(self) -> AsyncIterator[Event]:
        """Yield the events of one connection."""
        last = self.events[-1]["sequenceNumber"] if self.events else 0
        address = f"{self._site.url}/chats/{self.chat}/events?follow=1"
        headers = {"Last-Event-ID": str(last)}
        self.connections += 1
        async with self._site.client.stream("GET", address, headers=headers) as response:
            assert response.status_code == 200, response.status_code
            async for line in lines(response):
                event: Event = json.loads(line.data)
                assert line.id == event["sequenceNumber"]
                yield event


def is_end(event: Event) -> bool:
    """Return true if the event ends a run."""
    return event["kind"] == "run" and event["status"] == "finished"


def effects_of(path: Path) -> Counter[str]:
    """Return how often the tools were executed, by label."""
    return Counter(path.read_text("utf-8").split()) if path.exists() else Counter()


async def check_chats(url: str, received: dict[str, Sequence[Event]], effects: Path) -> None:
    """Check that the received events, the log, the history and the effects of tools agree.

    Args:
        url: URL of the database.
        received: Events that a client received of each chat, from start to end.
        effects: File that the tools have written.
    """
    done = effects_of(effects)
    assert [label for label, count in done.items() if count > 1] == []
    async with MessageStore(url) as store:
        for chat, events in received.items():
            log = cast("list[Event]", await store.events(chat, limit=None))
            check_log(events, log)
            history = await store.load(chat)
            assert history.problems == ()
            to_openai(history.messages, dangling="raise")
            to_anthropic(history.messages, dangling="raise")
            check_effects(log, done)


def check_log(received: Sequence[Event], log: Sequence[Event]) -> None:
    """Check that a client received exactly the log, and that the log is complete."""
    assert numbers(log) == list(range(1, len(log) + 1))
    assert numbers(received) == numbers(log)
    assert list(received) == list(log)
    snapshot = snapshot_of(cast("Any", log))
    assert snapshot["problems"] == []
    assert all(call["state"] in FINAL for call in calls_of(snapshot).values())
    check_runs(log)


def check_runs(log: Iterable[Event]) -> None:
    """Check that runs follow one another, each to its end."""
    running = None
    for event in log:
        if event["kind"] == "run" and event["status"] == "started":
            assert running is None
            running = event["runId"]
        elif is_end(event):
            assert event["runId"] == running
            running = None
    assert running is None


def check_effects(log: Iterable[Event], done: Counter[str]) -> None:
    """Check that the results of calls match what their tools have done."""
    for call in calls_of(snapshot_of(cast("Any", log))).values():
        label = call.get("arguments", {}).get("label")
        if label is None:
            continue
        if call["state"] == "success":
            assert done[label] == 1, call
        elif "before it started" in call["result"] or "was not started" in call["result"]:
            assert done[label] == 0, call
