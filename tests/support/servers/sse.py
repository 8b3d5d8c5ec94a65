"""A server that sends exactly the bytes it is told to, and sees when its client goes away.

It runs on the event loop of the test. `llmock` does what providers do; this does what
goes wrong between two bytes.
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
"""Seconds until a test that waits for something that does not come fails."""


class Do(Enum):
    """What a server does besides sending."""

    CUT = "reset the connection"
    END = "close the connection, though more was to come"
    HOLD = "send nothing more until the client goes away"


@dataclass(frozen=True)
class Answer:
    """What a request is answered with."""

    steps: Sequence[bytes | Do | asyncio.Event] = ()
    status: int = 200
    kind: str = "text/event-stream; charset=utf-8"
    chunked: bool = True
    """Whether the end of the body is marked, so that a client can tell if it is missing."""
    headers: Sequence[str] = ()


@dataclass
class Served:
    """A server at work."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    """The path, the headers and the JSON body of each."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client has gone away before its answer was over."""

    async def client_left(self) -> None:
        """Waits until a client has gone away."""
        await asyncio.wait_for(self.left.wait(), TEST_TIMEOUT)


@asynccontextmanager
async def serving(
    *answers: Answer | Callable[[dict[str, Any]], Answer], port: int = 0
) -> AsyncIterator[Served]:
    """Serves the answers, or what they make of the request, in order; the last again and again."""
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
        # Clients make connections ahead, and the task of one may never begin.
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
            # A client that went away is none of the server's business.
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
    """Whether the connection can be used again."""
    framing = "Transfer-Encoding: chunked" if answer.chunked else "Connection: close"
    fields = [f"Content-Type: {answer.kind}", framing, *answer.headers]
    head = f"HTTP/1.1 {answer.status} X\r\n" + "".join(f"{line}\r\n" for line in fields)
    writer.write(f"{head}\r\n".encode())
    for step in answer.steps:
        if isinstance(step, bytes):
            if step:  # an empty chunk would be the end
                writer.write(b"%x\r\n%b\r\n" % (len(step), step) if answer.chunked else step)
                await writer.drain()
            # So that each step reaches the client on its own.
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
