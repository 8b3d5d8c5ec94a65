"""Timeouts of calls, and the grace period of calls that were stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._stop import Stop

if TYPE_CHECKING:
    from ._call import Execution

_NEVER = float("inf")


class CallTimeouts:
    """Timeout and idle timeout of a running call. They start when this object is created.

    Args:
        execution: The call.
    """

    __slots__ = (
        "_deadline",
        "_execution",
        "_idle",
        "_idle_deadline",
        "_paused",
        "_paused_at",
        "_scheduled",
        "_time",
    )

    def __init__(self, execution: Execution) -> None:
        plan, run = execution.plan, execution.run
        self._time = run.loop.time
        now = self._time()
        self._execution = execution
        self._idle = _NEVER if plan.idle_timeout is None else plan.idle_timeout
        self._deadline = when = _NEVER if plan.timeout is None else now + plan.timeout
        self._idle_deadline = now + self._idle
        if self._idle_deadline < when:
            when = self._idle_deadline
        self._paused = 0
        self._paused_at = now
        self._scheduled = True
        run.deadlines.add(when, self)

    def _schedule(self) -> None:
        self._scheduled = True
        when = min(self._deadline, self._idle_deadline)
        self._execution.run.deadlines.add(when, self)

    def has_time_for(self, seconds: float) -> bool:
        """Return True if the timeout will not have passed in so many seconds."""
        return self._time() + seconds < self._deadline

    def reset_idle(self, pause: float = 0.0) -> None:
        """Restart the idle timeout.

        Args:
            pause: Seconds until it restarts.
        """
        self._idle_deadline = self._time() + pause + self._idle

    def pause(self) -> None:
        """Pause both timeouts. Pauses nest: each needs its own `resume`."""
        self._paused += 1
        if self._paused == 1:
            self._paused_at = self._time()

    def resume(self) -> None:
        """End one pause, and extend the timeout by its length if it was the last."""
        self._paused -= 1
        if self._paused == 0 and not self._execution.finished:
            self._deadline += self._time() - self._paused_at
            self.reset_idle()
            if not self._scheduled:
                self._schedule()

    def check(self) -> None:
        """Stop the call if a deadline has passed, even if the timer has not fired yet."""
        now = self._time()
        if now >= self._deadline or now >= self._idle_deadline:
            self.expire(now)

    def expire(self, now: float) -> float | None:
        """Stop the call if a deadline has passed, or return the next one; see `Deadlines`."""
        # While paused, there is no timer; `resume` schedules it again.
        if self._paused or self._execution.finished:
            self._scheduled = False
            return None
        if now >= self._deadline:
            self._execution.stop(Stop.TIMEOUT)
        elif now >= self._idle_deadline:
            self._execution.stop(Stop.IDLE)
        else:
            return min(self._deadline, self._idle_deadline)
        return None


class GracePeriod:
    """Grace period that a stopped call has to end.

    Args:
        execution: The call.
    """

    __slots__ = ("_execution",)

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        run = execution.run
        run.deadlines.add(run.loop.time() + run.defaults.cancel_grace, self)

    def expire(self, now: float) -> None:  # noqa: ARG002 - it is late enough
        """Abandon the call, since its grace period has ended."""
        execution = self._execution
        # Journal writes have a grace period of their own.
        if not execution.finished and not (
            execution.journal_entry is not None and execution.journal_entry.closing
        ):
            execution.run.abandon(execution)
