"""A cache of results that runs identical calls only once at a time.

Looking up a key returns the cached result (`Hit`), the task to compute it (`Leader`), or a handle
that waits for the leader (`Follower`).

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
    from collections.abc import Callable, Hashable, Mapping
    from types import TracebackType

    from typing_extensions import Self

T = TypeVar("T")


@dataclass(frozen=True)
class Hit(Generic[T]):
    """A cached result."""

    value: T
    """The result."""


class Leader(Generic[T]):
    """The task to run a call and to report its outcome exactly once.

    As a context manager it abandons the call if the block reports no outcome, so that followers
    never wait for a leader that is gone.
    """

    __slots__ = ("_cache", "_flight", "_is_finished", "_key")

    def __init__(self, cache: ResultCache[T], key: Hashable, flight: _Flight[T] | None) -> None:
        self._cache = cache
        self._key = key
        self._flight = flight
        self._is_finished = False

    def finish(self, value: T, *, ttl: float | None = None) -> None:
        """Report success: all followers get the result.

        Args:
            value: The result.
            ttl: Seconds to keep the result: None for ever, 0 not at all.
        """
        if self._finish_once():
            self._cache.store(self._key, value, ttl)
            for follower in self._end():
                follower.set_result(Hit(value))

    def fail(self) -> None:
        """Report failure: nothing is cached, and every follower runs the call itself.

        They run it concurrently: one after the other they would wait for each other's timeouts.
        """
        if self._finish_once():
            for follower in self._end():
                follower.set_result(Leader(self._cache, self._key, None))

    def abandon(self) -> None:
        """Give the call up without an outcome: the first waiting follower becomes the leader."""
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
    """A handle that waits for the same call of a leader."""

    __slots__ = ("_future",)

    def __init__(self, future: asyncio.Future[Hit[T] | Leader[T]]) -> None:
        self._future = future

    async def outcome(self) -> Hit[T] | Leader[T]:
        """Wait for the result, or for the lead if this follower has to run the call itself."""
        try:
            return await self._future
        except asyncio.CancelledError:
            # The lead may have been handed over just before: pass it on to the next follower.
            self.leave()
            raise

    def leave(self) -> None:
        """Stop waiting."""
        if self._future.done() and not self._future.cancelled():
            found = self._future.result()
            if isinstance(found, Leader):
                found.abandon()
        self._future.cancel()


class _Flight(Generic[T]):
    """A running call and the followers that wait for it."""

    __slots__ = ("loop", "waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.waiting: list[asyncio.Future[Hit[T] | Leader[T]]] = []


class ResultCache(Generic[T]):
    """A cache of results by tool and arguments. Errors are never cached.

    It may be used by several event loops one after another, but not concurrently.

    Args:
        max_entries: Maximum number of results; the least recently used one is evicted first.
        clock: Function that returns the time in seconds, from any origin.
    """

    def __init__(
        self, max_entries: int = 1024, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if max_entries < 1:
            raise ValueError(f"max_entries must be at least 1, got {max_entries}")
        self._max_entries = max_entries
        self._clock = clock
        # In the order of use, the least recently used first.
        self._entries: dict[Hashable, tuple[T, float]] = {}
        self._flights: dict[Hashable, _Flight[T]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @staticmethod
    def key(name: str, arguments: Mapping[str, Any]) -> str:
        """Return the cache key of a call: identical calls have the same key.

        The order of object keys does not matter. ``1``, ``1.0`` and ``true`` are different: in
        JSON Schema the first two are the same number, but not to Python functions, and computing a
        result twice is better than returning that of another call.

        Args:
            name: The tool.
            arguments: The arguments, as JSON values.
        """
        return json.dumps((name, arguments), sort_keys=True, separators=(",", ":"))

    def begin(self, key: Hashable) -> Hit[T] | Leader[T] | Follower[T]:
        """Look up a key. Must be called on a running event loop."""
        entry = self._entries.pop(key, None)
        if entry is not None and entry[1] > self._clock():
            self._entries[key] = entry
            return Hit(entry[0])
        loop = asyncio.get_running_loop()
        flight = self._flights.get(key)
        # A leader on another loop has ended with it, or cannot be waited for from this one.
        if flight is None or flight.loop is not loop:
            flight = self._flights[key] = _Flight(loop)
            return Leader(self, key, flight)
        future: asyncio.Future[Hit[T] | Leader[T]] = loop.create_future()
        flight.waiting.append(future)
        return Follower(future)

    def clear(self) -> None:
        """Remove all results. Running calls are not affected."""
        self._entries.clear()

    def store(self, key: Hashable, value: T, ttl: float | None) -> None:
        """Store a result for `ttl` seconds: None for ever, 0 not at all."""
        self._entries.pop(key, None)
        if ttl is not None and ttl <= 0:
            return
        until = float("inf") if ttl is None else self._clock() + ttl
        self._entries[key] = (value, until)
        if len(self._entries) > self._max_entries:
            del self._entries[next(iter(self._entries))]

    def remove_flight(self, key: Hashable, flight: _Flight[T]) -> None:
        """Remove a call that has ended, so that the next lookup starts a new one."""
        if self._flights.get(key) is flight:
            del self._flights[key]
