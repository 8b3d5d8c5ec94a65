"""A proxy on the loopback that cuts the connections of clients."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx


class CuttingProxy:
    """A proxy that cuts every connection to a server after so many bytes.

    Args:
        port: Port of the server.
        length: Bytes of responses that pass on the first connection; doubled for each further one.
    """

    def __init__(self, port: int, length: int) -> None:
        self.cuts = 0
        """Number of connections that were cut."""
        self._port = port
        self._length = length

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asks = await asyncio.open_connection("127.0.0.1", self._port)
        asking = asyncio.create_task(self._ask(reader, asks))
        left, self._length = self._length, 2 * self._length
        try:
            while piece := await answers.read(left):
                writer.write(piece)
                await writer.drain()
                left -= len(piece)
                if not left:
                    self.cuts += 1
                    break
        finally:
            asking.cancel()
            await asyncio.wait([asking])
            for each in (writer, asks):
                each.close()
                with contextlib.suppress(OSError):
                    await each.wait_closed()

    async def _ask(self, reader: asyncio.StreamReader, asks: asyncio.StreamWriter) -> None:
        while piece := await reader.read(4096):
            asks.write(piece)
        asks.close()


@asynccontextmanager
async def cutting(server: httpx.URL, length: int) -> AsyncIterator[tuple[str, CuttingProxy]]:
    """Run a proxy in front of a server, and yield its address."""
    proxy = CuttingProxy(server.port or 0, length)
    listener = await asyncio.start_server(proxy.pass_on, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", proxy
    finally:
        listener.close()
        await listener.wait_closed()
