"""Retries of calls that failed with a transient error."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from ._retry import delay, is_transient

if TYPE_CHECKING:
    from ..tools import RetryPolicy
    from ._call import Execution

_log = logging.getLogger("toolweave.executor")


async def invoke_with_retries(execution: Execution, policy: RetryPolicy) -> Any:
    """Return what the tool returns, in its first or a later attempt.

    Raises:
        BaseException: The exception of the last attempt.
    """
    plan = execution.plan
    while True:
        try:
            return await plan.invoke(execution)
        except Exception as error:
            pause = _pause_after(execution, error, policy)
            if pause is None:
                raise
            _log.info("a tool is retried", extra=execution.log_fields(pause=pause))
        execution.attempt += 1
        scheduler = execution.run.scheduler
        scheduler.suspend(execution)
        await asyncio.sleep(pause)
        await scheduler.resume(execution)
        # The previous attempt may have modified its arguments.
        await execution.prepare_arguments()


def _pause_after(execution: Execution, error: Exception, policy: RetryPolicy) -> float | None:
    """Return the seconds to wait before the next attempt, or None to give up."""
    if execution.stopped is not None or execution.attempt >= policy.attempts:
        return None
    if not is_transient(policy, error):
        return None
    plan = execution.plan
    pause = delay(policy, execution.attempt, error=error)
    if plan.bucket is not None:
        wait = plan.bucket.take()
        if wait > 0 and plan.refuses:
            return None
        pause = max(pause, wait)
    if execution.timeouts is not None:
        if not execution.timeouts.has_time_for(pause):
            # The error itself tells the model more than a timeout would.
            if plan.bucket is not None:
                plan.bucket.refund()
            return None
        execution.timeouts.reset_idle(pause)
    return pause
