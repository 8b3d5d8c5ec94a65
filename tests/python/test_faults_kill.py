"""A server that is killed while it runs tools: the next one knows what happened, and goes on."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

from chatting import Event
from faulting import (
    PATIENCE,
    Follower,
    Site,
    check_chats,
    effects_of,
    serving,
)

NAMED = (
    "before started",
    "after started",
    "in the tool",
    "in the tool, behind its effect",
    "after the tool",
    "before a result is announced",
    "after a result is announced",
    "before a message",
    "before the end",
    "after the end",
)
"""Where a run is killed for certain: around a tool, and up to the message that has its result."""


def is_result(event: Event) -> bool:
    return bool(event["kind"] == "tool_result")


def test_a_server_killed_anywhere_in_a_run_loses_nothing_and_runs_no_tool_twice(
    store_url: str, tmp_path: Path
) -> None:
    effects = tmp_path / "effects"
    config: dict[str, Any] = {"url": store_url, "effects": str(effects)}

    async def scenario() -> None:
        async with serving(**config, holds=True) as first, Site(first.url) as site:
            # How many points a run has.
            whole = await site.new_chat()
            await site.say(whole)
            kind, count = (await first.line()).split()
            assert kind == "points"
            points: list[int | str] = random.Random(20).sample(range(1, int(count)), 20)
            plans: list[dict[str, Any]] = [{"hold": point} for point in [*points, *NAMED]]
            # And some that are killed wherever they are.
            plans += [{"rounds": 1000, "pause": 0.02}] * 4
            followers = [Follower(site, await site.new_chat()) for _ in plans]
            tasks = [asyncio.create_task(each.until_end()) for each in followers]
            for each, plan in zip(followers, plans, strict=True):
                await site.say(each.chat, **plan)
            names = await first.held(len(points) + len(NAMED))
            assert {name.replace(" ", "-") for name in NAMED} <= set(names)
            await asyncio.gather(*[each.have(is_result, 2) for each in followers[-4:]])
            first.kill()
            before = effects_of(effects)
            async with serving(**config, ahead=3600.0) as second:
                site.url = second.url
                ends = await asyncio.gather(*tasks)
                reasons = [end["stopReason"] for end in ends]
                assert set(reasons) == {"interrupted", "completed"}
                assert reasons[-4:] == ["interrupted"] * 4
                # To end runs is not to run their tools.
                assert effects_of(effects) == before
                for each in followers:
                    await site.say(each.chat, rounds=1, words=1, calls=1)
                for end in await asyncio.gather(*[each.until_end() for each in followers]):
                    assert end["stopReason"] == "completed"
                assert all(each.connections > 1 for each in followers)
            told = {each.chat: each.events for each in followers}
            await check_chats(store_url, told, effects)

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
