"""Clients whose connections are dropped repeatedly."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from chat_servers import lines
from killable_servers import Follower, Site, check_chats, serving

EVERY = 0.2
"""Seconds until a connection is dropped."""


class Dropping:
    """A client whose connections are dropped, and which resumes by the last id.

    Args:
        site: Server of the chat.
        address: Address of the stream, relative to the server.
    """

    def __init__(self, site: Site, address: str) -> None:
        self.payloads: list[str] = []
        """Payloads received, up to the last id and after it."""
        self.drops = 0
        self.last: int | None = None
        self.is_over = False
        """True if the server has reported the end of the stream."""
        self._whole = 0
        self._site = site
        self._address = address

    @property
    def received(self) -> tuple[list[str], list[str]]:
        """The payloads up to the last id, and those after it."""
        return self.payloads[: self._whole], self.payloads[self._whole :]

    async def read(self) -> None:
        """Read to the end."""
        while not await self.connect():
            self.drops += 1

    async def connect(self) -> bool:
        """Read until the connection is dropped; return true at the end of the stream."""
        # Payloads after the last id are sent again.
        del self.payloads[self._whole :]
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.read_once(), EVERY)
            return True
        return False

    async def read_once(self) -> None:
        """Read over one connection that is not dropped."""
        headers = {} if self.last is None else {"Last-Event-ID": str(self.last)}
        url = f"{self._site.url}{self._address}"
        async with self._site.client.stream("GET", url, headers=headers) as response:
            if response.status_code == 204:
                self.is_over = True
                return
            assert response.status_code == 200, response.status_code
            async for line in lines(response):
                self.payloads.append(line.data)
                if line.id is not None:
                    self.last = line.id
                    self._whole = len(self.payloads)


async def drop(url: str, folder: Path, form: str, rounds: int) -> tuple[int, int]:
    """Read a run of so many calls, in a format, over connections that are dropped.

    Returns:
        How often the client was dropped, and how many payloads it received.
    """
    effects = folder / "effects"
    async with serving(url=url, effects=str(effects)) as server, Site(server.url) as site:
        chat = await site.new_chat()
        steady = Follower(site, chat)
        reading = asyncio.create_task(steady.until_end())
        await site.say(chat, rounds=rounds, words=4, calls=1, pause=0.02)
        address = f"/chats/{chat}/events?format={form}"
        client = Dropping(site, address)
        await client.read()
        await reading
        whole = Dropping(site, f"{address}&after=0")
        await whole.read_once()
    received, behind = client.received
    assert received == whole.received[0]
    # Dropped after the last id, it learns on reconnecting that the stream is complete.
    assert behind in ([], whole.received[1]) if client.is_over else behind == whole.received[1]
    await check_chats(url, {chat: steady.events}, effects)
    return client.drops, len(client.payloads)


async def reread_from_start(url: str, folder: Path, rounds: int) -> tuple[int, int]:
    """Read a run as clients of the AI SDK do, which receive it from the start each time.

    Returns:
        How often reading started over, and how many payloads there were.
    """
    effects = folder / "effects"
    async with serving(url=url, effects=str(effects)) as server, Site(server.url) as site:
        chat = await site.new_chat()
        steady = Follower(site, chat)
        reading = asyncio.create_task(steady.until_end())
        await site.say(chat, rounds=rounds, words=4, calls=1, pause=0.02)
        payload_lists = []
        while not reading.done():
            client = Dropping(site, f"/chats/{chat}/stream")
            await client.connect()
            payload_lists.append(client.payloads)
        await reading
        whole = Dropping(site, f"/chats/{chat}/events?format=ai-sdk&after=0")
        await whole.read_once()
    for payloads in payload_lists:
        assert payloads == whole.payloads[: len(payloads)]
    await check_chats(url, {chat: steady.events}, effects)
    return len(payload_lists), len(whole.payloads)
