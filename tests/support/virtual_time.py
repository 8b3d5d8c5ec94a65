"""An event loop with virtual time, and a runner that checks for leftovers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from toolweave.executor import _threads as threads

T = TypeVar("T")


MOMENT = 0.05
"""Real seconds to wait for a working thread before the time advances."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop that, when idle, advances its clock to the next timer at once.

    Functions in threads take no time, unless they block.
    """

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._in_threads: set[asyncio.Future[Any]] = set()

    def time(self) -> float:
        return self._now

    def run_in_executor(self, *arguments: Any) -> Any:
        future = super().run_in_executor(*arguments)
        self._in_threads.add(future)
        future.add_done_callback(self._in_threads.discard)
        return future

    def _run_once(self) -> None:
        if not self._ready:
            timers = [timer._when for timer in self._scheduled if not timer._cancelled]
            if timers and (self._in_threads or _threads_work()):
                self._process_events(self._selector.select(MOMENT))
            if timers and not self._ready:
                self._now = max(self._now, min(timers))
        super()._run_once()


def _threads_work() -> bool:
    """Return true if a function runs, or is queued, in a pool of the package."""
    return any(
        pool._tasks or pool._threads > pool._idle + len(pool._abandoned)
        for pool in list(threads._pools)
    )


def now() -> float:
    """Return the time of the running loop: the clock of executors in these tests."""
    return asyncio.get_running_loop().time()


async def _some_turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def run(main: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop | None = None) -> T:
    """Run a test, and check that no task and no asynchronous generator is left."""
    if loop is None:
        loop = VirtualTimeLoop()
    unhandled: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: unhandled.append(context))
    try:
        result = loop.run_until_complete(main)
        # The garbage collector closes generators of other packages' clients.
        loop.run_until_complete(_some_turns())
        left = asyncio.all_tasks(loop)
        assert not left, left
        assert not unhandled, unhandled
        return result
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
