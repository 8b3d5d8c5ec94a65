"""Rate limiting with a token bucket for each key, such as each user.

    >>> limiter = RateLimiter(RateLimit(2, per=60), max_wait=0)
    >>> async def main():
    ...     for user in ("ann", "ann", "bob", "ann"):
    ...         try:
    ...             await limiter.acquire(user)
    ...         except RateLimitedError as err:
    ...             print(f"{user} has to wait for {err.retry_after:.0f} seconds")
    >>> asyncio.run(main())
    ann has to wait for 30 seconds

Requests over the limit wait in first-in, first-out order, unless they would wait too long. A
limiter may be shared by any number of tasks, event loops and threads.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ._aio.loops import running_loop
from ._checks import check_callable, check_count, check_number, check_type
from .exceptions import RateLimitedError
from .executor._rate_limit import TokenBucket
from .tools._options import RateLimit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

__all__ = ["RateLimit", "RateLimitedError", "RateLimiter"]

_log = logging.getLogger("toolweave.limits")

# A shorter sleep may not advance the clock at all, and the waiting loop would never end.
_MIN_SLEEP = 1e-6


class RateLimiter:
    """Rate limiter with a separate limit for each key.

    In any interval of `t` seconds at most ``calls * (1 + t / per)`` requests pass for each key.

    Args:
        limit: The limit. With ``on_limit="refuse"`` requests over it are refused instead of
            waiting.
        max_wait: Maximum wait, in seconds. A request that would have to wait longer is refused
            immediately.
        max_keys: Maximum number of tracked keys. A key is dropped once its bucket is full again.
            Beyond this number the least recently used keys are dropped as well, and start again
            with a full bucket.
        clock: Function that returns the time in seconds, from any origin; it must not go back.
        sleep: Async function that waits for a number of seconds on that clock.

    Raises:
        ValueError: A number is out of range.
    """

    def __init__(
        self,
        limit: RateLimit,
        *,
        max_wait: float = 30.0,
        max_keys: int = 100_000,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        check_type("limit", limit, RateLimit, "a RateLimit")
        check_number("max_wait", max_wait, least=0, most=math.inf)
        check_count("max_keys", max_keys, 1)
        check_callable("clock", clock, "a function without arguments")
        check_callable("sleep", sleep, "an async function of seconds", "seconds")
        self.limit = limit
        """The limit of each key."""
        self._interval = limit.per / limit.calls
        self._max_wait = max_wait if limit.on_limit == "wait" else 0.0
        self._max_keys = max_keys
        self._clock = clock
        self._sleep = sleep
        # Reentrant, since a coroutine may be garbage-collected, and leave its queue, at any point.
        self._lock = threading.RLock()
        # In the order of the last request: the first ones are dropped first.
        self._queues: dict[Hashable, _KeyQueue] = {}

    def __repr__(self) -> str:
        return f"RateLimiter({self.limit!r}, max_wait={self._max_wait:g})"

    @property
    def tracked_keys(self) -> int:
        """Number of tracked keys: those without a full bucket, and those not dropped yet."""
        return len(self._queues)

    async def acquire(self, key: Hashable = "", cost: int = 1) -> None:
        """Wait until a request may pass. A cancelled request leaves the queue.

        Args:
            key: Key of the request, such as a user.
            cost: Number of calls that the request counts as, at most the size of the bucket.

        Raises:
            RateLimitedError: The wait would be too long; `retry_after` has its length.
            ValueError: `cost` is below 1.
        """
        if cost < 1:
            raise ValueError(f"cost must be at least 1, got {cost!r}")
        cost = min(cost, self.limit.calls)
        with self._lock:
            queue = self._queue_for(key)
            wait = queue.try_take(self._interval, cost)
            if wait == 0:
                return
            waiter = queue.enqueue(cost) if wait <= self._max_wait else None
        if waiter is None:
            _log.info("rate limit exceeded", extra={"retry_after": wait})
            calls = "1 call" if self.limit.calls == 1 else f"{self.limit.calls} calls"
            raise RateLimitedError(
                f"the rate limit is {calls} in {self.limit.per:g} seconds; "
                f"retry in {wait:.1f} seconds",
                wait,
            )
        try:
            await waiter
            while (wait := self._take(queue, cost)) > 0:
                await self._sleep(max(wait, _MIN_SLEEP))
        finally:
            with self._lock:
                queue.remove(waiter)

    def _take(self, queue: _KeyQueue, cost: int) -> float:
        with self._lock:
            return queue.bucket.take(cost)

    def _queue_for(self, key: Hashable) -> _KeyQueue:
        """Return the queue of a key, and mark the key as most recently used."""
        queue = self._queues.pop(key, None)
        if queue is None:
            # The bucket makes no reservations: requests wait in the queue, and may leave it.
            queue = _KeyQueue(TokenBucket(replace(self.limit, on_limit="refuse"), self._clock))
        # At most two keys are dropped for each one added, which keeps every request cheap.
        for oldest in list(itertools.islice(self._queues, 2)):
            other = self._queues.pop(oldest)
            if other.waiters or not (
                other.bucket.is_full() or len(self._queues) + 1 >= self._max_keys
            ):
                self._queues[oldest] = other
        self._queues[key] = queue
        return queue


class _KeyQueue:
    """A token bucket and the requests that wait for it. Not thread-safe."""

    __slots__ = ("bucket", "queued_cost", "waiters")

    def __init__(self, bucket: TokenBucket) -> None:
        self.bucket = bucket
        self.waiters: dict[asyncio.Future[None], int] = {}
        """The waiting requests in order, with their costs. A future is done when it is first."""
        self.queued_cost = 0
        """Total cost of the waiting requests."""

    def try_take(self, interval: float, cost: int) -> float:
        """Take tokens if they are available, else return the seconds to wait in the queue."""
        # Drop waiters whose event loop was closed without cancelling its tasks.
        while self.waiters and (first := next(iter(self.waiters))).get_loop().is_closed():
            self.remove(first)
        if not self.waiters:
            return self.bucket.take(cost)
        return self.bucket.wait(cost) + self.queued_cost * interval

    def enqueue(self, cost: int) -> asyncio.Future[None]:
        """Append a waiter for the running event loop, and return it."""
        ready = running_loop().create_future()
        if not self.waiters:
            ready.set_result(None)
        self.waiters[ready] = cost
        self.queued_cost += cost
        return ready

    def remove(self, waiter: asyncio.Future[None]) -> None:
        """Remove a waiter. If it was the first, wake the next one."""
        if waiter not in self.waiters:
            return
        is_first = next(iter(self.waiters)) is waiter
        self.queued_cost -= self.waiters.pop(waiter)
        while is_first and self.waiters:
            head = next(iter(self.waiters))
            try:
                head.get_loop().call_soon_threadsafe(_set_ready, head)
            except RuntimeError:  # that loop is closed
                self.queued_cost -= self.waiters.pop(head)
            else:
                return


def _set_ready(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
