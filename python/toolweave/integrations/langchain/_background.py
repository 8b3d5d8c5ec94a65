"""Background event loop for synchronous callers."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from ...models._streaming import closing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator

T = TypeVar("T")

_lock = threading.Lock()
_running: tuple[int, asyncio.AbstractEventLoop] | None = None


def _loop() -> asyncio.AbstractEventLoop:
    """Return the background loop of this process, which runs in a thread.

    All calls share it, because clients keep connections open that belong to a loop.
    """
    global _running
    with _lock:
        # A forked process has a copy of the loop, but not the thread that runs it.
        if _running is None or _running[0] != os.getpid():
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="toolweave", daemon=True)
            thread.start()
            _running = os.getpid(), loop
        return _running[1]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from synchronous code, even inside a running event loop.

    The coroutine sees the context variables of the caller, and is cancelled if the caller is
    interrupted.
    """
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    finally:
        future.cancel()


def iterate(source: AsyncIterator[T]) -> Iterator[T]:
    """Iterate over an async iterator from synchronous code; see `run`.

    One task reads it from beginning to end, and closes it when the iteration stops.
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
