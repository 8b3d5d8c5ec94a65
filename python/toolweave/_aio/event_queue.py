"""The queue of events between a run and its reader.

A run puts events in as they occur, and its reader takes them out. Other tasks can wait until the
reader has caught up, so that a journal records a call after the events that precede it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Generic, TypeVar

E = TypeVar("E")

BACKLOG = 1024
"""Maximum number of unread events before progress events are dropped."""

_log = logging.getLogger("toolweave")


class EventQueue(Generic[E]):
    """A queue of events in order, for one reader at a time.

    The reader has processed an event when it asks for the next one. A queue belongs to one event
    loop.
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
        # Number of events taken out, and number of those that the reader has processed.
        self._taken = 0
        self._done = 0
        self._waiter: asyncio.Future[None] | None = None
        self._progress: asyncio.Event | None = None
        self._closed = False
        self._error: BaseException | None = None
        self._released = False
        self._missed = False

    # Methods for the run.

    @property
    def is_closed(self) -> bool:
        """True if no more events will follow."""
        return self._closed

    def put(self, event: E) -> None:
        """Add an event."""
        self._events.append(event)
        if self._waiter is not None:
            self._wake_reader()

    def offer(self, event: E) -> None:
        """Add a progress event, unless the reader is too far behind.

        A tool may report progress without end, so dropping it bounds the memory of a run. The
        number of starts and results is bounded by the number of calls, so they are always added.
        """
        if len(self._events) < BACKLOG:
            self.put(event)
        elif not self._missed:
            self._missed = True
            _log.warning(
                "the reader of a run is too slow and misses progress; this is logged once per run"
            )

    def end(self, error: BaseException | None = None) -> None:
        """Close the queue. Further calls have no effect.

        Args:
            error: The exception to raise to the reader, once, after the last event.
        """
        if self._closed:
            return
        self._closed = True
        self._error = error
        if self._waiter is not None:
            self._wake_reader()

    def release(self) -> None:
        """Let `caught_up` return from now on: the reader may have stopped reading."""
        self._released = True
        if self._progress is not None:
            self._progress.set()

    def _wake_reader(self) -> None:
        # One wakeup is enough, however many events are added before the reader runs.
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # Methods for the reader.

    async def take(self) -> E:
        """Wait for the next event.

        Raises:
            RuntimeError: Another task is already waiting.
            StopAsyncIteration: The queue is closed. If it was closed with an error, the first call
                raises that error instead.
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
        """Wait for events and return all of them; empty if the queue is closed.

        Raises:
            RuntimeError: Another task is already waiting.
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

    # Methods for other tasks.

    async def caught_up(self) -> None:
        """Wait until the reader has processed all events added so far, or the queue is released."""
        put = self._taken + len(self._events)
        while self._done < put and not self._released:
            if self._progress is None:
                self._progress = asyncio.Event()
            self._progress.clear()
            await self._progress.wait()
