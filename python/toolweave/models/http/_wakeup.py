"""Wakeups of an event loop for replies that have data."""

from __future__ import annotations

import asyncio
import os
import weakref
from typing import TYPE_CHECKING, Any

from ..._aio.loops import running_loop
from ..._core import HttpWakeup

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextvars import Context

    from ..._core import HttpReply

_MAX_BATCH = 64
"""Maximum number of readers that are woken in one iteration of the loop."""


class LoopWakeup:
    """Wakeup of the readers of one event loop.

    It exists while a reply is read on that loop. `inner` is the socket that requests write to. It
    is None on a loop that cannot watch sockets, such as the proactor loop of Windows, where each
    wait has a future of its own.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # A weak reference, since the loop refers to this object.
        self._loop = weakref.ref(loop)
        self._process = os.getpid()
        self._readers = 0
        self._futures: dict[int, asyncio.Future[None]] = {}
        self._callbacks: dict[int, Callable[[], object]] = {}
        self.inner = _create_socket(loop, self._notify)

    def open(self) -> None:
        """Add a reader."""
        self._readers += 1

    def close(self) -> None:
        """Remove a reader; after the last one, close the socket."""
        self._readers -= 1
        # After a fork, the loop shares its selector with that of the parent.
        if self._readers or self._process != os.getpid():
            return
        loop = self._loop()
        if loop is not None:
            _WAKEUPS.pop(loop, None)
            if self.inner is not None and not loop.is_closed():
                loop.remove_reader(self.inner.fileno())
        if self.inner is not None:
            self.inner.close()

    def subscribe(self, key: int, callback: Callable[[], object]) -> None:
        """Call a function on each wakeup for a key, until `discard`."""
        self._callbacks[key] = callback

    def discard(self, key: int) -> None:
        """Remove the callback and the future of a key."""
        self._callbacks.pop(key, None)
        self._futures.pop(key, None)

    def next(self, reply: HttpReply, loop: asyncio.AbstractEventLoop) -> Awaitable[None]:
        """Return an awaitable for the next data of a reply, for one task of the loop at a time."""
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
    """Return the wakeup of the running loop, with one more reader."""
    loop = running_loop()
    wakeup = _WAKEUPS.get(loop)
    if wakeup is None:
        wakeup = _WAKEUPS[loop] = LoopWakeup(loop)
    wakeup.open()
    return wakeup


def _create_socket(
    loop: asyncio.AbstractEventLoop, notify: Callable[[], None]
) -> HttpWakeup | None:
    """Return a socket that the loop watches; None if the loop cannot watch sockets."""
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
    """Event loop for use by the thread of requests; callbacks after its end are dropped."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def create_future(self) -> asyncio.Future[None]:
        """Create a future of the loop."""
        return self._loop.create_future()

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> None:
        """Schedule a callback on the loop's thread, unless the loop is closed."""
        try:
            self._loop.call_soon_threadsafe(callback, *args, context=context)
        except RuntimeError:
            if not self._loop.is_closed():
                raise
