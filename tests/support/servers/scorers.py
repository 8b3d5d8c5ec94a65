"""A scoring server that replies on the test's command and notices clients that leave.

It runs on the event loop of the test. Every request stays open until it is answered or its client
goes away, so that a test decides in which order replies come, and which never do.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from toolweave.selection import CallLimiter

from .dialects import openai_text
from .sse import TEST_TIMEOUT

HttpResponse: TypeAlias = "tuple[int, str, Sequence[bytes]]"
"""A status, a content type, and the body in pieces."""


def scored(score: object, *, finish: str = "stop", pieces: int = 2) -> HttpResponse:
    """Return a reply with a score; a string is sent as it is."""
    text = score if isinstance(score, str) else json.dumps({"score": score})
    size = max(1, -(-len(text) // pieces))
    cut = [text[at : at + size] for at in range(0, len(text), size)]
    return 200, "text/event-stream", openai_text(cut, finish)


def refused(status: int, message: str = "No.") -> HttpResponse:
    """Return an error in the format of OpenAI's API."""
    error = {"message": message, "type": "server_error", "param": None, "code": None}
    return status, "application/json", [json.dumps({"error": error}).encode()]


@dataclass
class Scoring:
    """A running server. Tools are identified by the names in angle brackets in prompts."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    """Tools of the requests, in order of arrival."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    open: dict[str, asyncio.Future[HttpResponse]] = field(default_factory=dict)
    """Unanswered requests, in order of arrival."""
    left: list[str] = field(default_factory=list)
    """Tools whose clients closed their connections before a response."""
    most: int = 0
    """Maximum number of concurrently open requests."""
    connections: int = 0
    """Number of connections."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def answer(self, tool: str, response: HttpResponse) -> None:
        """Answer an open request."""
        self.open.pop(tool).set_result(response)

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait until a condition on the state of the server holds."""

        async def wait() -> None:
            while not done():
                self._changed.clear()
                await self._changed.wait()

        await asyncio.wait_for(wait(), TEST_TIMEOUT)

    async def until_open(self, *tools: str) -> None:
        """Wait until exactly these requests are open."""
        await self.until(lambda: sorted(self.open) == sorted(tools))

    async def until_left(self, *tools: str) -> None:
        """Wait until exactly these clients have left."""
        await self.until(lambda: sorted(self.left) == sorted(tools))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections += 1
        with closing(writer), suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").lower()
                length = int(head.partition("content-length:")[2].split("\r\n")[0])
                body = json.loads(await reader.readexactly(length))
                response = await self._ask(body, reader)
                if response is None:
                    break
                await _write(writer, *response)

    async def _ask(self, body: dict[str, Any], reader: asyncio.StreamReader) -> HttpResponse | None:
        found = re.search(r"<(\w+)>", str(body["messages"]))
        tool = found[1] if found else "?"
        self.asked.append(tool)
        self.bodies.append(body)
        reply: asyncio.Future[HttpResponse] = asyncio.get_running_loop().create_future()
        self.open[tool] = reply
        self.most = max(self.most, len(self.open))
        self._changed.set()
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait([reply, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not reply.done():
                with suppress(ConnectionError):
                    assert not leaving.result(), "a request came into the answer to another"
                del self.open[tool]
                self.left.append(tool)
                self._changed.set()
                return None
        finally:
            leaving.cancel()
            await asyncio.wait([leaving])
        return reply.result()


@asynccontextmanager
async def scoring() -> AsyncIterator[Scoring]:
    """Serve until the end of the block."""
    served = Scoring()
    tasks: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Clients open connections in advance, so a connection's task may never start.
        writers.append(writer)
        tasks.add(asyncio.ensure_future(served.serve(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield served
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        for writer in writers:
            writer.close()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _write(
    writer: asyncio.StreamWriter, status: int, kind: str, pieces: Sequence[bytes]
) -> None:
    size = sum(map(len, pieces))
    fields = f"Content-Type: {kind}\r\nContent-Length: {size}\r\n"
    writer.write(f"HTTP/1.1 {status} X\r\n{fields}\r\n".encode())
    for piece in pieces:
        writer.write(piece)
        await writer.drain()


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose clock can be advanced."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead = 0.0

    def time(self) -> float:
        return super().time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Advance the clock, so that timers become due."""
        self._ahead += seconds
        self.call_soon(lambda: None)


@dataclass
class Director:
    """A driver that answers a selection's requests in a given order, and advances the clock."""

    served: Scoring
    limiter: CallLimiter
    responses: dict[str, HttpResponse | None]
    """Responses by tool; None for a request that is never answered."""
    order: Sequence[str]
    """Order in which open requests are answered."""
    timeout: float
    most: int
    """Maximum number of calls of the selection in flight."""

    async def direct(self, selecting: asyncio.Task[Any]) -> None:
        """Answer requests until the selection is over."""
        loop = asyncio.get_running_loop()
        over: set[str] = set()
        while not selecting.done():
            waiting = [tool for tool in self.served.open if tool not in over]
            taken = self.limiter.limit - self.limiter.free
            due = min(self.most, self.limiter.limit, len(self.responses) - len(over))
            # All admitted requests are here; only the next one has to be awaited.
            if len(waiting) == taken == due:
                due_tools = [
                    tool for tool in self.order if tool in waiting and self.responses[tool]
                ]
                if due_tools:
                    over.add(due_tools[0])
                    self.served.answer(due_tools[0], self.responses[due_tools[0]] or scored(0))
                elif waiting:
                    # Without open requests, only the end can follow, immediately.
                    assert isinstance(loop, Clock)
                    over.update(waiting)
                    loop.advance(self.timeout)
            await asyncio.sleep(0.0005)
