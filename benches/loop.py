"""What running something costs an event loop: CPU time, and how long it stands still."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

Run = Callable[[], Awaitable[object]]


async def seconds_of(run: Run, rounds: int) -> float:
    """CPU time of one round, in seconds."""
    begun = time.process_time()
    for _ in range(rounds):
        await run()
    return (time.process_time() - begun) / rounds


async def longest_block(run: Run) -> float:
    """For how long nothing else on the loop had its turn, at the worst.

    In CPU seconds of this thread: what other processes do on a busy machine is not the run's fault.
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
