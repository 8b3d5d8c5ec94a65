"""Many readers of chats in one process: `python fault_readers.py '{"url": ..., ...}'`.

Each reader has its own connection, follows one run to its end and resumes after disconnects. The
process prints a line once all readers are connected, and finally one line of JSON with what each
of them received.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import resource
import sys
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit


class Reader:
    """One client of one chat.

    Args:
        host: Host of the server.
        port: Port of the server.
        chat: The chat.
        follow: True to stay connected when nothing runs.
        delays: List that receives the latency of each result, in seconds.
    """

    def __init__(
        self, host: str, port: int, chat: str, *, follow: bool, delays: list[float]
    ) -> None:
        self.chat = chat
        self.count = 0
        self.connections = 0
        self.problem: str | None = None
        self.connected = asyncio.Event()
        self._where = (host, port)
        self._follow = follow
        self._delays = delays
        self._hash = hashlib.sha256()

    @property
    def digest(self) -> str:
        """A hash of the received events."""
        return self._hash.hexdigest()

    async def read(self) -> None:
        """Read until a run has ended."""
        while self.problem is None:
            self.connections += 1
            try:
                reader, writer = await asyncio.open_connection(*self._where)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            try:
                if await self._read(reader, writer):
                    return
            finally:
                writer.close()

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(
            f"GET /chats/{self.chat}/events?follow={int(self._follow)} HTTP/1.1\r\n"
            f"Host: {self._where[0]}:{self._where[1]}\r\nAccept: text/event-stream\r\n"
            f"Last-Event-ID: {self.count}\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.partition(b"\r\n")[0]:
            self.problem = head.partition(b"\r\n")[0].decode()
            return False
        self.connected.set()
        number = None
        async for line in _lines(reader):
            if line.startswith(b"id: "):
                number = int(line[4:])
            elif line.startswith(b"data: "):
                self.count += 1
                if number != self.count:
                    self.problem = f"event {number} came where {self.count} was next"
                    return False
                self._hash.update(line)
                if self._take(json.loads(line[6:])):
                    return True
        return False

    def _take(self, event: dict[str, Any]) -> bool:
        kind = event["kind"]
        if kind == "tool_result" and not event["isError"]:
            self._delays.append(time.time() - float(event["result"].rpartition(" ")[2]))
        return bool(kind == "run" and event["status"] == "finished")


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the lines of a chunked body."""
    rest = b""
    try:
        while size := int(await reader.readline() or b"0", 16):
            chunk = rest + await reader.readexactly(size)
            await reader.readexactly(2)
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                yield line
    except (OSError, asyncio.IncompleteReadError):
        return


async def main() -> None:
    config = json.loads(sys.argv[1])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    where = urlsplit(config["url"])
    assert where.hostname is not None
    assert where.port is not None
    delays: list[float] = []
    readers = [
        Reader(where.hostname, where.port, chat, follow=True, delays=delays)
        for chat in config["chats"]
        for _ in range(config["readers"])
    ]
    tasks = []
    for at, each in enumerate(readers):
        tasks.append(asyncio.create_task(each.read()))
        if at % 100 == 99:
            # Not all at once, because the server's backlog is limited.
            await asyncio.gather(*[reader.connected.wait() for reader in readers[: at + 1]])
    await asyncio.gather(*[reader.connected.wait() for reader in readers])
    say({"connected": len(readers)})
    await asyncio.gather(*tasks)
    delays.sort()
    say(
        {
            "readers": [[r.chat, r.count, r.digest, r.connections, r.problem] for r in readers],
            "results": len(delays),
            "p50": delays[len(delays) // 2],
            "p99": delays[len(delays) * 99 // 100],
            "max": delays[-1],
        }
    )


def say(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
