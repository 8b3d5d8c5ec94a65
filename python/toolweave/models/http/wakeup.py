"""How an event loop hears that replies have something."""

from __future__ import annotations

import asyncio
import os
import weakref
from typing import TYPE_CHECKING, Any

from ..._core import HttpWakeup
from ..._loops import running_loop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextvars import Context

    from ..._core import HttpReply

_MAX_BATCH = 64
"""How many readers are woken before the loop gets to do something else."""


class LoopWakeup:
    """Wakes the readers of one event loop.

    It is there while a reply is read in that loop. `inner` is what requests ring; None in a loop
    that watches no sockets, as the proactor of Windows: there each wait has a future of its own.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # Not the loop itself, which holds this.
        self._loop = weakref.ref(loop)
        self._process = os.getpid()
        self._readers = 0
        self._futures: dict[int, asyncio.Future[None]] = {}
        self._callbacks: dict[int, Callable[[], object]] = {}
        self.inner = _create_socket(loop, self._notify)

    def open(self) -> None:
        """One more reply is read."""
        self._readers += 1

    def close(self) -> None:
        """One reply less is read; after the last the bell is gone."""
        self._readers -= 1
        # The loop of a fork shares what it watches with that of its parent.
        if self._readers or self._process != os.getpid():
            return
        loop = self._loop()
        if loop is not None:
            _WAKEUPS.pop(loop, None)
            if self.inner is not None and not loop.is_closed():
                loop.remove_reader(self.inner.fileno())
        if self.inner is not None:
            self.inner.close()

    def listen(self, key: int, callback: Callable[[], object]) -> None:
        """Has a function called when the rope with this key is pulled, until it is forgotten."""
        self._callbacks[key] = callback

    def forget(self, key: int) -> None:
        """Nobody listens or waits for this key any more."""
        self._callbacks.pop(key, None)
        self._futures.pop(key, None)

    def next(self, reply: HttpReply, loop: asyncio.AbstractEventLoop) -> Awaitable[None]:
        """There is something to take. Awaited on the loop's thread, by one task at a time."""
        if self.inner is None:
            return reply.ready(LoopProxy(loop))
        future = self._futures[reply.key] = loop.create_future()
        return future

    def _notify(self) -> None:
        if self.inner is None:
            return
        for key in self.inner.ready_keys(_MAX_BATCH):
            future = self._futures.pop(key, None)
            if future is not None:
                if not future.done():
                    future.set_result(None)
            elif key in self._callbacks:
                self._callbacks[key]()


_WAKEUPS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopWakeup] = (
    weakref.WeakKeyDictionary()
)


def open_wakeup() -> LoopWakeup:
    """The bell of the running loop, open for one more reply."""
    loop = running_loop()
    wakeup = _WAKEUPS.get(loop)
    if wakeup is None:
        wakeup = _WAKEUPS[loop] = LoopWakeup(loop)
    wakeup.open()
    return wakeup


def _create_socket(
    loop: asyncio.AbstractEventLoop, notify: Callable[[], None]
) -> HttpWakeup | None:
    """A bell that the loop watches, if it can."""
    try:
        wakeup = HttpWakeup()
        try:
            loop.add_reader(wakeup.fileno(), notify)
        except BaseException:
            wakeup.close()
            raise
    except NotImplementedError:
        return None
    return wakeup


class LoopProxy:
    """The loop as a request's thread sees it: what comes after its end is dropped."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def create_future(self) -> asyncio.Future[None]:
        """A future of the loop."""
        return self._loop.create_future()

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> None:
        """Calls back on the loop's thread, if the loop is still there."""
        try:
            self._loop.call_soon_threadsafe(callback, *args, context=context)
        except RuntimeError:
            if not self._loop.is_closed():
                raise
