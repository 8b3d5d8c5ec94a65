"""Publication of the events of a run to its reader and its observers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._aio.event_queue import EventQueue
from ._events import ToolProgress

if TYPE_CHECKING:
    from .._core import InvalidToolCall, ToolCall
    from ._call import Execution
    from ._events import ToolEvent
    from ._observers import Observers


class EventPublisher:
    """Publisher of events to the one reader of a run, through a queue, and to the observers.

    Args:
        keep_events: True to queue events for a reader.
        observers: The observers, if any.
    """

    __slots__ = ("_keep_events", "_observers", "event_queue", "has_subscribers")

    def __init__(self, *, keep_events: bool, observers: Observers | None) -> None:
        self.has_subscribers = keep_events or observers is not None
        """True if there is a reader or an observer."""
        self.event_queue: EventQueue[ToolEvent] = EventQueue()
        """Events that have not been read."""
        self._keep_events = keep_events
        self._observers = observers

    def emit(self, event: ToolEvent, execution: Execution) -> None:
        """Emit an event of one call. Events of nested calls go to observers only."""
        if self._keep_events and execution.parent is None:
            if isinstance(event, ToolProgress):
                self.event_queue.offer(event)
            else:
                self.event_queue.put(event)
        if self._observers is not None:
            self._observers.notify(event, execution.call)

    def publish(self, event: ToolEvent, call: ToolCall | InvalidToolCall | None) -> None:
        """Publish an event to the reader and the observers, and never drop it.

        For results of calls that did not run, questions, decisions and the aggregate.
        """
        if self._keep_events:
            self.event_queue.put(event)
        if self._observers is not None:
            self._observers.notify(event, call)

    async def drain(self, grace: float) -> None:
        """Wait until the observers have received all events, at most `grace` seconds."""
        if self._observers is not None:
            await self._observers.drain(grace)
