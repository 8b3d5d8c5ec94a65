"""A server that sends exactly the given bytes, and notices when its client disconnects.

It runs on the event loop of the test. `llmock` imitates providers; this server produces failures
between two bytes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

TEST_TIMEOUT = 10.0
"""Seconds until a waiting test fails."""


class Do(Enum):
    """Actions of a server other than sending."""

    CUT = "reset the connection"
    END = "close the connection, though more was to come"
    HOLD = "send nothing more until the client goes away"


@dataclass(frozen=True)
class Answer:
    """A response."""

    steps: Sequence[bytes | Do | asyncio.Event] = ()
    status: int = 200
    kind: str = "text/event-stream; charset=utf-8"
    chunked: bool = True
    """True to mark the end of the body, so that a client detects truncation."""
    headers: Sequence[str] = ()


@dataclass
class Served:
    """A running server."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    """Path, headers and JSON body of each request."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Event set when a client has disconnected before the end of its response."""

    async def client_left(self) -> None:
        """Wait until a client has disconnected."""
        await asyncio.wait_for(self.left.wait(), TEST_TIMEOUT)


@asynccontextmanager
async def serving(
    *answers: Answer | Callable[[dict[str, Any]], Answer], port: int = 0
) -> AsyncIterator[Served]:
    """Serve the answers, or their results for the request, in order, repeating the last."""
    served = Served()
    waiting = list(answers)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _request(reader)) is not None:
                served.requests.append(request)
                answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                if callable(answer):
                    answer = answer(request)
                try:
                    if not await _answer(answer, reader, writer):
                        break
                except ConnectionError:
                    served.left.set()
                    break
        finally:
            writer.close()

    tasks: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Clients open connections in advance, so a connection's task may never start.
        writers.append(writer)
        tasks.add(asyncio.create_task(handle(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", port)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield served
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        for writer in writers:
            writer.close()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            # A client may disconnect at any time.
            if isinstance(ended, Exception) and not isinstance(ended, ConnectionError):
                raise ended


async def _request(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    line, *fields = head.decode("ascii").strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (f.partition(": ") for f in fields)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return {"path": line.split()[1], "headers": headers, "body": json.loads(body or b"null")}


async def _answer(
    answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """Send an answer; return true if the connection can be reused."""
    framing = "Transfer-Encoding: chunked" if answer.chunked else "Connection: close"
    fields = [f"Content-Type: {answer.kind}", framing, *answer.headers]
    head = f"HTTP/1.1 {answer.status} X\r\n" + "".join(f"{line}\r\n" for line in fields)
    writer.write(f"{head}\r\n".encode())
    for step in answer.steps:
        if isinstance(step, bytes):
            if step:  # an empty chunk would end the body
                writer.write(b"%x\r\n%b\r\n" % (len(step), step) if answer.chunked else step)
                await writer.drain()
            # So that each step reaches the client separately.
            await asyncio.sleep(0)
        elif isinstance(step, asyncio.Event):
            await asyncio.wait_for(step.wait(), TEST_TIMEOUT)
        elif step is Do.HOLD:
            more = await asyncio.wait_for(reader.read(1), TEST_TIMEOUT)
            assert not more, "the client sent a second request into the answer to its first"
            raise ConnectionResetError
        else:
            await writer.drain()
            if step is Do.CUT:
                writer.transport.abort()
            return False
    if answer.chunked:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    return answer.chunked
