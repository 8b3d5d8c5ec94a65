"""How often somebody may ask: a token bucket for each key, such as each user.

    >>> limiter = RateLimiter(RateLimit(2, per=60), max_wait=0)
    >>> async def main():
    ...     for user in ("ann", "ann", "bob", "ann"):
    ...         try:
    ...             await limiter.acquire(user)
    ...         except RateLimitedError as err:
    ...             print(f"{user} has to wait for {err.retry_after:.0f} seconds")
    >>> asyncio.run(main())
    ann has to wait for 30 seconds

Whoever is too early waits in line, first come, first served, if it is not for too long. One object
serves any number of tasks, event loops and threads at once.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import threading
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from ._checks import check_callable, check_count, check_number, check_type
from ._loops import running_loop
from .exceptions import RateLimitedError
from .executor.rate_limit import TokenBucket
from .tools.options import RateLimit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

__all__ = ["RateLimit", "RateLimitedError", "RateLimiter"]

_log = logging.getLogger("toolweave.limits")

# Less than this is no pause on any clock, and a loop that never ends on some.
_MIN_SLEEP = 1e-6


class RateLimiter:
    """Lets each key through so often, and makes the others wait.

    In any span of `t` seconds at most ``calls * (1 + t / per)`` get through for each key.

    Args:
        limit: How often; with ``on_limit="refuse"`` nobody waits.
        max_wait: For how many seconds somebody waits at most. Who would have to wait for longer is
            refused at once.
        max_keys: How many keys are remembered at most. A key is forgotten when it has all of its
            tokens again; beyond this number those that asked least lately are, too, and so may ask
            as if for the first time.
        clock: The time in seconds, from any origin; it must not go back.
        sleep: Waits for so many seconds of that time.

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
        """How often."""
        self._interval = limit.per / limit.calls
        self._max_wait = max_wait if limit.on_limit == "wait" else 0.0
        self._max_keys = max_keys
        self._clock = clock
        self._sleep = sleep
        # Reentrant, since a coroutine that is collected as garbage leaves its line wherever it is.
        self._lock = threading.RLock()
        # In the order of the last request: those in front are the first to be forgotten.
        self._queues: dict[Hashable, _KeyQueue] = {}

    def __repr__(self) -> str:
        return f"RateLimiter({self.limit!r}, max_wait={self._max_wait:g})"

    @property
    def tracked_keys(self) -> int:
        """How many keys have no full bucket, or are not forgotten yet."""
        return len(self._queues)

    async def acquire(self, key: Hashable = "", cost: int = 1) -> None:
        """Goes through, if need be after waiting in line. Cancelled, it leaves the line.

        Args:
            key: Who asks.
            cost: For how many calls this one counts. One that counts for more than there are at
                once counts for all of them.

        Raises:
            RateLimitedError: The wait would be too long; says how long.
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
            _log.info("refused for its rate", extra={"retry_after": wait})
            raise RateLimitedError(
                f"at most {self.limit.calls} in {self.limit.per:g} seconds are let through; "
                f"try again in {wait:.1f} seconds",
                wait,
            )
        try:
            await waiter.ready
            while (wait := self._take(queue, cost)) > 0:
                await self._sleep(max(wait, _MIN_SLEEP))
        finally:
            with self._lock:
                queue.remove(waiter)

    def _take(self, queue: _KeyQueue, cost: int) -> float:
        with self._lock:
            return queue.bucket.take(cost)

    def _queue_for(self, key: Hashable) -> _KeyQueue:
        """The line of a key, which is now the last to be forgotten."""
        queue = self._queues.pop(key, None)
        if queue is None:
            # Never reserves: who waits is in line, and may leave it.
            queue = _KeyQueue(TokenBucket(replace(self.limit, on_limit="refuse"), self._clock))
        # One comes and up to two go, so that there are never many to be forgotten.
        for oldest in list(itertools.islice(self._queues, 2)):
            other = self._queues.pop(oldest)
            if other.waiters or not (
                other.bucket.is_full() or len(self._queues) + 1 >= self._max_keys
            ):
                self._queues[oldest] = other
        self._queues[key] = queue
        return queue


class _Waiter:
    """A place in line."""

    __slots__ = ("cost", "loop", "ready")

    def __init__(self, loop: asyncio.AbstractEventLoop, cost: int) -> None:
        self.loop = loop
        self.cost = cost
        self.ready: asyncio.Future[None] = loop.create_future()
        """Done when nobody stands before it."""


class _KeyQueue:
    """A bucket, and those who wait for it. Not to be touched by two threads at once."""

    __slots__ = ("bucket", "queued_cost", "waiters")

    def __init__(self, bucket: TokenBucket) -> None:
        self.bucket = bucket
        self.waiters: deque[_Waiter] = deque()
        self.queued_cost = 0
        """What all of them cost."""

    def try_take(self, interval: float, cost: int) -> float:
        """Takes tokens if they can be had at once; otherwise says for how long to wait in line."""
        # Of a loop that was closed without as much as cancelling its tasks.
        while self.waiters and self.waiters[0].loop.is_closed():
            self.remove(self.waiters[0])
        if not self.waiters:
            return self.bucket.take(cost)
        return self.bucket.wait(cost) + self.queued_cost * interval

    def enqueue(self, cost: int) -> _Waiter:
        """A new place, the last one, for the running loop."""
        waiter = _Waiter(running_loop(), cost)
        if not self.waiters:
            waiter.ready.set_result(None)
        self.waiters.append(waiter)
        self.queued_cost += cost
        return waiter

    def remove(self, waiter: _Waiter) -> None:
        """Gives a place up. If it was the first, the next one has its turn."""
        if waiter not in self.waiters:
            return
        first = self.waiters[0] is waiter
        self.waiters.remove(waiter)
        self.queued_cost -= waiter.cost
        while first and self.waiters:
            head = self.waiters[0]
            try:
                head.loop.call_soon_threadsafe(_set_ready, head.ready)
            except RuntimeError:  # that loop is closed
                self.queued_cost -= self.waiters.popleft().cost
            else:
                return


def _set_ready(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
