"""Those who hear what happens to the calls of a reply."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._core import InvalidToolCall, ToolCall
    from .call import Execution
    from .events import ToolEvent
    from .observers import Observers


class Audience:
    """One reader, who takes events when it likes, and the observers.

    Args:
        loop: The event loop that all of them are on.
        watched: Whether there is a reader; without one, events are not kept.
        observers: Who else hears of them.
    """

    __slots__ = ("_loop", "_observers", "_waiter", "_watched", "attentive", "events")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, watched: bool, observers: Observers | None
    ) -> None:
        self.attentive = watched or observers is not None
        """Whether there is anybody."""
        self.events: deque[ToolEvent] = deque()
        """What has not been read."""
        self._loop = loop
        self._watched = watched
        self._observers = observers
        self._waiter: asyncio.Future[None] | None = None

    def tell(self, event: ToolEvent, execution: Execution) -> None:
        """Says what happened to a call. Of calls that tools make only observers hear."""
        if self._watched and execution.parent is None:
            self.events.append(event)
            if self._waiter is not None:
                self.ring()
        if self._observers is not None:
            self._observers.notify(event, execution.call)

    def announce(self, event: ToolEvent, call: ToolCall | InvalidToolCall | None) -> None:
        """Says what everybody has to hear: results without work, questions, the end."""
        if self._watched:
            self.events.append(event)
            self.ring()
        if self._observers is not None:
            self._observers.notify(event, call)

    def ring(self) -> None:
        """Wakes the reader, event or not."""
        # Once is enough, however much comes before the reader looks.
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def take(self) -> deque[ToolEvent]:
        """Takes out all events, for the reader."""
        events, self.events = self.events, deque()
        return events

    async def wait(self) -> None:
        """Returns when there is something new, for the reader.

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

    async def leave(self, grace: float) -> None:
        """Waits until the observers have heard everything, for so many seconds at most."""
        if self._observers is not None:
            await self._observers.drain(grace)
