"""Limit on the calls in flight, shared by selections."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from .._checks import check_count

if TYPE_CHECKING:
    from collections.abc import Callable


class CallLimiter:
    """Limiter of concurrent calls, granted in FIFO order.

    It may be shared by any number of event loops and threads. The default limiter is shared by all
    selections of the process.

    Example:
        >>> async def main() -> int:
        ...     limiter = CallLimiter(2)
        ...     await limiter.acquire()
        ...     try:
        ...         return limiter.free
        ...     finally:
        ...         limiter.release()
        >>> asyncio.run(main())
        1

    Args:
        limit: Maximum number of concurrent calls.

    Raises:
        ValueError: `limit` is less than 1.
    """

    def __init__(self, limit: int) -> None:
        check_count("limit", limit, 1)
        self.limit = limit
        """Maximum number of concurrent calls."""
        self._free = limit
        self._lock = threading.Lock()
        # Not a deque: cancelled waiters leave from the middle of the queue.
        self._waiters: OrderedDict[SlotWaiter, None] = OrderedDict()

    @property
    def free(self) -> int:
        """Number of free slots."""
        return self._free

    def try_acquire(self, count: int = 1) -> int:
        """Acquire up to `count` free slots without waiting, and return how many were free."""
        with self._lock:
            # While there are waiters no slot is free: released slots are handed on.
            taken = min(count, self._free)
            self._free -= taken
            return taken

    async def acquire(self) -> None:
        """Acquire a slot, waiting for one in FIFO order."""
        if self.try_acquire():
            return
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = self.enqueue(lambda: None if called.done() else called.set_result(None))
        try:
            await called
        except BaseException:
            waiter.cancel()
            raise

    def enqueue(self, called: Callable[[], object]) -> SlotWaiter:
        """Queue for a slot without waiting for it.

        Args:
            called: Function to call on the running event loop when the slot is granted. It owns
                the slot and has to `release` it; the waiter is then done.
        """
        waiter = SlotWaiter(self, called)
        with self._lock:
            if not self._free:
                self._waiters[waiter] = None
                return waiter
            self._free -= 1
        waiter.grant()
        return waiter

    def discard(self, waiter: SlotWaiter) -> None:
        """Remove a waiter from the queue, and release its slot if it was granted."""
        with self._lock:
            self._waiters.pop(waiter, None)
            granted = waiter.granted
        if granted:
            self.release()

    def release(self) -> None:
        """Release a slot."""
        with self._lock:
            while self._waiters:
                waiter, _ = self._waiters.popitem(last=False)
                try:
                    waiter.grant()
                except RuntimeError:
                    # Its event loop is closed, so it will never take the slot.
                    continue
                return
            self._free += 1


class SlotWaiter:
    """Waiter in the queue of a limiter."""

    __slots__ = ("_called", "_cancelled", "_limiter", "_loop", "granted")

    def __init__(self, limiter: CallLimiter, called: Callable[[], object]) -> None:
        self.granted = False
        """True if a slot was granted, even if the function has not been called yet."""
        self._limiter = limiter
        self._called = called
        self._cancelled = False
        self._loop = asyncio.get_running_loop()

    def grant(self) -> None:
        """Grant a slot, and schedule the function on its event loop.

        Raises:
            RuntimeError: The loop is closed.
        """
        self._loop.call_soon_threadsafe(self._call)
        self.granted = True

    def cancel(self) -> None:
        """Cancel the wait, and release a slot that has been granted."""
        if not self._cancelled:
            self._cancelled = True
            self._limiter.discard(self)

    def _call(self) -> None:
        if not self._cancelled:
            self._called()


PROCESS_LIMITER = CallLimiter(32)
"""Default limiter, shared by all selections of the process."""
