"""Results of earlier calls, and of the same call while it runs.

Who asks for a key is told one of three things: here is the result (`Hit`), go and get it
(`Leader`), or somebody is on the way (`Follower`).

Example:
    >>> async def main() -> Hit[int] | Leader[int] | Follower[int]:
    ...     cache: ResultCache[int] = ResultCache()
    ...     match cache.begin(cache.key("add", {"a": 1, "b": 2})):
    ...         case Leader() as leader:
    ...             leader.finish(3, ttl=60)
    ...     return cache.begin(cache.key("add", {"b": 2, "a": 1}))
    >>> asyncio.run(main())
    Hit(value=3)
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from typing_extensions import Self

T = TypeVar("T")


@dataclass(frozen=True)
class Hit(Generic[T]):
    """There is a result."""

    value: T
    """The result."""


class Leader(Generic[T]):
    """Whoever holds this runs the call, and says how it went exactly once.

    As a context manager it abandons the call if the block says nothing: nobody waits for a
    leader that is gone.
    """

    __slots__ = ("_cache", "_flight", "_is_finished", "_key")

    def __init__(self, cache: ResultCache[T], key: str, flight: _Flight[T] | None) -> None:
        self._cache = cache
        self._key = key
        self._flight = flight
        self._is_finished = False

    def finish(self, value: T, *, ttl: float | None = None) -> None:
        """The call succeeded: all who wait get the result.

        Args:
            value: The result.
            ttl: For how many seconds it is kept: None for ever, 0 not at all.
        """
        if self._finish_once():
            self._cache.store(self._key, value, ttl)
            for follower in self._end():
                follower.set_result(Hit(value))

    def fail(self) -> None:
        """The call failed: nothing is kept, and each of those who wait runs it alone.

        Side by side, that is: one after the other they would wait for each other's timeouts.
        """
        if self._finish_once():
            for follower in self._end():
                follower.set_result(Leader(self._cache, self._key, None))

    def abandon(self) -> None:
        """The call was given up before it had a result: the next in line leads."""
        if self._finish_once() and self._flight is not None:
            for position, follower in enumerate(self._flight.waiting):
                if not follower.done():
                    del self._flight.waiting[: position + 1]
                    follower.set_result(Leader(self._cache, self._key, self._flight))
                    return
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.abandon()

    def _finish_once(self) -> bool:
        first, self._is_finished = not self._is_finished, True
        return first

    def _end(self) -> list[asyncio.Future[Hit[T] | Leader[T]]]:
        if self._flight is None:
            return []
        self._cache.remove_flight(self._key, self._flight)
        return [follower for follower in self._flight.waiting if not follower.done()]


class Follower(Generic[T]):
    """The same call is running."""

    __slots__ = ("_future",)

    def __init__(self, future: asyncio.Future[Hit[T] | Leader[T]]) -> None:
        self._future = future

    async def outcome(self) -> Hit[T] | Leader[T]:
        """Waits for what comes of it: the result, or the word to run the call oneself."""
        try:
            return await self._future
        except asyncio.CancelledError:
            # The lead may have been handed over just before: it goes to the next.
            self.leave()
            raise

    def leave(self) -> None:
        """Waits no longer."""
        if self._future.done() and not self._future.cancelled():
            found = self._future.result()
            if isinstance(found, Leader):
                found.abandon()
        self._future.cancel()


class _Flight(Generic[T]):
    """A call that is running, and those who wait for it."""

    __slots__ = ("loop", "waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.waiting: list[asyncio.Future[Hit[T] | Leader[T]]] = []


class ResultCache(Generic[T]):
    """Results by tool and arguments. Errors are never kept.

    One event loop at a time may use it, and one after another.

    Args:
        max_entries: How many results are kept; the one that was not asked for the longest goes
            first.
        clock: The time in seconds, from any origin.
    """

    def __init__(
        self, max_entries: int = 1024, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if max_entries < 1:
            raise ValueError(f"max_entries must be at least 1, not {max_entries}")
        self._max_entries = max_entries
        self._clock = clock
        # In the order of use, the oldest first.
        self._entries: dict[str, tuple[T, float]] = {}
        self._flights: dict[str, _Flight[T]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @staticmethod
    def key(name: str, arguments: Mapping[str, Any]) -> str:
        """What calls have in common that are the same.

        The order of keys does not matter. ``1``, ``1.0`` and ``true`` are different: to a JSON
        Schema the first two are one number, but Python functions can tell them apart, and a
        result that is fetched twice is better than one that belongs to another call.

        Args:
            name: The tool.
            arguments: JSON values.
        """
        return json.dumps((name, arguments), sort_keys=True, separators=(",", ":"))

    def begin(self, key: str) -> Hit[T] | Leader[T] | Follower[T]:
        """Asks for a result. To be called on a running event loop."""
        entry = self._entries.pop(key, None)
        if entry is not None and entry[1] > self._clock():
            self._entries[key] = entry
            return Hit(entry[0])
        loop = asyncio.get_running_loop()
        flight = self._flights.get(key)
        # A leader on another loop died with it, or will not be heard from here.
        if flight is None or flight.loop is not loop:
            flight = self._flights[key] = _Flight(loop)
            return Leader(self, key, flight)
        future: asyncio.Future[Hit[T] | Leader[T]] = loop.create_future()
        flight.waiting.append(future)
        return Follower(future)

    def clear(self) -> None:
        """Forgets every result. What is running is not touched."""
        self._entries.clear()

    def store(self, key: str, value: T, ttl: float | None) -> None:
        """Keeps a result for `ttl` seconds: None for ever, 0 not at all."""
        self._entries.pop(key, None)
        if ttl is not None and ttl <= 0:
            return
        until = float("inf") if ttl is None else self._clock() + ttl
        self._entries[key] = (value, until)
        if len(self._entries) > self._max_entries:
            del self._entries[next(iter(self._entries))]

    def remove_flight(self, key: str, flight: _Flight[T]) -> None:
        """A call is over; whoever asks next runs it again."""
        if self._flights.get(key) is flight:
            del self._flights[key]
