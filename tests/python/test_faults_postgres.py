"""PostgreSQL that goes down in mid-run: everything waits for it, and then goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from chatting import Event
from faulting import PATIENCE, Follower, Site, check_chats, serving
from postgres import PostgresServer

CHATS = 5


def is_any(_: Event) -> bool:
    return True


def test_runs_and_streams_go_on_when_postgresql_has_restarted(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    effects = tmp_path / "effects"
    config: dict[str, Any] = {
        "url": postgres_url,
        "effects": str(effects),
        "options": {"patience": PATIENCE, "poll": 0.05},
        # Nobody else looks after these runs while nobody can be told that they are alive.
        "limits": {"lease": PATIENCE},
    }

    async def scenario() -> None:
        # The chats run in one server, and are read from both.
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
                await here.say(chat, rounds=25, words=3, calls=2, pause=0.005)
            for _ in range(2):
                await asyncio.gather(
                    *[each.have(is_any, len(each.events) + 10) for each in followers]
                )
                await asyncio.to_thread(postgres_server.stop)
                await asyncio.to_thread(postgres_server.start)
            for end in await asyncio.gather(*tasks):
                assert end["stopReason"] == "completed"
            # Streams wait as well, and are not cut off.
            assert [each.connections for each in followers] == [1] * len(followers)
        for each in followers:
            await check_chats(postgres_url, {each.chat: each.events}, effects)
        assert len(effects.read_text("utf-8").split()) == CHATS * 25 * 2

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
