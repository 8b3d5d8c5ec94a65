"""Many deadlines on one timer of the event loop.

A timer for each call would cost more than most calls, and most of them would never fire.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio


class Expirable(Protocol):
    """An object with a deadline."""

    def expire(self, now: float) -> float | None:
        """Handle a deadline that has passed.

        Args:
            now: The time of the event loop.

        Returns:
            The next deadline, such as one that was moved meanwhile; None if there is none.
        """
        ...


class Deadlines:
    """A timer that calls `expire` when a deadline has passed.

    Moving or dropping a deadline is free: the object reports the new deadline when it is called.
    """

    __slots__ = ("_count", "_handle", "_heap", "_loop", "_next")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heap: list[tuple[float, int, Expirable]] = []
        # Breaks ties between equal deadlines, so that the objects are never compared.
        self._count = 0
        self._handle: asyncio.TimerHandle | None = None
        self._next = float("inf")

    def add(self, when: float, item: Expirable) -> None:
        """Add a deadline, in the time of the event loop."""
        self._count += 1
        heapq.heappush(self._heap, (when, self._count, item))
        if when < self._next:
            self._arm()

    def close(self) -> None:
        """Drop all deadlines."""
        self._heap.clear()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._next = float("inf")

    def _arm(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._next = self._heap[0][0]
        self._handle = self._loop.call_at(self._next, self._fire)

    def _fire(self) -> None:
        self._handle = None
        self._next = float("inf")
        now = self._loop.time()
        while self._heap and self._heap[0][0] <= now:
            item = heapq.heappop(self._heap)[2]
            next_deadline = item.expire(now)
            if next_deadline is not None:
                # Not immediately: a deadline that is not in the future would fire for ever.
                self._count += 1
                heapq.heappush(self._heap, (max(next_deadline, now + 1e-6), self._count, item))
        if self._heap:
            self._arm()
