"""Runs of the calls of one reply."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import tracing
from .._aio.deadlines import Deadlines
from .._aio.event_queue import BACKLOG
from .._aio.loops import running_loop
from .._aio.runs import Run
from .._core import InvalidToolCall, ToolAggregateMessage, ToolCall, ToolResult
from ..exceptions import ValidationError
from ..kinds import ErrorCode
from ..tools._context import ToolContext
from . import _failure as failure
from ._call import Execution, has_long_arguments
from ._deferred import METADATA as DEFERRED
from ._deferred import Deferred
from ._deferred_calls import DeferredCalls
from ._host import CallHost
from ._ids import CallIds
from ._publisher import EventPublisher
from ._stop import Stop

if TYPE_CHECKING:
    from contextvars import Context

    from ..protocols import Journal
    from ._approval import ApprovalRecord
    from ._events import ToolEvent
    from ._failure import CallFailure
    from ._limiter import Permit, ReplyQueue
    from ._plan import Plans
    from ._state import ExecutorState

APPROVALS = "approvals"
"""Metadata field of an aggregate with the approval decisions, by the ids of the calls."""

_log = logging.getLogger("toolweave.executor")


class ToolRun(Run["ToolEvent"]):
    """Run of the calls of one reply, from their submission to the aggregate.

    Created by `ToolExecutor.open`. Iterating yields events in order, with the aggregate last. As a
    context manager, it cancels running calls when the block ends.

    Example:
        >>> async def main(executor: ToolExecutor, calls: list[ToolCall]) -> None:
        ...     async with executor.open() as run:
        ...         for call in calls:
        ...             run.submit(call)
        ...         run.close()
        ...         async for event in run:
        ...             print(event)
    """

    def __init__(
        self,
        state: ExecutorState,
        plans: Plans,
        *,
        keep_events: bool = True,
        chat_id: str | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.aggregate: ToolAggregateMessage | None = None
        """All calls with their results, once the run has ended."""
        # Used by its calls.
        self.loop = running_loop()
        self.thread = threading.get_ident()
        self.defaults = state.defaults
        self.clock = state.defaults.clock
        self.plans = plans
        self.journal = journal
        self.deadlines = Deadlines(self.loop)
        self.scheduler = state.scheduler(self.loop)
        self.chat = self.scheduler.chat(chat_id)
        # Queued calls that need only a slot, and the permit that waits on their behalf.
        self.queued: deque[Execution] = deque()
        self.waiting_permit: Permit | None = None
        self.cache = state.cache
        self.deferred = state.deferred
        self.publisher = EventPublisher(keep_events=keep_events, observers=state.observers())
        self._traced = tracing.is_enabled()
        self._state = state
        self._unread: deque[ToolEvent] = deque()
        self._ids = CallIds(state.defaults.id_factory)
        self._refusal_budget = failure.RefusalBudget()
        self._is_ordered = plans.ordered
        self._has_limits = self.scheduler.has_limits
        self._reply: ReplyQueue | None = None
        # By position; unfinished and deferred calls have no result.
        self._calls: list[ToolCall] = []
        self._results: list[ToolResult | None] = []
        self._running: set[Execution] = set()
        # Calls whose tasks may not have started yet.
        self._unstarted: list[Execution] = []
        self._thread_progress: deque[tuple[Execution, Any]] = deque()
        self._wakeup_scheduled = False
        self._end_waiters: list[asyncio.Future[None]] = []
        self._closed = False
        self._cancelled = False
        self._fatal: BaseException | None = None
        self._approvals: dict[str, dict[str, Any]] = {}
        self.deferred_calls = DeferredCalls(state.deferred)

    # Control by the caller

    @property
    def error(self) -> BaseException | None:
        """Exception to raise when the run has ended, of a tool or of the journal."""
        return self._fatal

    @property
    def interrupted(self) -> bool:
        """True if the run was interrupted."""
        return self._cancelled

    def submit(self, call: ToolCall | InvalidToolCall) -> None:
        """Submit the next call of the reply. It starts as soon as the limits allow.

        Raises:
            RuntimeError: The run is closed.
            TypeError: The argument is not a call.
        """
        execution = self._accept(call)
        if execution is not None:
            self.schedule(execution)

    def close(self) -> None:
        """Accept no more calls. The run ends when its last call has ended."""
        if not self._closed:
            self._closed = True
            self._finish_if_done()

    def interrupt(self) -> None:
        """Stop all calls and start no more, without waiting.

        Calls that are submitted from now on get a result that says they were interrupted.
        """
        self._interrupt()

    async def cancel(self) -> None:
        """Cancel running calls and wait until they have stopped.

        Every call without a result gets one that says it was interrupted. A tool that does not
        stop is abandoned after `cancel_grace`.
        """
        # The reader may be the canceller, and then reads no more until this returns.
        self.publisher.event_queue.release()
        if self.aggregate is None:
            self._interrupt()
            self.close()
        cancellation: asyncio.CancelledError | None = None
        while self.aggregate is None:
            try:
                await self._wait_for_end()
            except asyncio.CancelledError as error:  # noqa: PERF203 - cancelled, it waits again
                # Bounded by the grace period, so a cancelled caller waits as well.
                cancellation = error
        await self.publisher.drain(self.defaults.cancel_grace)
        if cancellation is not None:
            raise cancellation

    async def wait(self) -> ToolAggregateMessage:
        """Wait for the end without reading events."""
        self.publisher.event_queue.release()
        while self.aggregate is None:
            await self._wait_for_end()
        await self._finalize()
        return self.aggregate

    async def __anext__(self) -> ToolEvent:
        if not self._unread:
            self._unread = await self.next_events()
            if not self._unread:
                raise StopAsyncIteration
        return self._unread.popleft()

    async def next_events(self) -> deque[ToolEvent]:
        """Wait for events and return all that are queued; an empty queue means the end.

        Iterating yields the same events one by one.
        """
        events = await self.publisher.event_queue.take_all()
        if not events:
            await self._finalize()
        return events

    async def caught_up(self) -> None:
        """Wait until the reader has processed all events so far.

        The reader has done so when it asks for the next event. Returns at once if the run is
        cancelled, or has no reader because only its end is awaited.
        """
        await self.publisher.event_queue.caught_up()

    async def _wait_for_end(self) -> None:
        # A reader may be waiting for events at the same time.
        end = self.loop.create_future()
        self._end_waiters.append(end)
        await end

    async def _finalize(self) -> None:
        await self.publisher.drain(self.defaults.cancel_grace)
        fatal, self._fatal = self._fatal, None
        if fatal is not None:
            raise fatal

    # Submitted calls

    def _accept(self, given: ToolCall | InvalidToolCall) -> Execution | None:
        """Add a call; return None if it has its result at once."""
        if self._closed:
            raise RuntimeError("the run is closed; open another for the calls of another reply")
        broken = given if isinstance(given, InvalidToolCall) else None
        if isinstance(given, ToolCall):
            call = given
        elif broken is not None:
            call = ToolCall(broken.id, broken.name, {}, broken.raw, broken.index)
        else:
            raise TypeError(
                f"call must be a ToolCall or an InvalidToolCall, got {type(given).__name__}"
            )
        position = len(self._calls)
        unique = self._ids.unique(call.id, position)
        if unique != call.id:
            _log.info("a call has a new id", extra={"tool_call_id": unique, "given": call.id})
            call = call.__replace__(id=unique)
        self._calls.append(call)
        self._results.append(None)
        plan = self.plans.get(call.name)
        raised: Exception | None = None
        if broken is not None:
            tool = None if plan is None else plan.tool
            refused = failure.invalid_call(broken, self.plans, tool)
        elif self._cancelled:
            refused = failure.interrupted(call.name, started=False)
        elif plan is None:
            refused = failure.unknown_tool(call.name, self.plans)
        else:
            try:
                arguments = (
                    None if has_long_arguments(call) else plan.prepare_arguments(call.arguments)
                )
                return Execution(self, plan, call, arguments, position)
            except ValidationError as error:
                refused = failure.invalid_arguments(call.name, error.violations)
            except Exception as error:  # noqa: BLE001 - types may run the tool's own code
                refused = failure.tool_error(
                    error, detail=self.defaults.error_detail, arguments=call.arguments
                )
                raised = error
        self._refuse(position, call, broken or call, refused, raised)
        return None

    def _refuse(
        self,
        position: int,
        call: ToolCall,
        given: ToolCall | InvalidToolCall,
        refused: CallFailure,
        raised: Exception | None = None,
    ) -> None:
        log_fields = {"tool": call.name, "tool_call_id": call.id, "error_code": refused.code.value}
        # Calls that come after an interrupt are refused as intended.
        level = logging.DEBUG if refused.code is ErrorCode.INTERRUPTED else logging.INFO
        _log.log(level, "a call is refused", extra=log_fields)
        result = ToolResult(
            call.id,
            call.name,
            self.truncate_refusal(refused, given).text,
            is_error=True,
            error_code=refused.code,
            exception=raised,
            reference=None if raised is None else failure.log_failure(raised, log_fields),
        )
        self._results[position] = result
        self.publisher.publish(result, given)
        self._finish_if_done()

    def truncate_refusal(
        self, refused: CallFailure, given: ToolCall | InvalidToolCall
    ) -> CallFailure:
        """Return the failure of a refused call, with its text within the budget of the run."""
        return replace(refused, text=self._refusal_budget.truncate(refused.text, given))

    def schedule(self, execution: Execution) -> None:
        """Queue a call, or start it if it needs no limits."""
        self._running.add(execution)
        plan = execution.plan
        if (
            self._is_ordered
            or plan.limited
            or (self._has_limits and not self._needs_slot_only(execution))
        ):
            if self._reply is None:
                self._reply = self.scheduler.reply(self.chat)
            try:
                self.scheduler.enqueue(execution, self._reply if execution.parent is None else None)
            except Exception as error:  # noqa: BLE001 - the key comes from the tool's own function
                self.finish(execution, execution.error_result(error))
                return
        elif self._has_limits and not self.scheduler.try_acquire(execution):
            return
        self.start_task(execution)

    def _needs_slot_only(self, execution: Execution) -> bool:
        """Return True if a call needs only a slot, and can start as soon as it has one."""
        return execution.plan.direct and execution.parent is None

    def start_task(self, execution: Execution, context: Context | None = None) -> None:
        """Create the task of a call.

        Args:
            execution: The call.
            context: Context of the submitter, if the current context is another.
        """
        serving = execution.serve_traced() if self._traced else execution.serve()
        if context is None:
            execution.task = self.loop.create_task(serving)
        else:
            execution.task = context.run(self.loop.create_task, serving)
        self._unstarted.append(execution)
        if len(self._unstarted) == 1:
            self.loop.call_soon(self._finish_unstarted)

    def _finish_unstarted(self) -> None:
        """Finish calls whose tasks were cancelled before they started.

        All other calls finish themselves, without the cost of a done callback.
        """
        unstarted, self._unstarted = self._unstarted, []
        for execution in unstarted:
            if execution.entered or execution.task is None:
                continue
            if execution.task.done():
                self.finish(execution, execution.error_result(asyncio.CancelledError()))
            else:
                self._unstarted.append(execution)
        if self._unstarted:
            self.loop.call_soon(self._finish_unstarted)

    def context(self, execution: Execution) -> ToolContext:
        """Return the context for the tool of a call."""
        return ToolContext(
            CallHost(execution),
            execution.call,
            attempt=execution.attempt,
            metadata=self.defaults.metadata,
        )

    # Progress, approvals and errors

    def progress_from_thread(self, execution: Execution, value: Any) -> None:
        """Queue progress that a tool reports on another thread."""
        if len(self._thread_progress) >= BACKLOG:
            # The loop is busy. Drop progress so that the queue stays bounded.
            return
        self._thread_progress.append((execution, value))
        if self._wakeup_scheduled:
            return
        # As in `pools`: the flag is cleared before the queue is read, so nothing is missed.
        self._wakeup_scheduled = True
        try:
            self.loop.call_soon_threadsafe(self._drain_thread_progress)
        except RuntimeError:
            # The loop is closed, so nothing is waiting.
            self._thread_progress.clear()

    def _drain_thread_progress(self) -> None:
        self._wakeup_scheduled = False
        # A fixed number, since a thread that never pauses would hold the loop here forever.
        for _ in range(len(self._thread_progress)):
            execution, value = self._thread_progress.popleft()
            execution.progress(value)

    def approved(self, execution: Execution, record: ApprovalRecord) -> None:
        """Record the approval decision on a call."""
        event = record.event()
        decision = {"outcome": event.outcome, "reason": event.reason}
        if event.decided_by is not None:
            decision["decidedBy"] = event.decided_by
        self._approvals[event.tool_call_id] = decision
        self.publisher.publish(event, execution.call)

    def fail(self, error: BaseException, execution: Execution) -> None:
        """Interrupt all other calls, and raise the error when the run has ended."""
        if self._fatal is None:
            self._fatal = error
        self._interrupt(exclude=execution)

    # Finished calls

    def finish(self, execution: Execution, outcome: ToolResult | Deferred) -> None:
        """Record the outcome of a call. Only the first one counts."""
        if execution.finished:
            return
        if self._thread_progress:
            # Progress from its threads comes before its result.
            self._drain_thread_progress()
        if isinstance(outcome, Deferred):
            outcome = (
                outcome if execution.is_deferred else self.deferred_calls.add(execution, outcome)
            )
            if isinstance(outcome, Deferred):
                self.publisher.publish(self.deferred_calls.event(execution), execution.call)
        execution.finished = True
        # Breaks a reference cycle.
        execution.timeouts = None
        if isinstance(outcome, ToolResult):
            if execution.parent is None:
                self._results[execution.position] = outcome
            if self.publisher.has_subscribers:
                self.publisher.emit(outcome, execution)
        if execution.leader is not None:
            execution.complete_flight(execution.leader, outcome)
        if execution.has_slot or execution.permit is not None:
            self.scheduler.release(execution)
        for child in execution.children:
            child.stop(Stop.INTERRUPTED)
        self._running.discard(execution)
        if execution.outcome_future is not None:
            execution.outcome_future.set_result(outcome)
        if self._closed and not self._running:
            self._finish_if_done()

    def abandon(self, execution: Execution) -> None:
        """Abandon a tool that does not stop, and finish its call."""
        entry = execution.journal_entry
        if entry is not None and entry.opening:
            entry.abandon(execution.stopped_result())
            return
        _log.error("a tool ignores its cancellation and is abandoned", extra=execution.log_fields())
        if execution.task is not None:
            self.detach(execution.task)
        if entry is None:
            self.finish(execution, execution.stopped_result())
        else:
            entry.close_without_tool(execution.stopped_result())

    def detach(self, task: asyncio.Future[None]) -> None:
        """Keep a task alive that is no longer awaited."""
        self._state.keep_until_done(task)

    def _interrupt(self, *, exclude: Execution | None = None) -> None:
        self._cancelled = True
        for execution in list(self._running):
            if execution is not exclude:
                execution.stop(Stop.INTERRUPTED)

    def _finish_if_done(self) -> None:
        if not self._closed or self._running or self.aggregate is not None:
            return
        self.deadlines.close()
        metadata: dict[str, Any] = {}
        if self._approvals:
            metadata[APPROVALS] = self._approvals
        if self.deferred_calls.keys:
            metadata[DEFERRED] = self.deferred_calls.keys
        results = [result for result in self._results if result is not None]
        metadata = failure.add_references(metadata, results)
        aggregate = ToolAggregateMessage(self._calls, results, metadata=metadata or None)
        # With a journal, results resolved meanwhile must be written first; the next run does so.
        if self.deferred_calls.keys and self.journal is None:
            aggregate, late = self.deferred_calls.merge_resolved(
                aggregate, self.defaults.max_result_chars
            )
            calls = {call.id: call for call in self._calls}
            for result in late:
                self.publisher.publish(result, calls[result.tool_call_id])
        self.aggregate = aggregate
        self.publisher.publish(aggregate, None)
        self.publisher.event_queue.end()
        for end in self._end_waiters:
            if not end.done():
                end.set_result(None)
