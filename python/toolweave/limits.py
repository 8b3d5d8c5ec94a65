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
_SHORTEST = 1e-6


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
        self._lines: dict[Hashable, _Line] = {}

    def __repr__(self) -> str:
        return f"RateLimiter({self.limit!r}, max_wait={self._max_wait:g})"

    @property
    def remembered(self) -> int:
        """How many keys have no full bucket, or are not forgotten yet."""
        return len(self._lines)

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
            line = self._line(key)
            wait = line.ask(self._interval, cost)
            if wait == 0:
                return
            place = line.join(cost) if wait <= self._max_wait else None
        if place is None:
            _log.info("refused for its rate", extra={"retry_after": wait})
            raise RateLimitedError(
                f"at most {self.limit.calls} in {self.limit.per:g} seconds are let through; "
                f"try again in {wait:.1f} seconds",
                wait,
            )
        try:
            await place.turn
            while (wait := self._take(line, cost)) > 0:
                await self._sleep(max(wait, _SHORTEST))
        finally:
            with self._lock:
                line.leave(place)

    def _take(self, line: _Line, cost: int) -> float:
        with self._lock:
            return line.bucket.take(cost)

    def _line(self, key: Hashable) -> _Line:
        """The line of a key, which is now the last to be forgotten."""
        line = self._lines.pop(key, None)
        if line is None:
            # Never reserves: who waits is in line, and may leave it.
            line = _Line(TokenBucket(replace(self.limit, on_limit="refuse"), self._clock))
        # One comes and up to two go, so that there are never many to be forgotten.
        for oldest in list(itertools.islice(self._lines, 2)):
            other = self._lines.pop(oldest)
            if other.places or not (
                other.bucket.is_full() or len(self._lines) + 1 >= self._max_keys
            ):
                self._lines[oldest] = other
        self._lines[key] = line
        return line


class _Place:
    """A place in line."""

    __slots__ = ("cost", "loop", "turn")

    def __init__(self, loop: asyncio.AbstractEventLoop, cost: int) -> None:
        self.loop = loop
        self.cost = cost
        self.turn: asyncio.Future[None] = loop.create_future()
        """Done when nobody stands before it."""


class _Line:
    """A bucket, and those who wait for it. Not to be touched by two threads at once."""

    __slots__ = ("bucket", "owed", "places")

    def __init__(self, bucket: TokenBucket) -> None:
        self.bucket = bucket
        self.places: deque[_Place] = deque()
        self.owed = 0
        """What all of them cost."""

    def ask(self, interval: float, cost: int) -> float:
        """Takes tokens if they can be had at once; otherwise says for how long to wait in line."""
        # Of a loop that was closed without as much as cancelling its tasks.
        while self.places and self.places[0].loop.is_closed():
            self.leave(self.places[0])
        if not self.places:
            return self.bucket.take(cost)
        return self.bucket.wait(cost) + self.owed * interval

    def join(self, cost: int) -> _Place:
        """A new place, the last one, for the running loop."""
        place = _Place(running_loop(), cost)
        if not self.places:
            place.turn.set_result(None)
        self.places.append(place)
        self.owed += cost
        return place

    def leave(self, place: _Place) -> None:
        """Gives a place up. If it was the first, the next one has its turn."""
        if place not in self.places:
            return
        first = self.places[0] is place
        self.places.remove(place)
        self.owed -= place.cost
        while first and self.places:
            head = self.places[0]
            try:
                head.loop.call_soon_threadsafe(_begin, head.turn)
            except RuntimeError:  # that loop is closed
                self.owed -= self.places.popleft().cost
            else:
                return


def _begin(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
