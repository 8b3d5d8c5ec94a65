"""From many calls to the one who watches them."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .events import ToolEvent


class Mailbox:
    """Events in the order in which they happened, for one reader.

    Args:
        loop: The event loop that both sides are on.
        keeps: Whether events are kept; without it there is only the bell.
    """

    __slots__ = ("_keeps", "_loop", "_waiter", "events")

    def __init__(self, loop: asyncio.AbstractEventLoop, *, keeps: bool) -> None:
        self.events: deque[ToolEvent] = deque()
        """What has not been read."""
        self._loop = loop
        self._keeps = keeps
        self._waiter: asyncio.Future[None] | None = None

    def put(self, event: ToolEvent) -> None:
        """Adds an event."""
        if self._keeps:
            self.events.append(event)
            if self._waiter is not None:
                self.ring()

    def empty(self) -> deque[ToolEvent]:
        """Takes out all events."""
        events, self.events = self.events, deque()
        return events

    def ring(self) -> None:
        """Wakes the reader, event or not."""
        # Once is enough, however much comes before the reader looks.
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def wait(self) -> None:
        """Returns when there is something new.

        Raises:
            RuntimeError: Somebody waits already.
        """
        if self._waiter is not None:
            raise RuntimeError("a run has one reader at a time, and another task is reading it")
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        except asyncio.CancelledError:
            self._waiter = None
            raise
