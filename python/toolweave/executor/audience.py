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


class Audience:
    """One reader, who takes events when it likes, and the observers.

    Args:
        watched: Whether there is a reader; without one, events are not kept.
        observers: Who else hears of them.
    """

    __slots__ = ("_observers", "_watched", "attentive", "event_queue")

    def __init__(self, *, watched: bool, observers: Observers | None) -> None:
        self.attentive = watched or observers is not None
        """Whether there is anybody."""
        self.event_queue: EventQueue[ToolEvent] = EventQueue()
        """What has not been read."""
        self._watched = watched
        self._observers = observers

    def tell(self, event: ToolEvent, execution: Execution) -> None:
        """Says what happened to a call. Of calls that tools make only observers hear."""
        if self._watched and execution.parent is None:
            if isinstance(event, ToolProgress):
                self.event_queue.offer(event)
            else:
                self.event_queue.put(event)
        if self._observers is not None:
            self._observers.notify(event, execution.call)

    def announce(self, event: ToolEvent, call: ToolCall | InvalidToolCall | None) -> None:
        """Says what everybody has to hear: results without work, questions, the end."""
        if self._watched:
            self.event_queue.put(event)
        if self._observers is not None:
            self._observers.notify(event, call)

    async def leave(self, grace: float) -> None:
        """Waits until the observers have heard everything, for so many seconds at most."""
        if self._observers is not None:
            await self._observers.drain(grace)
