"""How many calls may be in flight at once, whoever makes them."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from .._checks import check_count

if TYPE_CHECKING:
    from collections.abc import Callable


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
        check_count("limit", limit, 1)
        self.limit = limit
        """How many places there are."""
        self._free = limit
        self._lock = threading.Lock()
        # Not a deque: who is cancelled leaves from the middle of the line.
        self._waiters: OrderedDict[SlotWaiter, None] = OrderedDict()

    @property
    def free(self) -> int:
        """How many places nobody has."""
        return self._free

    def try_acquire(self, count: int = 1) -> int:
        """Takes up to so many places without waiting; says how many it could have."""
        with self._lock:
            # Where some are waiting, none is free: a place that is given back is handed on.
            taken = min(count, self._free)
            self._free -= taken
            return taken

    async def acquire(self) -> None:
        """Takes a place when it is one's turn."""
        if self.try_acquire():
            return
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        turn = self.enqueue(lambda: None if called.done() else called.set_result(None))
        try:
            await called
        except BaseException:
            turn.leave()
            raise

    def enqueue(self, called: Callable[[], object]) -> SlotWaiter:
        """Lines up for a place without waiting for it.

        Args:
            called: Called on the running event loop, once it is one's turn. Whoever takes the
                place then gives it back with `release`, and has done with the turn.
        """
        turn = SlotWaiter(self, called)
        with self._lock:
            if not self._free:
                self._waiters[turn] = None
                return turn
            self._free -= 1
        turn.grant()
        return turn

    def leave(self, turn: SlotWaiter) -> None:
        """Takes a turn out of the line; where its place was granted, that is given back."""
        with self._lock:
            self._waiters.pop(turn, None)
            granted = turn.granted
        if granted:
            self.release()

    def release(self) -> None:
        """Gives a place back."""
        with self._lock:
            while self._waiters:
                turn, _ = self._waiters.popitem(last=False)
                try:
                    turn.grant()
                except RuntimeError:
                    # Its event loop was closed, and it will never come.
                    continue
                return
            self._free += 1


class SlotWaiter:
    """Somebody in line at a limiter."""

    __slots__ = ("_called", "_left", "_limiter", "_loop", "granted")

    def __init__(self, limiter: CallLimiter, called: Callable[[], object]) -> None:
        self.granted = False
        """Whether it has a place, though it may not have heard of it."""
        self._limiter = limiter
        self._called = called
        self._left = False
        self._loop = asyncio.get_running_loop()

    def grant(self) -> None:
        """Grants it a place, and has it called on its event loop.

        Raises:
            RuntimeError: The loop was closed.
        """
        self._loop.call_soon_threadsafe(self._call)
        self.granted = True

    def leave(self) -> None:
        """Waits no longer; a place that has been granted is given back."""
        if not self._left:
            self._left = True
            self._limiter.leave(self)

    def _call(self) -> None:
        if not self._left:
            self._called()


PROCESS_LIMITER = CallLimiter(32)
"""For all selections that are given no other."""
