"""A load of many streams of few busy chats on one server, and its measurements."""

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
from toolweave.web._sse import frame, to_json


@dataclass(frozen=True)
class Load:
    """The size of the load."""

    chats: int
    """Number of chats with a constantly running model."""
    readers: int
    """Number of readers of each chat."""
    seconds: float
    """Duration in seconds."""
    words: int = 10
    """Number of words between calls."""
    pause: float = 0.1
    """Seconds between words."""


@dataclass(frozen=True)
class Outcome:
    """The measurements."""

    events: int
    """Number of stored events."""
    received: int
    """Number of events received by all readers together."""
    results: int
    """Number of results among them."""
    p50: float
    """Median latency of results, from the end of the tool to the readers, in seconds."""
    p99: float
    """99th percentile of the latency."""
    longest: float
    """Maximum of the latency."""
    idle: int
    """Memory of the server before readers connect, in bytes."""
    connected: int
    """Memory once all readers are connected, before the load starts."""
    busy: int
    """Memory after all readers have received everything."""
    cpu: float
    """Used share of one core."""
    took: float
    """Seconds until all readers have received everything."""


def memory_of(process: subprocess.Popen[str]) -> int:
    """Return the resident memory of a process, in bytes."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text("utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def time_of(process: subprocess.Popen[str]) -> float:
    """Return the CPU time of a process, in seconds."""
    fields = Path(f"/proc/{process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def apply_load(url: str, folder: Path, load: Load, timeout: float = 90.0) -> Outcome:
    """Put a load on a server, and check that all readers receive every event once, in order.

    Args:
        url: URL of the database.
        folder: Folder for temporary files.
        load: The load.
        timeout: Seconds that finishing may take after the duration of the load.
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
    """Check that all readers of a chat have received its log."""
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
        server: URL of the server.
        chats: Ids of the chats.
        count: Number of readers of each chat.
    """

    def __init__(self, server: FaultServer, chats: list[str], count: int) -> None:
        config = {"url": server.url, "chats": chats, "readers": count}
        command = [sys.executable, str(SERVERS / "fault_readers.py"), json.dumps(config)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")

    async def connected(self, timeout: float) -> None:
        """Wait until all readers are connected."""
        await self._line(timeout)

    async def report(self, timeout: float) -> dict[str, Any]:
        """Wait for the end, and return what the readers have received."""
        return await self._line(timeout)

    async def _line(self, timeout: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = await asyncio.wait_for(asyncio.to_thread(self._process.stdout.readline), timeout)
        assert line, "the readers have died"
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
