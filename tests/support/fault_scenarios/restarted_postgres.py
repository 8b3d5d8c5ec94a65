"""A PostgreSQL that is restarted under runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from chat_servers import Event
from killable_servers import TEST_TIMEOUT, Follower, Site, check_chats, effects_of, serving
from postgres_server import PostgresServer

CHATS = 5


def is_any(_: Event) -> bool:
    return True


async def restart_under(
    server: PostgresServer, url: str, folder: Path, *, restarts: int, rounds: int
) -> tuple[int, int]:
    """Restart a database under runs with so many calls, which are read from two servers.

    Returns:
        How many tools were run, and how many events all readers received.
    """
    effects = folder / "effects"
    config: dict[str, Any] = {
        "url": url,
        "effects": str(effects),
        "options": {"retry_timeout": TEST_TIMEOUT, "poll": 0.05},
        # No other server takes over these runs while their leases cannot be renewed.
        "limits": {"lease": TEST_TIMEOUT},
    }
    async with (
        serving(**config) as one,
        serving(**config) as other,
        Site(one.url) as here,
        Site(other.url) as there,
    ):
        chats = [await here.new_chat() for _ in range(CHATS)]
        followers = [Follower(site, chat) for chat in chats for site in (here, there)]
        tasks = [asyncio.create_task(each.until_end()) for each in followers]
        for chat in chats:
            await here.say(chat, rounds=rounds, words=3, calls=1, pause=0.005)
        for _ in range(restarts):
            await asyncio.gather(*[each.have(is_any, len(each.events) + 10) for each in followers])
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.start)
        for end in await asyncio.gather(*tasks):
            assert end["stopReason"] == "completed"
        # Streams wait as well and are not cut off.
        assert [each.connections for each in followers] == [1] * len(followers)
    for each in followers:
        await check_chats(url, {each.chat: each.events}, effects)
    done = effects_of(effects)
    assert len(done) == CHATS * rounds
    return len(done), sum(len(each.events) for each in followers)
