"""Execution of one call, from submission to result.

`Execution.serve` covers all of it: approval, cache, concurrency limits, rate limit, journal,
attempts, result. It produces a result whatever the tool does, and skips the steps that the tool
has no options for.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from .._aio.single_flight import Follower, Hit
from .._core import ToolResult
from ..exceptions import ValidationError
from ..tracing import execute_tool
from . import _failure as failure
from ._approval import decide
from ._attempts import invoke_with_retries
from ._deferred import Deferred
from ._events import ToolApprovalRequested, ToolProgress, ToolStarted
from ._journal import JournalEntry, truncate_for_journal
from ._results import to_text, to_text_off_loop, truncate
from ._stop import Stop
from ._timeouts import CallTimeouts, GracePeriod

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable, Iterator
    from contextvars import Context

    from .._aio.single_flight import Leader
    from .._core import ToolCall
    from ..protocols import Journal
    from ..tracing import Span
    from ._failure import CallFailure
    from ._limiter import Permit
    from ._plan import Plan
    from ._rate_limit import TokenBucket
    from ._run import ToolRun

_log = logging.getLogger("toolweave.executor")

_LONG_ARGUMENTS = 65_536


def has_long_arguments(call: ToolCall) -> bool:
    """Return True if validating the arguments takes longer than starting a thread."""
    return len(call.raw) > _LONG_ARGUMENTS


class _Refused(Exception):  # noqa: N818 - an outcome
    """The call was refused and does not run."""

    def __init__(self, failure: CallFailure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class Execution:
    """Execution of a call that names a known tool and has valid arguments.

    Args:
        run: The run that the call belongs to.
        plan: The tool.
        call: The call.
        arguments: Keyword arguments of the function; None to validate long arguments later.
        position: Position of the call in the reply; -1 for a nested call.
    """

    # Defaults of attributes that few calls set are class attributes, so they cost nothing.
    __slots__ = (
        "__dict__",
        "arguments",
        "call",
        "entered",
        "finished",
        "plan",
        "position",
        "run",
        "started",
        "stopped",
        "task",
    )
    attempt = 1
    # Its place in the queues of the limiter; see `ExecutionScheduler`.
    permit: Permit | None = None
    ready = False
    admitted = False
    suspensions = 0
    concurrency_key: Hashable | None = None
    # It holds a slot without a permit.
    has_slot = False
    # The submitter's context, while the call is queued without a task.
    queued_context: Context | None = None
    # The timeouts of the calls that wait for it are paused until it starts.
    callers_paused = False
    waiting: asyncio.Future[None] | None = None
    # Identical calls may wait for its result.
    leader: Leader[ToolResult] | None = None
    # The key that resolves it, if it is deferred.
    deferred_key = ""
    is_deferred = False
    # Its entry in the journal.
    journal_entry: JournalEntry | None = None
    # Long arguments are validated in a thread, before the call starts.
    unvalidated = False
    # The call whose tool made this one, and the calls that its own tool makes.
    parent: Execution | None = None
    depth = 0
    nested = 0
    children: tuple[Execution, ...] = ()
    outcome_future: asyncio.Future[ToolResult | Deferred] | None = None
    timeouts: CallTimeouts | None = None
    span: Span | None = None
    _progressed = False
    _progress: Any = None

    def __init__(
        self,
        run: ToolRun,
        plan: Plan,
        call: ToolCall,
        arguments: dict[str, Any] | None,
        position: int,
    ) -> None:
        self.run = run
        self.plan = plan
        self.call = call
        self.arguments = arguments or {}
        if arguments is None:
            self.unvalidated = True
        self.position = position
        self.task: asyncio.Task[None] | None = None
        self.entered = False
        self.started: float | None = None
        self.stopped: Stop | None = None
        self.finished = False

    async def serve(self) -> None:
        """Run the call until it has a result or is deferred."""
        self.entered = True
        plan = self.plan
        outcome: ToolResult | Deferred | None = None
        try:
            if self.unvalidated:
                await self.prepare_arguments()
            if plan.needs_approval:
                await self._approve()
            if plan.shares:
                outcome = await self._look_up()
            if outcome is None:
                if self.permit is not None and not (self.ready and self.admitted):
                    await self.run.scheduler.wait(self)
                if plan.bucket is not None:
                    await self._take_token(plan.bucket)
                if self.run.journal is not None and self.parent is None:
                    await self._open_journal_entry(self.run.journal)
                self._mark_started()
                value = await (
                    plan.invoke(self)
                    if plan.retries is None
                    else invoke_with_retries(self, plan.retries)
                )
                outcome = await self._succeeded(value)
        except BaseException as error:
            if isinstance(error, GeneratorExit) and self._is_destroyed():
                raise
            outcome = self.error_result(error)
        if self.span is not None and isinstance(outcome, ToolResult):
            self.span.result(outcome)
        if self.journal_entry is None:
            self.run.finish(self, outcome)
        else:
            await self.journal_entry.close(outcome)

    def _is_destroyed(self) -> bool:
        """Return True if the task of the call is destroyed because its event loop is gone."""
        if self.task is None:
            return False
        try:
            return asyncio.current_task() is not self.task
        except RuntimeError:
            return True

    async def serve_traced(self) -> None:
        """Run `serve` in a trace span."""
        with execute_tool(self.call, description=self.plan.contract.description) as self.span:
            await self.serve()

    # Before the start

    async def prepare_arguments(self) -> None:
        """Validate and convert the arguments, in a thread if they are long.

        Raises:
            Exception: The arguments are invalid.
        """
        self._raise_if_stopped()
        prepare = self.plan.prepare_arguments
        try:
            if has_long_arguments(self.call):
                self.arguments = await asyncio.to_thread(prepare, self.call.arguments)
            else:
                self.arguments = prepare(self.call.arguments)
        except ValidationError as error:
            refused = failure.invalid_arguments(self.call.name, error.violations)
            raise _Refused(self.run.truncate_refusal(refused, self.call)) from error

    def _needs_approval(self) -> bool:
        needed = self.plan.needs_approval
        if not callable(needed):
            return needed
        try:
            return bool(needed(self.call))
        except Exception as error:  # noqa: BLE001 - in doubt, approval is required
            _log.warning(
                "approval is required, since requires_approval raised an exception",
                exc_info=error,
                extra=self.log_fields(),
            )
            return True

    async def _approve(self) -> None:
        if not self._needs_approval():
            return
        defaults = self.run.defaults
        if defaults.approver is not None:
            call = self.call
            self.run.publisher.publish(
                ToolApprovalRequested(call.id, call.name, call.arguments), call
            )
        record = await decide(
            defaults.approver, self.call, self.plan.contract, defaults.approval_timeout
        )
        self.run.approved(self, record)
        if not record.allowed:
            raise _Refused(failure.denied(self.call.name, record.reason))

    async def _look_up(self) -> ToolResult | None:
        """Return the result of an identical call that has finished or is running, if any."""
        run, cache = self.run, self.run.cache
        if has_long_arguments(self.call):
            key = await asyncio.to_thread(cache.key, self.plan.identity, self.call.arguments)
        else:
            key = cache.key(self.plan.identity, self.call.arguments)
        found = cache.begin(key)
        if isinstance(found, Follower):
            if self.parent is not None:
                # The running call may be the one whose tool waits for this call.
                found.leave()
                return None
            # The running call may need a limit that this one holds.
            was_queued = self.permit is not None
            run.scheduler.release(self)
            found = await found.outcome()
            if was_queued and not isinstance(found, Hit):
                run.scheduler.enqueue(self, None)
        if isinstance(found, Hit):
            known = found.value
            own = ToolResult(self.call.id, self.call.name, known.result, value=known.value)
            return (
                own
                if self.parent is not None
                else truncate_for_journal(run.journal, self.call, own)
            )
        self.leader = found
        return None

    def complete_flight(self, leader: Leader[ToolResult], outcome: ToolResult | Deferred) -> None:
        """Publish the outcome to callers waiting on the same call."""
        if self.stopped is Stop.INTERRUPTED:
            # The tool did not fail, so another call may take over.
            leader.abandon()
        elif isinstance(outcome, Deferred) or outcome.is_error:
            leader.fail()
        else:
            leader.finish(outcome, ttl=self.plan.ttl or 0)

    async def _take_token(self, bucket: TokenBucket) -> None:
        wait = bucket.take()
        if wait == 0:
            return
        if self.plan.refuses:
            raise _Refused(failure.rate_limited(self.call.name, wait))
        _log.info("a call waits for its rate limit", extra=self.log_fields(wait=wait))
        self.run.scheduler.suspend(self)
        try:
            await asyncio.sleep(wait)
        except BaseException:
            bucket.refund()
            raise
        await self.run.scheduler.resume(self)

    async def _open_journal_entry(self, journal: Journal) -> None:
        self._raise_if_stopped()
        self.journal_entry = JournalEntry(journal, self)
        try:
            await self.journal_entry.open()
        except BaseException as error:
            if not self.journal_entry.rejected:
                raise
            raise _Refused(failure.interrupted(self.call.name, started=False)) from error

    # While it runs

    def _raise_if_stopped(self) -> None:
        if self.stopped is not None:
            raise asyncio.CancelledError

    def _mark_started(self) -> None:
        self._raise_if_stopped()
        run = self.run
        if self.callers_paused:
            self.resume_callers()
        self.started = run.clock()
        if self.plan.timed:
            self.timeouts = CallTimeouts(self)
        if run.publisher.has_subscribers:
            started = ToolStarted(self.call.id, self.call.name, self.call.arguments)
            run.publisher.emit(started, self)

    def progress(self, value: Any) -> None:
        """Record progress that the tool reports. Call this on the event loop's thread only."""
        # The idle timeout also holds if the tool blocked the event loop since its last report.
        self.check()
        if self.finished or self.stopped is not None:
            return
        self._progressed = True
        self._progress = value
        for timeouts in self._active_timeouts():
            timeouts.reset_idle()
        self.run.publisher.emit(ToolProgress(self.call.id, value), self)

    def check(self) -> None:
        """Stop the call if it has timed out. Call this on the event loop's thread only."""
        if self.timeouts is not None and self.stopped is None:
            self.timeouts.check()

    # The outcome

    async def _succeeded(self, value: Any) -> ToolResult | Deferred:
        # A result that comes after the deadline is too late. The clock decides, since a tool that
        # never awaits keeps the timer from firing.
        self.check()
        self._raise_if_stopped()
        if isinstance(value, Deferred):
            return value
        text, limit = await to_text_off_loop(value), self.plan.max_result_chars
        if limit is not None:
            text = truncate(text, limit)
        call = self.call
        return ToolResult(call.id, call.name, text, value=value, duration=self._duration())

    def error_result(self, error: BaseException) -> ToolResult:
        """Return the result of a call that ended with an exception."""
        name = self.call.name
        if isinstance(error, (Exception, asyncio.CancelledError)):
            self.check()
        if self.stopped is not None:
            return self.stopped_result()
        if isinstance(error, _Refused):
            return self._result(error.failure)
        if isinstance(error, asyncio.CancelledError):
            return self._result(failure.cancelled(name))
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
        return self._result(found, exception=error, reference=reference)

    def stopped_result(self) -> ToolResult:
        """Return the result of a call that was stopped."""
        name, plan = self.call.name, self.plan
        if self.stopped is Stop.INTERRUPTED:
            return self._result(failure.interrupted(name, started=self.started is not None))
        idle = self.stopped is Stop.IDLE
        seconds = plan.idle_timeout if idle else plan.timeout
        found = failure.timeout(name, seconds or 0.0, idle=idle)
        if plan.partial_results and self._progressed:
            try:
                text = truncate(to_text(self._progress), plan.max_result_chars)
            except Exception:  # noqa: BLE001 - converting the tool's value may raise anything
                return self._result(found)
            return self._result(failure.CallFailure(text, found.code), self._progress)
        return self._result(found)

    def unrecorded_result(self) -> ToolResult:
        """Return the result of a call whose outcome the journal could not record."""
        return self._result(failure.interrupted(self.call.name))

    def _result(
        self,
        found: CallFailure,
        value: Any = None,
        *,
        exception: BaseException | None = None,
        reference: str | None = None,
    ) -> ToolResult:
        return ToolResult(
            self.call.id,
            self.call.name,
            found.text,
            value=value,
            is_error=True,
            error_code=found.code,
            duration=self._duration(),
            exception=exception,
            reference=reference,
        )

    def _duration(self) -> float | None:
        return None if self.started is None else max(self.run.clock() - self.started, 0.0)

    def log_fields(self, **more: object) -> dict[str, object]:
        """Return the fields of log records about the call. They never include arguments."""
        return {"tool": self.call.name, "tool_call_id": self.call.id, **more}

    # Control by the run

    def stop(self, why: Stop) -> None:
        """Cancel the tool. Only the first reason counts."""
        if self.finished:
            return
        entry = self.journal_entry
        if entry is not None and entry.closing:
            # The tool has ended, and its outcome stands.
            if why is Stop.INTERRUPTED:
                entry.start_deadline()
            return
        if self.stopped is not None:
            return
        self.stopped = why
        _log.info("a call is stopped", extra=self.log_fields(reason=why.value))
        if self.queued_context is not None:
            # Still queued, so there is no task to cancel.
            self.queued_context = None
            self.run.finish(self, self.stopped_result())
            return
        GracePeriod(self)
        if self.task is not None and not (entry is not None and entry.opening):
            self.task.cancel()

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
        paused = self._active_timeouts()
        for timeouts in paused:
            timeouts.pause()
        try:
            yield
        finally:
            for timeouts in paused:
                timeouts.resume()

    def pause_callers(self) -> None:
        """Pause the timeouts of the ancestors until this call starts."""
        self.callers_paused = True
        for timeouts in self._active_timeouts():
            timeouts.pause()

    def resume_callers(self) -> None:
        """Resume the timeouts of the ancestors."""
        if self.callers_paused:
            self.callers_paused = False
            for timeouts in self._active_timeouts():
                timeouts.resume()

    def self_and_ancestors(self) -> Iterator[Execution]:
        """Iterate over the call, its parent, and so on to the outermost call."""
        each: Execution | None = self
        while each is not None:
            yield each
            each = each.parent

    def descendants(self) -> Iterator[Execution]:
        """Iterate over the unfinished calls that its tool has made, recursively."""
        for child in self.children:
            if not child.finished:
                yield child
                yield from child.descendants()

    def _active_timeouts(self) -> list[CallTimeouts]:
        return [each.timeouts for each in self.self_and_ancestors() if each.timeouts is not None]
