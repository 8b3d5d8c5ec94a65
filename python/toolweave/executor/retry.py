"""Whether to try a tool again, and how long to wait first.

Example:
    >>> policy = RetryPolicy(attempts=3, initial=0.5, jitter=0)
    >>> [delay(policy, attempt) for attempt in (1, 2, 3)]
    [0.5, 1.0, 2.0]
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import random as _random
from typing import TYPE_CHECKING

from ..exceptions import ModelError, ModelRetry, ToolFailed, TransientToolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..tools.options import RetryPolicy

# Until Python 3.11 these were three classes; whoever names one of them means all.
_TIMEOUTS = (TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError)


def is_transient(policy: RetryPolicy, error: BaseException) -> bool:
    """Whether trying again may help.

    A tool says so by raising `TransientToolError`, and denies it by raising `ModelRetry` or
    `ToolFailed`, whatever the policy lists.

    Args:
        policy: What the tool counts as transient.
        error: What it raised.
    """
    if isinstance(error, TransientToolError):
        return True
    if isinstance(error, (ModelRetry, ToolFailed)):
        return False
    if isinstance(error, policy.retry_on):
        return True
    return isinstance(error, _TIMEOUTS) and any(each in _TIMEOUTS for each in policy.retry_on)


def delay(
    policy: RetryPolicy,
    attempt: int,
    random: Callable[[], float] = _random.random,
    error: BaseException | None = None,
) -> float:
    """How long to wait before the next attempt, in seconds.

    The wait grows by the policy's multiplier up to its maximum and is then varied by its jitter,
    so that callers who failed together do not come back together.

    Args:
        policy: How the waits grow.
        attempt: The attempt that failed, from 1.
        random: Gives numbers from 0 up to 1.
        error: What it failed with. One that says how long to wait is believed: the wait is never
            shorter, not even where it is longer than the maximum.
    """
    wait = policy.maximum
    if policy.initial <= 0:
        wait = 0.0
    else:
        try:
            wait = min(policy.initial * policy.multiplier ** (attempt - 1), policy.maximum)
        except OverflowError:
            wait = policy.maximum
    wait *= 1 + policy.jitter * (2 * random() - 1)
    asked = error.retry_after if isinstance(error, (TransientToolError, ModelError)) else None
    return max(wait, 0.0, asked or 0.0)
