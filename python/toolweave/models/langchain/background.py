"""An event loop for callers that have none."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from ..streaming import closing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator

T = TypeVar("T")

_lock = threading.Lock()
_running: tuple[int, asyncio.AbstractEventLoop] | None = None


def _loop() -> asyncio.AbstractEventLoop:
    """The loop of this process, in a thread of its own.

    It is the same for all calls: clients keep connections open, and those belong to a loop.
    """
    global _running
    with _lock:
        # A fork has a copy of the loop, but not the thread that runs it.
        if _running is None or _running[0] != os.getpid():
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="toolweave", daemon=True)
            thread.start()
            _running = os.getpid(), loop
        return _running[1]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Waits for a coroutine from code that is not async, whether or not a loop runs around it.

    Context variables reach it. What interrupts the caller cancels it.
    """
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    finally:
        future.cancel()


def iterate(source: AsyncIterator[T]) -> Iterator[T]:
    """Yields what an async iterator does, from code that is not async; see `run`.

    It is read in one task from beginning to end, and closed when nobody reads any more.
    """
    items: queue.SimpleQueue[tuple[T] | None] = queue.SimpleQueue()

    async def read() -> None:
        try:
            async with closing(source):
                async for item in source:
                    items.put((item,))
        finally:
            items.put(None)

    future = asyncio.run_coroutine_threadsafe(read(), _loop())
    try:
        while (item := items.get()) is not None:
            yield item[0]
        future.result()
    finally:
        future.cancel()
