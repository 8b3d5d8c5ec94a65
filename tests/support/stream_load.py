"""A load of many streams of few busy chats on one server, and its measures."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chat_servers import Event
from killable_servers import SERVERS, FaultServer, Site, check_log, serving
from toolweave.store import MessageStore
from toolweave.web.encoders.native import to_json
from toolweave.web.sse import frame


@dataclass(frozen=True)
class Load:
    """How much there is to do."""

    chats: int
    """In how many chats a model talks all the time."""
    readers: int
    """How many read each of them."""
    seconds: float
    """For how long."""
    words: int = 10
    """How many words come between calls."""
    pause: float = 0.1
    """How long a word takes, in seconds."""


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    events: int
    """How many events were stored."""
    received: int
    """How many events were sent, to all readers together."""
    results: int
    """How many results were among them."""
    p50: float
    """How long a result took from the end of its tool to half of the readers, in seconds."""
    p99: float
    """And to all but one of a hundred."""
    longest: float
    """And to the last of all."""
    idle: int
    """What the server had in memory before anybody read, in bytes."""
    connected: int
    """What it had when all were connected and nothing was said yet."""
    busy: int
    """What it had when all had been told everything."""
    cpu: float
    """How much of a core the server has used."""
    took: float
    """How long it took until all had been told everything, in seconds."""


def memory_of(process: subprocess.Popen[str]) -> int:
    """What a process has in memory, in bytes."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text("utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def time_of(process: subprocess.Popen[str]) -> float:
    """What a process has used of the processor, in seconds."""
    fields = Path(f"/proc/{process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def put_on(url: str, folder: Path, load: Load, timeout: float = 90.0) -> Outcome:
    """Puts a load on a server and checks that everybody was told everything, once, in order.

    Args:
        url: The database.
        folder: For what is written meanwhile.
        load: The load.
        timeout: How long it may take to be done with it after its time, in seconds.
    """
    async with (
        serving(url=url, effects=str(folder / "effects")) as server,
        Site(server.url) as site,
    ):
        chats = [await site.new_chat() for _ in range(load.chats)]
        idle = memory_of(server.process)
        readers = FaultReaders(server, chats, load.readers)
        try:
            await readers.connected(timeout)
            connected, before = memory_of(server.process), time_of(server.process)
            begun = asyncio.get_running_loop().time()
            for chat in chats:
                plan = {"seconds": load.seconds, "words": load.words, "pause": load.pause}
                await site.say(chat, rounds=0, calls=1, **plan)
            report = await readers.report(load.seconds + timeout)
            took = asyncio.get_running_loop().time() - begun
            busy, spent = memory_of(server.process), time_of(server.process) - before
        finally:
            readers.close()
    count = await _check(url, report, load)
    return Outcome(
        events=count,
        received=sum(each[1] for each in report["readers"]),
        results=report["results"],
        p50=report["p50"],
        p99=report["p99"],
        longest=report["max"],
        idle=idle,
        connected=connected,
        busy=busy,
        cpu=spent / took,
        took=took,
    )


async def _check(url: str, report: dict[str, Any], load: Load) -> int:
    """That all readers of a chat were told its log."""
    by_chat: dict[str, list[Any]] = {}
    for chat, *rest in report["readers"]:
        by_chat.setdefault(chat, []).append(rest)
    assert len(by_chat) == load.chats
    events = 0
    async with MessageStore(url) as store:
        for chat, readers in by_chat.items():
            log: list[Event] = [dict(event) for event in await store.events(chat, limit=None)]
            check_log(log, log)
            assert log[-1]["stopReason"] == "completed"
            digest = hashlib.sha256()
            for event in log:
                framed = frame([to_json(event)], event["sequenceNumber"])
                digest.update(framed.partition(b"\n")[2].rstrip(b"\n"))
            expected = [len(log), digest.hexdigest(), 1, None]
            assert readers == [expected] * load.readers
            events += len(log)
    return events


class FaultReaders:
    """A process of `fault_readers.py`.

    Args:
        server: What is read.
        chats: The chats.
        count: How many read each.
    """

    def __init__(self, server: FaultServer, chats: list[str], count: int) -> None:
        config = {"url": server.url, "chats": chats, "readers": count}
        command = [sys.executable, str(SERVERS / "fault_readers.py"), json.dumps(config)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")

    async def connected(self, timeout: float) -> None:
        """Waits until all of them are."""
        await self._line(timeout)

    async def report(self, timeout: float) -> dict[str, Any]:
        """What they were told in the end."""
        return await self._line(timeout)

    async def _line(self, timeout: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = await asyncio.wait_for(asyncio.to_thread(self._process.stdout.readline), timeout)
        assert line, "the readers have died"
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
