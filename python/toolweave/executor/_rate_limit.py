"""Rate limit of a tool: a token bucket that computes waits but never waits itself.

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

    from ..tools._options import RateLimit


class TokenBucket:
    """Token bucket that allows a burst of `calls` and then one call every ``per / calls`` seconds.

    In any period of `t` seconds, at most ``calls * (1 + t / per)`` calls pass.

    Args:
        limit: The rate limit.
        clock: Monotonic time in seconds, from any origin.
    """

    __slots__ = ("_clock", "_due", "_interval", "_per", "_reserves")

    def __init__(self, limit: RateLimit, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._interval = limit.per / limit.calls
        self._per = limit.per
        self._reserves = limit.on_limit == "wait"
        # The time at which the bucket is full again. This one number replaces a token count with
        # its timestamp, and nothing has to be refilled.
        self._due = float("-inf")

    def take(self, tokens: int = 1) -> float:
        """Take one or more tokens.

        If calls wait for the limit, a token that is not available yet is reserved: the caller
        sleeps for the returned time and then proceeds without asking again. So waiting callers
        proceed one by one, in the order in which they asked. If calls are refused, nothing is
        reserved.

        Args:
            tokens: Number of tokens, at most the size of the bucket.

        Returns:
            0 if the tokens are taken; otherwise the seconds until they are available.
        """
        now = self._clock()
        due = max(self._due, now)
        wait = max(due - self._burst(tokens) - now, 0.0)
        if wait == 0 or self._reserves:
            self._due = due + tokens * self._interval
        return wait

    def wait(self, tokens: int = 1) -> float:
        """Return the seconds until so many tokens are available, without taking them."""
        now = self._clock()
        return max(max(self._due, now) - self._burst(tokens) - now, 0.0)

    def _burst(self, tokens: int) -> float:
        # Guards against rounding: a full bucket has all of its tokens.
        return max(self._per - tokens * self._interval, 0.0)

    def is_full(self) -> bool:
        """Return True if the bucket has all of its tokens, like a new one."""
        return self._due <= self._clock()

    def refund(self) -> None:
        """Give back a token that was taken or reserved but not used, such as on cancellation."""
        self._due -= self._interval
