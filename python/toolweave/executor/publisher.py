"""Those who hear what happens to the calls of a reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..event_queue import EventQueue
from .events import ToolProgress

if TYPE_CHECKING:
    from .._core import InvalidToolCall, ToolCall
    from .call import Execution
    from .events import ToolEvent
    from .observers import Observers


class EventPublisher:
    """One reader, who takes events when it likes, and the observers.

    Args:
        keep_events: Whether there is a reader; without one, events are not kept.
        observers: Who else hears of them.
    """

    __slots__ = ("_keep_events", "_observers", "event_queue", "has_subscribers")

    def __init__(self, *, keep_events: bool, observers: Observers | None) -> None:
        self.has_subscribers = keep_events or observers is not None
        """Whether there is anybody."""
        self.event_queue: EventQueue[ToolEvent] = EventQueue()
        """What has not been read."""
        self._watched = keep_events
        self._observers = observers

    def emit(self, event: ToolEvent, execution: Execution) -> None:
        """Says what happened to a call. Of calls that tools make only observers hear."""
        if self._watched and execution.parent is None:
            if isinstance(event, ToolProgress):
                self.event_queue.offer(event)
            else:
                self.event_queue.put(event)
        if self._observers is not None:
            self._observers.notify(event, execution.call)

    def publish(self, event: ToolEvent, call: ToolCall | InvalidToolCall | None) -> None:
        """Says what everybody has to hear: results without work, questions, the end."""
        if self._watched:
            self.event_queue.put(event)
        if self._observers is not None:
            self._observers.notify(event, call)

    async def drain(self, grace: float) -> None:
        """Waits until the observers have heard everything, for so many seconds at most."""
        if self._observers is not None:
            await self._observers.drain(grace)
