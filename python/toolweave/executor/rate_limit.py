"""How often a tool may start: a token bucket that is asked, and never waits itself.

Example:
    >>> seconds = iter([0.0, 0.0, 0.0])
    >>> bucket = TokenBucket(RateLimit(2, per=10.0), lambda: next(seconds))
    >>> bucket.take(), bucket.take(), bucket.take()
    (0.0, 0.0, 5.0)
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..tools.options import RateLimit


class TokenBucket:
    """Lets `calls` through at once and then one every ``per / calls`` seconds.

    In any span of `t` seconds at most ``calls * (1 + t / per)`` calls get through.

    Args:
        limit: How many, in which time, and what becomes of the others.
        clock: The time in seconds, from any origin; it must not go back.
    """

    __slots__ = ("_burst", "_clock", "_due", "_interval", "_reserves")

    def __init__(self, limit: RateLimit, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._interval = limit.per / limit.calls
        self._burst = limit.per - self._interval
        self._reserves = limit.on_limit == "wait"
        # When the bucket will be full again. One number instead of a count of tokens and the
        # time of that count, and nothing to refill.
        self._due = float("-inf")

    def take(self) -> float:
        """Takes a token.

        Where calls wait for the limit, a token that is not there yet is reserved: the caller
        sleeps for as long as it is told and then goes ahead, without asking again. So each of
        many waiters has a time of its own, in the order in which they asked. Where calls are
        refused, nothing is reserved.

        Returns:
            0 if the token is taken; otherwise in how many seconds there is one.
        """
        now = self._clock()
        due = max(self._due, now)
        wait = max(due - self._burst - now, 0.0)
        if wait == 0 or self._reserves:
            self._due = due + self._interval
        return wait

    def wait(self) -> float:
        """In how many seconds there is a token; it is not taken."""
        now = self._clock()
        return max(max(self._due, now) - self._burst - now, 0.0)

    def is_full(self) -> bool:
        """Whether it has all of its tokens again, so that a new one would do the same."""
        return self._due <= self._clock()

    def give_back(self) -> None:
        """Returns a token that was taken or reserved and not used, such as on cancellation."""
        self._due -= self._interval
