"""Execution of one call: its attempts, its timeouts, and its result.

`RunningCall.serve` covers all of it: conditions, concurrency limits, journal, attempts, result. It
produces a result whatever the tool does, and skips the steps that the tool has no options for.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from contextlib import asynccontextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any

from .._core import ToolResult
from ..exceptions import ValidationError
from . import _failure as failure
from ._conditions import Refused, approve, look_up, take_token
from ._deferred import Deferred
from ._events import ToolDeferred, ToolProgress, ToolStarted
from ._invocation import run_function, run_generator
from ._journal import EntryState, JournalEntry, truncate_for_journal
from ._results import result_text, to_text, truncate
from ._retry import delay, is_transient
from ._scheduler import ScheduledCall

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable

    from typing_extensions import Self

    from .._aio.single_flight import Leader
    from .._core import ToolCall
    from ..protocols import Journal
    from ..tools import RetryPolicy, ToolContext
    from ..tracing import Span
    from ._failure import CallFailure
    from ._plan import Plan
    from ._state import ToolRunState

_log = logging.getLogger("toolweave.executor")

_NEVER = float("inf")


class Stop(Enum):
    """Reason why a call is stopped."""

    TIMEOUT = "timeout"
    """The timeout has passed."""
    IDLE = "idle"
    """The idle timeout has passed."""
    INTERRUPTED = "interrupted"
    """The run was cancelled, so the result is no longer needed."""


class RunningCall(ScheduledCall):
    """Call that names a known tool and has valid arguments, from its submission to its result.

    It owns the state of the call: its attempts, timeouts, journal entry and outcome.

    Args:
        run: The run that the call belongs to.
        plan: The tool.
        call: The call.
        arguments: Keyword arguments of the function; None to validate long arguments later.
    """

    __slots__ = ("arguments", "deadline", "idle_deadline", "run", "started", "stopped")
    attempt = 1
    # Long arguments are validated in a thread, before the call starts.
    unvalidated = False
    # Identical calls may wait for its result.
    leader: Leader[ToolResult] | None = None
    # The key that resolves it, if it is deferred.
    deferred_key: str | None = None
    # Its entry in the journal.
    entry: JournalEntry | None = None
    # Number of pauses of its timeouts, and the start of the first.
    paused = 0
    paused_at = 0.0
    # True while the run's deadlines include one of its timeouts.
    has_timer = False
    # End of the grace period of a tool or a journal that is being stopped.
    grace_end = _NEVER
    # The outcome of a nested call, for the tool that waits for it. Until it starts, the timeouts of
    # that tool's call and of its ancestors are paused.
    outcome_future: asyncio.Future[ToolResult | Deferred] | None = None
    callers_paused = False
    span: Span | None = None
    progressed = False
    last_progress: Any = None

    def __init__(
        self,
        run: ToolRunState,
        plan: Plan,
        call: ToolCall,
        arguments: dict[str, Any] | None,
    ) -> None:
        self.plan = plan
        self.call = call
        self.queue = run.queue
        self.task = None
        self.entered = False
        self.finished = False
        self.has_slot = False
        self.run = run
        self.arguments = arguments or {}
        if arguments is None:
            self.unvalidated = True
        self.started: float | None = None
        self.deadline = self.idle_deadline = _NEVER
        self.stopped: Stop | None = None

    async def serve(self) -> None:
        """Run the call until it has a result or is deferred."""
        self.entered = True
        run, plan = self.run, self.plan
        outcome: ToolResult | Deferred | None = None
        try:
            if self.unvalidated:
                await self._prepare_arguments()
            if plan.needs_approval:
                await approve(self, run)
            if plan.shares:
                found = await look_up(self, run)
                if isinstance(found, ToolResult):
                    outcome = found
                else:
                    self.leader = found
            if outcome is None:
                if self.permit is not None and not (self.ready and self.admitted):
                    await run.scheduler.wait(self)
                if plan.bucket is not None:
                    await take_token(self, run)
                if run.journal is not None and self.parent is None:
                    await self._open_entry(run.journal)
                self._mark_started()
                value = await (
                    self._invoke()
                    if plan.retries is None
                    else self._invoke_with_retries(plan.retries)
                )
                # A result that comes after the deadline is too late. The clock decides, since a
                # tool that never awaits keeps the timer from firing.
                self._check_timeouts()
                self._raise_if_stopped()
                outcome = await self._outcome_of(value)
        except BaseException as error:
            if isinstance(error, GeneratorExit) and self._is_destroyed():
                raise
            outcome = self._error_result(error)
        if self.span is not None and isinstance(outcome, ToolResult):
            self.span.result(outcome)
        if self.entry is None:
            self._finish(outcome)
        else:
            await self._close_entry(self.entry, outcome)

    def _is_destroyed(self) -> bool:
        """Return True if the task of the call is destroyed because its event loop is gone."""
        if self.task is None:
            return False
        try:
            return asyncio.current_task() is not self.task
        except RuntimeError:
            return True

    def fail(self, error: BaseException) -> None:
        """Finish the call, which cannot start because of an error."""
        self._finish(self._error_result(error))

    # Before the start

    async def _prepare_arguments(self) -> None:
        """Validate and convert the arguments, in a thread if they are long."""
        self._raise_if_stopped()
        call, plan = self.call, self.plan
        try:
            found = plan.prepare_call(call)
            if found is None:
                found = await asyncio.to_thread(plan.prepare_arguments, call.arguments)
        except ValidationError as error:
            refused = failure.invalid_arguments(call.name, error.violations)
            raise Refused(self.run.refusals.truncate(refused, call)) from error
        self.arguments = found

    async def _open_entry(self, journal: Journal) -> None:
        self._raise_if_stopped()
        entry = self.entry = JournalEntry(journal, self.call)
        try:
            await entry.open()
        except BaseException as error:
            if entry.state is not EntryState.REJECTED:
                raise
            self._fail_journal(error)
            raise Refused(failure.interrupted(self.call.name, started=False)) from error

    def _mark_started(self) -> None:
        self._raise_if_stopped()
        run = self.run
        if self.callers_paused:
            self.resume_callers()
        self.started = run.clock()
        if self.plan.timed:
            self._start_timeouts()
        if run.has_subscribers:
            run.emit(ToolStarted(self.call.id, self.call.name, self.call.arguments), self)

    # While it runs

    def _invoke(self) -> Awaitable[Any]:
        plan, arguments = self.plan, self.arguments
        if plan.context_parameter is not None:
            arguments = {**arguments, plan.context_parameter: self.context()}
        if plan.style == "async":
            started: Awaitable[Any] = plan.function(**arguments)
            return started
        if plan.style == "generator":
            return run_generator(plan.function(**arguments), self.report)
        return run_function(plan, arguments)

    @abstractmethod
    def context(self) -> ToolContext[Any]:
        """Return the context for the tool."""

    async def _invoke_with_retries(self, policy: RetryPolicy) -> Any:
        while True:
            try:
                return await self._invoke()
            except Exception as error:
                pause = self._pause_after(error, policy)
                if pause is None:
                    raise
                _log.info("a tool is retried", extra=self.log_fields(pause=pause))
            self.attempt += 1
            self.run.scheduler.suspend(self)
            await asyncio.sleep(pause)
            await self.run.scheduler.resume(self)
            # The previous attempt may have modified its arguments.
            await self._prepare_arguments()

    def _pause_after(self, error: Exception, policy: RetryPolicy) -> float | None:
        """Return the seconds to wait before the next attempt, or None to give up."""
        if (
            self.stopped is not None
            or self.attempt >= policy.attempts
            or not is_transient(policy, error)
        ):
            return None
        bucket = self.plan.bucket
        pause = delay(policy, self.attempt, error=error)
        if bucket is not None:
            wait = bucket.take()
            if wait > 0 and self.plan.refuses:
                return None
            pause = max(pause, wait)
        if self.run.loop.time() + pause >= self.deadline:
            # The error itself tells the model more than a timeout would.
            if bucket is not None:
                bucket.refund()
            return None
        self._reset_idle(pause)
        return pause

    def report(self, value: Any) -> None:
        """Record progress that the tool reports. Call this on the event loop's thread only."""
        # The idle timeout also holds if the tool blocked the event loop since its last report.
        self._check_timeouts()
        if self.finished or self.stopped is not None:
            return
        self.progressed = True
        self.last_progress = value
        for each in self.self_and_ancestors():
            each._reset_idle()
        self.run.emit(ToolProgress(self.call.id, value), self)

    @property
    def cancelled(self) -> bool:
        """True if the result is no longer needed."""
        return self.stopped is not None or self.finished

    # The outcome

    async def _outcome_of(self, value: Any) -> ToolResult | Deferred:
        if isinstance(value, Deferred):
            return value
        text = await result_text(value, self.plan.max_result_chars)
        call = self.call
        return ToolResult(call.id, call.name, text, value=value, duration=self._duration())

    def _error_result(self, error: BaseException) -> ToolResult:
        """Return the result of a call that ended with an exception."""
        name = self.call.name
        if isinstance(error, (Exception, asyncio.CancelledError)):
            self._check_timeouts()
        if self.stopped is not None:
            return self._stopped_result(self.stopped)
        if isinstance(error, Refused):
            return self._failed_result(error.failure)
        if isinstance(error, asyncio.CancelledError):
            return self._failed_result(failure.cancelled(name))
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            self.run.fail(error, self)
        failure.strip_package_frames(error)
        reference = failure.log_failure(error, self.log_fields())
        found = failure.tool_error(
            error,
            detail=self.run.defaults.error_detail,
            max_chars=self.plan.max_result_chars,
            arguments=self.call.arguments,
        )
        return self._failed_result(found, exception=error, reference=reference)

    def _stopped_result(self, stopped: Stop) -> ToolResult:
        """Return the result of a call that was stopped."""
        name, plan = self.call.name, self.plan
        if stopped is Stop.INTERRUPTED:
            return self._failed_result(failure.interrupted(name, started=self.started is not None))
        idle = stopped is Stop.IDLE
        seconds = plan.idle_timeout if idle else plan.timeout
        found = failure.timeout(name, seconds or 0.0, idle=idle)
        if plan.partial_results and self.progressed:
            try:
                text = truncate(to_text(self.last_progress), plan.max_result_chars)
            except Exception:  # noqa: BLE001 - converting the tool's value may raise anything
                return self._failed_result(found)
            return self._failed_result(
                failure.CallFailure(text, found.code), value=self.last_progress
            )
        return self._failed_result(found)

    def _unrecorded_result(self) -> ToolResult:
        """Return the result of a call whose outcome the journal could not record."""
        return self._failed_result(failure.interrupted(self.call.name))

    def _failed_result(self, found: CallFailure, **fields: Any) -> ToolResult:
        return found.result(self.call, duration=self._duration(), **fields)

    def _duration(self) -> float | None:
        return None if self.started is None else max(self.run.clock() - self.started, 0.0)

    def _finish(self, outcome: ToolResult | Deferred) -> None:
        """Publish the outcome of the call, and free what it holds. Only the first one counts."""
        if self.finished:
            return
        run = self.run
        if run.thread_progress:
            # Progress from its threads comes before its result.
            run.drain_thread_progress()
        if isinstance(outcome, Deferred):
            outcome = self._defer(outcome)
        if isinstance(outcome, Deferred):
            call = self.call
            run.publish(ToolDeferred(call.id, call.name, self.deferred_key or ""), call)
        self.finished = True
        run.finish(self, outcome if isinstance(outcome, ToolResult) else None)
        if self.leader is not None:
            self._complete_flight(self.leader, outcome)
        if self.has_slot or self.permit is not None:
            run.scheduler.release(self)
        for child in self.children:
            child.interrupt()
        if self.outcome_future is not None:
            self.outcome_future.set_result(outcome)

    def _complete_flight(self, leader: Leader[ToolResult], outcome: ToolResult | Deferred) -> None:
        """Publish the outcome to callers waiting on the same call."""
        if self.stopped is Stop.INTERRUPTED:
            # The tool did not fail, so another call may take over.
            leader.abandon()
        elif isinstance(outcome, Deferred) or outcome.is_error:
            leader.fail()
        else:
            leader.finish(outcome, ttl=self.plan.ttl or 0)

    def _defer(self, outcome: Deferred) -> Deferred | ToolResult:
        """Register the call as deferred. An invalid or taken key fails the call instead."""
        if self.deferred_key is not None:
            return outcome
        try:
            key = self.run.deferred.add(self.call, outcome.key, note=outcome.note)
        except Exception as error:  # noqa: BLE001 - the tool chose the key
            return self._error_result(error)
        _log.info("a call is deferred", extra=self.log_fields())
        self.deferred_key = key
        if self.parent is None:
            self.run.defer(self.call.id, key)
        return outcome

    # The journal

    async def _close_entry(self, entry: JournalEntry, outcome: ToolResult | Deferred) -> None:
        """Write the outcome of the call, and then publish it.

        An outcome that cannot be written is not published. The call counts as interrupted, as it
        does in the journal.
        """
        if entry.state is EntryState.CLOSING:
            # An abandoned tool has ended after all.
            return
        if entry.begin_closing():
            # The write has a grace period of its own.
            self.grace_end = _NEVER
            if self.run.interrupted:
                self._start_grace()
            if isinstance(outcome, Deferred):
                outcome = self._defer(outcome)
            try:
                if isinstance(outcome, Deferred):
                    await entry.defer(self.run.deferred.get(self.deferred_key or ""))
                else:
                    outcome = truncate_for_journal(self.run.journal, self.call, outcome)
                    await entry.finish(outcome)
            except BaseException as error:  # noqa: BLE001 - raised for the reader of the run
                self._fail_journal(error)
                outcome = self._unrecorded_result()
        self._finish(outcome)

    def _fail_journal(self, error: BaseException) -> None:
        """End the run, since the journal failed."""
        if self.finished:
            # The journal was abandoned, so its error is expected.
            return
        if isinstance(error, asyncio.CancelledError):
            # The reader of the run was not cancelled.
            error = RuntimeError(f"the journal was cancelled while it wrote: {error}".rstrip(": "))
        self._undefer()
        _log.error(
            "a journal failed, which ends the run",
            exc_info=error,
            extra=self.log_fields(error_type=type(error).__name__),
        )
        self.run.fail(error, self)

    def _undefer(self) -> None:
        if self.deferred_key is not None:
            self.run.undefer(self.call.id)
            self.run.deferred.discard(self.deferred_key)
            self.deferred_key = None

    # Stopping

    def interrupt(self) -> None:
        """Stop the call, since its result is no longer needed."""
        self.stop(Stop.INTERRUPTED)

    def stop(self, why: Stop) -> None:
        """Cancel the tool. Only the first reason counts."""
        if self.finished:
            return
        state = self.entry.state if self.entry else None
        if state is EntryState.CLOSING:
            # The tool has ended, and its outcome stands.
            if why is Stop.INTERRUPTED and self.grace_end == _NEVER:
                self._start_grace()
            return
        if self.stopped is not None:
            return
        self.stopped = why
        _log.info("a call is stopped", extra=self.log_fields(reason=why.value))
        if self.run.scheduler.withdraw(self):
            # It has no task yet.
            self._finish(self._stopped_result(why))
            return
        self._start_grace()
        if self.task is not None and state is not EntryState.OPENING:
            self.task.cancel()

    def _start_grace(self) -> None:
        self.grace_end = self.run.loop.time() + self.run.defaults.cancel_grace
        self.run.deadlines.add(self.grace_end, self)

    def _abandon(self) -> None:
        """Abandon a tool or a journal that does not stop, and finish the call."""
        run, entry = self.run, self.entry
        state = entry.state if entry else None
        if self.stopped is None or state is EntryState.CLOSING:
            result = self._unrecorded_result()
        else:
            result = self._stopped_result(self.stopped)
        if entry is not None and state in (EntryState.OPENING, EntryState.CLOSING):
            _log.error("a journal does not answer and is abandoned", extra=self.log_fields())
            self._undefer()
            self._finish(result)
            entry.abandon(run.detach)
            return
        _log.error("a tool ignores its cancellation and is abandoned", extra=self.log_fields())
        if self.task is not None:
            run.detach(self.task)
        if entry is None:
            self._finish(result)
        else:
            run.detach(run.loop.create_task(self._close_entry(entry, result)))

    def _raise_if_stopped(self) -> None:
        if self.stopped is not None:
            raise asyncio.CancelledError

    # Timeouts

    def _start_timeouts(self) -> None:
        now, plan = self.run.loop.time(), self.plan
        if plan.timeout is not None:
            self.deadline = now + plan.timeout
        if plan.idle_timeout is not None:
            self.idle_deadline = now + plan.idle_timeout
        self._schedule_timer()

    def _schedule_timer(self) -> None:
        self.has_timer = True
        self.run.deadlines.add(min(self.deadline, self.idle_deadline), self)

    def _reset_idle(self, pause: float = 0.0) -> None:
        """Restart the idle timeout, after a pause in seconds."""
        if self.plan.idle_timeout is not None:
            self.idle_deadline = self.run.loop.time() + pause + self.plan.idle_timeout

    def _check_timeouts(self) -> None:
        """Stop the call if it has timed out, even if the timer has not fired yet."""
        if self.plan.timed and not self.paused:
            now = self.run.loop.time()
            if now >= self.deadline:
                self.stop(Stop.TIMEOUT)
            elif now >= self.idle_deadline:
                self.stop(Stop.IDLE)

    def expire(self, now: float) -> float | None:
        """Stop or abandon the call if a deadline has passed; see `Deadlines`."""
        if self.grace_end != _NEVER:
            if now >= self.grace_end and not self.finished:
                self._abandon()
            return None
        if self.paused or self.cancelled:
            # `_resume` schedules it again.
            self.has_timer = False
            return None
        next_deadline = min(self.deadline, self.idle_deadline)
        if now < next_deadline:
            return next_deadline
        self.stop(Stop.TIMEOUT if now >= self.deadline else Stop.IDLE)
        return None

    @asynccontextmanager
    async def suspended(self) -> AsyncGenerator[None]:
        """Release the call's slot and pause its timeouts while the tool waits for a person."""
        scheduler = self.run.scheduler
        scheduler.suspend(self)
        async with self.timeouts_paused():
            yield
            await scheduler.resume(self)

    @asynccontextmanager
    async def timeouts_paused(self) -> AsyncGenerator[None]:
        """Pause the timeouts of the call and of its ancestors."""
        paused = self._timed_calls()
        for each in paused:
            each._pause()
        try:
            yield
        finally:
            for each in paused:
                each._resume()

    def pause_callers(self) -> None:
        """Pause the timeouts of the ancestors until this call starts."""
        self.callers_paused = True
        for each in self._timed_calls():
            each._pause()

    def resume_callers(self) -> None:
        """Resume the timeouts of the ancestors."""
        if self.callers_paused:
            self.callers_paused = False
            for each in self._timed_calls():
                each._resume()

    def _pause(self) -> None:
        # Pauses nest: each needs its own `_resume`.
        self.paused += 1
        if self.paused == 1:
            self.paused_at = self.run.loop.time()

    def _resume(self) -> None:
        self.paused -= 1
        if self.paused == 0 and not self.finished:
            self.deadline += self.run.loop.time() - self.paused_at
            self._reset_idle()
            if not self.has_timer:
                self._schedule_timer()

    def _timed_calls(self) -> list[Self]:
        """Return those of the call and its ancestors whose timeouts run."""
        return [
            each
            for each in self.self_and_ancestors()
            if each.plan.timed and each.started is not None and not each.finished
        ]
