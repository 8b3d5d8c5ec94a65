"""Reliable cancellation of tasks."""

from __future__ import annotations

import asyncio

_RETRY_INTERVAL = 0.05


async def cancel_and_wait(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks, and wait until they have ended.

    Cancellation is repeated, because `asyncio.wait_for` before Python 3.12 loses a cancellation
    that arrives at the same moment as the result it waits for.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_RETRY_INTERVAL)
