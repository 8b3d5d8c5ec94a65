"""How many calls may be in flight at once, whoever makes them."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict


class CallLimiter:
    """Places for calls in flight, first come, first served.

    One object may serve any number of event loops and threads at once, as the default one does:
    it is for all selections of the process.

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
        limit: How many places there are.

    Raises:
        ValueError: There is not even one.
    """

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        self.limit = limit
        """How many places there are."""
        self._free = limit
        self._lock = threading.Lock()
        # Not a deque: who is cancelled leaves from the middle of the line.
        self._line: OrderedDict[_Waiter, None] = OrderedDict()

    @property
    def free(self) -> int:
        """How many places nobody has."""
        return self._free

    def take(self, count: int = 1) -> int:
        """Takes up to so many places without waiting; says how many it could have."""
        with self._lock:
            # Where some are waiting, none is free: a place that is given back is handed on.
            taken = min(count, self._free)
            self._free -= taken
            return taken

    async def acquire(self) -> None:
        """Takes a place when it is one's turn."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            waiter = _Waiter()
            self._line[waiter] = None
        try:
            await waiter.turn
        except BaseException:
            with self._lock:
                granted = waiter.granted
                self._line.pop(waiter, None)
            if granted:
                self.release()
            raise

    def release(self) -> None:
        """Gives a place back."""
        with self._lock:
            while self._line:
                waiter, _ = self._line.popitem(last=False)
                waiter.granted = True
                try:
                    waiter.loop.call_soon_threadsafe(waiter.call_up)
                except RuntimeError:
                    # Its event loop was closed, and it will never come.
                    continue
                return
            self._free += 1


class _Waiter:
    """Somebody in line."""

    __slots__ = ("granted", "loop", "turn")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.turn: asyncio.Future[None] = self.loop.create_future()
        self.granted = False

    def call_up(self) -> None:
        """It is its turn."""
        if not self.turn.done():
            self.turn.set_result(None)


PROCESS = CallLimiter(32)
"""For all selections that are given no other."""
