"""Many deadlines on one timer of the event loop.

A timer for each call costs more than most calls, and most of them never ring.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio


class Expirable(Protocol):
    """Something with a deadline."""

    def expire(self, now: float) -> float | None:
        """Called when a deadline has come.

        Args:
            now: The time of the event loop.

        Returns:
            When to be called again, as where the deadline was moved meanwhile; None for never.
        """
        ...


class Deadlines:
    """Calls `expire` when the time has come.

    Moving or dropping a deadline costs nothing: whoever has done so says so when asked.
    """

    __slots__ = ("_count", "_handle", "_heap", "_loop", "_next")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heap: list[tuple[float, int, Expirable]] = []
        # Keeps those with the same deadline in order, and them from being compared.
        self._count = 0
        self._handle: asyncio.TimerHandle | None = None
        self._next = float("inf")

    def add(self, when: float, item: Expirable) -> None:
        """Adds a deadline, in the time of the event loop."""
        self._count += 1
        heapq.heappush(self._heap, (when, self._count, item))
        if when < self._next:
            self._arm()

    def close(self) -> None:
        """Drops all deadlines."""
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
                # Never at once: a deadline that is not in the future would ring for ever.
                self._count += 1
                heapq.heappush(self._heap, (max(next_deadline, now + 1e-6), self._count, item))
        if self._heap:
            self._arm()
