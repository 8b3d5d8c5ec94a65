"""Servers that are killed at all points of runs, and servers that take over."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

from chat_servers import Event
from effort import effort
from killable_servers import Follower, Site, check_chats, effects_of, serving

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
"""Points at which a run is always killed: around a tool, up to the message with its result."""
RANDOM = effort(8)
"""Number of random points at which runs are killed."""
FREE = 4
"""Number of runs that are killed at an arbitrary moment."""


def is_result(event: Event) -> bool:
    return bool(event["kind"] == "tool_result")


async def kill_at_all_points(url: str, folder: Path, seed: int) -> tuple[int, int]:
    """Kill a server with runs at all points, and let another one take over.

    Returns:
        How many runs were killed, and how many events clients received.
    """
    effects = folder / "effects"
    config: dict[str, Any] = {"url": url, "effects": str(effects)}
    async with serving(**config, holds=True) as first, Site(first.url) as site:
        # Number of points of a run.
        await site.say(await site.new_chat())
        kind, count = (await first.line()).split()
        assert kind == "points"
        points: list[int | str] = random.Random(seed).sample(range(1, int(count)), RANDOM)
        plans: list[dict[str, Any]] = [{"hold": point} for point in [*points, *NAMED]]
        plans += [{"rounds": 1000, "pause": 0.02}] * FREE
        followers = [Follower(site, await site.new_chat()) for _ in plans]
        tasks = [asyncio.create_task(each.until_end()) for each in followers]
        for each, plan in zip(followers, plans, strict=True):
            await site.say(each.chat, **plan)
        names = await first.held(RANDOM + len(NAMED))
        assert {name.replace(" ", "-") for name in NAMED} <= set(names)
        await asyncio.gather(*[each.have(is_result, 2) for each in followers[-FREE:]])
        first.kill()
        before = effects_of(effects)
        async with serving(**config, ahead=3600.0) as second:
            site.url = second.url
            reasons = [end["stopReason"] for end in await asyncio.gather(*tasks)]
            assert set(reasons) == {"interrupted", "completed"}
            assert reasons[-FREE:] == ["interrupted"] * FREE
            # Ending runs does not execute their tools.
            assert effects_of(effects) == before
            for each in followers:
                await site.say(each.chat, rounds=1, words=1, calls=1)
            for end in await asyncio.gather(*[each.until_end() for each in followers]):
                assert end["stopReason"] == "completed"
            assert all(each.connections > 1 for each in followers)
        await check_chats(url, {each.chat: each.events for each in followers}, effects)
        return len(plans), sum(len(each.events) for each in followers)
