"""Retry decisions: which errors are transient, and how long to wait.

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

    from ..tools._options import RetryPolicy

# Before Python 3.11 these were three classes. Each stands for all of them.
_TIMEOUTS = (TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError)


def is_transient(policy: RetryPolicy, error: BaseException) -> bool:
    """Return True if an error is transient, so that a retry may succeed.

    `TransientToolError` always is; `ModelRetry` and `ToolFailed` never are, regardless of the
    policy.

    Args:
        policy: The policy, which lists transient errors.
        error: The exception of the tool.
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
    """Return the delay before the next attempt, in seconds.

    The delay grows by the policy's multiplier up to its maximum. Jitter then varies it, so that
    callers that failed together do not retry together.

    Args:
        policy: The policy.
        attempt: The attempt that failed, from 1.
        random: Source of random numbers from 0 up to 1.
        error: The exception of that attempt. If it has a `retry_after`, the delay is at least that
            long, even beyond the maximum.
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
