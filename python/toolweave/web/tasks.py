"""Ending tasks for certain."""

from __future__ import annotations

import asyncio

_RETRY_INTERVAL = 0.05


async def cancel_and_wait(*tasks: asyncio.Task[None]) -> None:
    """Cancels tasks and waits until they have ended.

    Again and again: `asyncio.wait_for` of Python before 3.12 loses a cancellation that comes in the
    same moment as what it waits for.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_RETRY_INTERVAL)
