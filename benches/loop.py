"""Cost of a run for the event loop: CPU time, and the longest block."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

Run = Callable[[], Awaitable[object]]


async def seconds_of(run: Run, rounds: int) -> float:
    """Return the CPU time of one round, in seconds."""
    begun = time.process_time()
    for _ in range(rounds):
        await run()
    return (time.process_time() - begun) / rounds


async def longest_block(run: Run) -> float:
    """Return the longest time for which nothing else ran on the loop.

    The time is in CPU seconds of this thread, which other processes do not affect.
    """
    longest = 0.0
    done = False

    async def tick() -> None:
        nonlocal longest
        before = time.thread_time()
        while not done:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest = max(longest, now - before)
            before = now

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    await run()
    done = True
    await ticking
    return longest
