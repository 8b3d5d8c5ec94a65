"""Start of many streams before the measurement."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

TIMEOUT = 300.0
"""Timeout of a benchmark, in seconds."""

_AT_ONCE = 50
"""Number of concurrent connection attempts."""

_T = TypeVar("_T")


async def start_streams(
    read: Callable[[asyncio.Event], Coroutine[Any, Any, _T]], streams: int
) -> list[asyncio.Task[_T]]:
    """Start reading streams, each of which sets its event on its first token.

    Raises:
        TimeoutError: A stream did not start.
        Exception: A stream failed.
    """
    tasks: list[asyncio.Task[_T]] = []
    while len(tasks) < streams:
        started: list[tuple[asyncio.Task[_T], asyncio.Task[Any]]] = []
        for _ in range(min(_AT_ONCE, streams - len(tasks))):
            event = asyncio.Event()
            tasks.append(asyncio.create_task(read(event)))
            started.append((tasks[-1], asyncio.create_task(event.wait())))
        for task, beginning in started:
            await asyncio.wait(
                [task, beginning], timeout=TIMEOUT, return_when=asyncio.FIRST_COMPLETED
            )
            if not beginning.done():
                beginning.cancel()
                if task.done():
                    task.result()
                raise TimeoutError("a stream did not start")
    return tasks
