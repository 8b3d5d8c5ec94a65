"""Tasks that must end before their caller does."""

from __future__ import annotations

import asyncio
from typing import Any

_RETRY_INTERVAL = 0.05


async def cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and wait until they have ended.

    Cancellation is repeated, because `asyncio.wait_for` before Python 3.12 loses a cancellation
    that arrives at the same moment as the result it waits for.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_RETRY_INTERVAL)


async def wait_until_done(future: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Wait until a task or future is done, even if the caller is cancelled meanwhile.

    Returns:
        The cancellation of the caller, if any, to be raised when the caller is ready for it.
    """
    cancellation: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait((future,))
        except asyncio.CancelledError as error:  # noqa: PERF203 - cancelled, it waits again
            cancellation = error
    return cancellation


async def cancel_within(task: asyncio.Future[Any], seconds: float) -> bool:
    """Cancel a task whose outcome is not needed, and wait until it has ended.

    Args:
        task: The task.
        seconds: Maximum time to wait, in seconds.

    Returns:
        True if the task has ended.
    """
    task.cancel()
    task.add_done_callback(_retrieve_exception)
    await asyncio.wait((task,), timeout=seconds)
    return task.done()


def _retrieve_exception(task: asyncio.Future[Any]) -> None:
    # Otherwise, the event loop would log it.
    if not task.cancelled():
        task.exception()
