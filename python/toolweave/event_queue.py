"""What a run tells, until it is read.

A run puts events in as they happen, and whoever reads the run takes them out. Others can wait until
the reader has come as far as the run: so what a journal writes comes behind what was said before.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Generic, TypeVar

E = TypeVar("E")

BACKLOG = 1024
"""How many events may wait to be read before progress is dropped."""

_log = logging.getLogger("toolweave")


class EventQueue(Generic[E]):
    """Events in the order in which they happened, for one reader at a time.

    The reader is done with what it was given when it asks for more. All of it is on one event loop.
    """

    __slots__ = (
        "_closed",
        "_done",
        "_error",
        "_events",
        "_missed",
        "_progress",
        "_released",
        "_taken",
        "_waiter",
    )

    def __init__(self) -> None:
        self._events: deque[E] = deque()
        # How many events were taken out, and with how many of these the reader is done.
        self._taken = 0
        self._done = 0
        self._waiter: asyncio.Future[None] | None = None
        self._progress: asyncio.Event | None = None
        self._closed = False
        self._error: BaseException | None = None
        self._released = False
        self._missed = False

    # For the run.

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will come."""
        return self._closed

    def put(self, event: E) -> None:
        """Tells of an event."""
        self._events.append(event)
        if self._waiter is not None:
            self._wake_reader()

    def offer(self, event: E) -> None:
        """Tell of progress, which a reader who is far behind misses.

        A tool may report without end, so this is what keeps the memory of a run bounded. Starts
        and results are as many as the calls, and are always put.
        """
        if len(self._events) < BACKLOG:
            self.put(event)
        elif not self._missed:
            self._missed = True
            _log.warning(
                "the reader of a run is too slow and misses progress; this is logged once for each"
            )

    def end(self, error: BaseException | None = None) -> None:
        """Says that nothing more will come. Only the first end counts.

        Args:
            error: What is raised for the reader, once, behind the last event.
        """
        if self._closed:
            return
        self._closed = True
        self._error = error
        if self._waiter is not None:
            self._wake_reader()

    def release(self) -> None:
        """Says that from now on nobody is to wait for the reader, who may be leaving."""
        self._released = True
        if self._progress is not None:
            self._progress.set()

    def _wake_reader(self) -> None:
        # Once is enough, however much comes before the reader looks.
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # For the reader.

    async def take(self) -> E:
        """Waits for the next event.

        Raises:
            RuntimeError: Another task is waiting already.
            StopAsyncIteration: It is over. Or the error that it ended with.
        """
        self._begin_read()
        while not self._events:
            if self._closed:
                error, self._error = self._error, None
                if error is not None:
                    raise error
                raise StopAsyncIteration
            await self._wait()
        self._taken += 1
        return self._events.popleft()

    async def take_all(self) -> deque[E]:
        """Waits until there are events, and takes all of them; none when it is over.

        Raises:
            RuntimeError: Another task is waiting already.
        """
        self._begin_read()
        while not self._events and not self._closed:
            await self._wait()
        events, self._events = self._events, deque()
        self._taken += len(events)
        return events

    def _begin_read(self) -> None:
        if self._waiter is not None:
            raise RuntimeError("a run has one reader at a time, and another task is reading it")
        self._done = self._taken
        if self._progress is not None:
            self._progress.set()

    async def _wait(self) -> None:
        waiter = self._waiter = asyncio.get_running_loop().create_future()
        try:
            await waiter
        finally:
            if self._waiter is waiter:
                self._waiter = None

    # For others.

    async def caught_up(self) -> None:
        """Waits until the reader is done with all that has been put so far, or is released."""
        put = self._taken + len(self._events)
        while self._done < put and not self._released:
            if self._progress is None:
                self._progress = asyncio.Event()
            self._progress.clear()
            await self._progress.wait()
