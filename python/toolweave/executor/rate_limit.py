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

    __slots__ = ("_clock", "_due", "_interval", "_per", "_reserves")

    def __init__(self, limit: RateLimit, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._interval = limit.per / limit.calls
        self._per = limit.per
        self._reserves = limit.on_limit == "wait"
        # When the bucket will be full again. One number instead of a count of tokens and the
        # time of that count, and nothing to refill.
        self._due = float("-inf")

    def take(self, tokens: int = 1) -> float:
        """Takes a token, or several at once.

        Where calls wait for the limit, a token that is not there yet is reserved: the caller
        sleeps for as long as it is told and then goes ahead, without asking again. So each of
        many waiters has a time of its own, in the order in which they asked. Where calls are
        refused, nothing is reserved.

        Args:
            tokens: How many, no more than the bucket holds.

        Returns:
            0 if the token is taken; otherwise in how many seconds there is one.
        """
        now = self._clock()
        due = max(self._due, now)
        wait = max(due - self._burst(tokens) - now, 0.0)
        if wait == 0 or self._reserves:
            self._due = due + tokens * self._interval
        return wait

    def wait(self, tokens: int = 1) -> float:
        """In how many seconds there are so many tokens; they are not taken."""
        now = self._clock()
        return max(max(self._due, now) - self._burst(tokens) - now, 0.0)

    def _burst(self, tokens: int) -> float:
        # A bucket that is full has all of its tokens, whatever the rounding.
        return max(self._per - tokens * self._interval, 0.0)

    def is_full(self) -> bool:
        """Whether it has all of its tokens again, so that a new one would do the same."""
        return self._due <= self._clock()

    def refund(self) -> None:
        """Returns a token that was taken or reserved and not used, such as on cancellation."""
        self._due -= self._interval
