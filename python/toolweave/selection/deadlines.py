"""When calls are too late: one timer for all of them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable


class Timed(Protocol):
    """A call that may be late."""

    deadline: float
    """By when it has to be over, on the clock of the event loop."""

    @property
    def open(self) -> bool:
        """Whether anybody waits for what becomes of it."""
        ...


C = TypeVar("C", bound=Timed)


class Deadlines(Generic[C]):
    """Says which calls are late.

    Args:
        loop: Whose clock it goes by.
        seconds: How long each may take; None for ever.
        late: Told of each that is still open then.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float | None, late: Callable[[C], object]
    ) -> None:
        self._loop = loop
        self._seconds = seconds
        self._late = late
        self._watched: deque[C] = deque()
        self._timer: asyncio.Handle | None = None

    def watch(self, calls: Iterable[C]) -> None:
        """The time of calls begins. All have the same, so they end in the order of their start."""
        if self._seconds is None:
            return
        deadline = self._loop.time() + self._seconds
        for call in calls:
            call.deadline = deadline
            self._watched.append(call)
        if self._timer is None and self._watched:
            # First in this very turn of the loop, after which many need no timer any more.
            self._timer = self._loop.call_soon(self._ring)

    def close(self) -> None:
        """Nobody is late any more."""
        self._watched.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self._timer = None
        now = self._loop.time()
        while self._watched:
            call = self._watched[0]
            if call.open and call.deadline > now:
                self._timer = self._loop.call_at(call.deadline, self._ring)
                return
            self._watched.popleft()
            if call.open:
                self._late(call)
