"""Clients that lose their connections all the time."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from chat_servers import lines
from killable_servers import Follower, Site, check_chats, serving

EVERY = 0.2
"""After how many seconds a connection is dropped."""


class Dropping:
    """A client whose connections are dropped, and which resumes by the last id.

    Args:
        site: Where the chat is.
        address: Of the stream, below the site's.
    """

    def __init__(self, site: Site, address: str) -> None:
        self.payloads: list[str] = []
        """What it was told, up to the last id and behind it."""
        self.drops = 0
        self.last: int | None = None
        self.is_over = False
        """Whether it was told that there is nothing any more."""
        self._whole = 0
        self._site = site
        self._address = address

    @property
    def received(self) -> tuple[list[str], list[str]]:
        """What came up to the last id, and what behind it."""
        return self.payloads[: self._whole], self.payloads[self._whole :]

    async def read(self) -> None:
        """Reads to the end."""
        while not await self.connect():
            self.drops += 1

    async def connect(self) -> bool:
        """Reads until the connection is dropped; whether it has come to the end."""
        # What came behind the last id is told again.
        del self.payloads[self._whole :]
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.read_once(), EVERY)
            return True
        return False

    async def read_once(self) -> None:
        """Reads over one connection that nobody drops."""
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
    """Reads a run, of so many calls, in a format, over connections that are dropped.

    Returns:
        How often it was dropped, and how many payloads it was told of.
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
    # Dropped behind the last id, it is told that there is nothing more to come.
    assert behind in ([], whole.received[1]) if client.is_over else behind == whole.received[1]
    await check_chats(url, {chat: steady.events}, effects)
    return client.drops, len(client.payloads)


async def start_over(url: str, folder: Path, rounds: int) -> tuple[int, int]:
    """Reads a run as clients of the AI SDK do, which are told it from its start each time.

    Returns:
        How often it was begun again, and how many payloads there were.
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
