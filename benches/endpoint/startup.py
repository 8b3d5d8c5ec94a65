"""Many streams that begin before anything is measured."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

TIMEOUT = 300.0
"""Seconds until a benchmark gives up."""

_AT_ONCE = 50
"""How many connect at the same time."""

_T = TypeVar("_T")


async def start_streams(
    read: Callable[[asyncio.Event], Coroutine[Any, Any, _T]], streams: int
) -> list[asyncio.Task[_T]]:
    """Starts reading so many streams; each sets its event when it has its first token.

    Raises:
        TimeoutError: A stream did not begin.
        Exception: What one of them raised.
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
                raise TimeoutError("a stream did not begin")
    return tasks
