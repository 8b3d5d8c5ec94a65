"""The calls of one reply, while they run."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import tracing
from .._core import InvalidToolCall, ToolAggregateMessage, ToolCall, ToolResult
from .._deadlines import Deadlines
from .._loops import running_loop
from ..event_queue import BACKLOG
from ..exceptions import ValidationError
from ..kinds import ErrorCode
from ..runs import Run
from ..tools.context import ToolContext
from . import failure
from .call import Execution, has_long_arguments
from .deferred import METADATA as DEFERRED
from .deferred import Deferred
from .deferred_calls import DeferredCalls
from .host import CallHost
from .ids import CallIds
from .publisher import EventPublisher
from .stop import Stop

if TYPE_CHECKING:
    from contextvars import Context

    from ..protocols import Journal
    from .approval import ApprovalRecord
    from .events import ToolEvent
    from .failure import Failure
    from .limiter import Permit, ReplyQueue
    from .plan import Plans
    from .state import ExecutorState

APPROVALS = "approvals"
"""Where an aggregate's metadata holds what was decided on calls, by their ids."""

_log = logging.getLogger("toolweave.executor")


class ToolRun(Run["ToolEvent"]):
    """The calls of one reply: they start when they are submitted, and end with an aggregate.

    Made by `ToolExecutor.open`. As an iterator it gives what happens, in that order, and the
    aggregate last; as a context manager it cancels what still runs when the block ends.

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
        """All calls with their results, once the run is over."""
        # What its calls need to know.
        self.loop = running_loop()
        self.thread = threading.get_ident()
        self.defaults = state.defaults
        self.clock = state.defaults.clock
        self.plans = plans
        self.journal = journal
        self.deadlines = Deadlines(self.loop)
        self.scheduler = state.scheduler(self.loop)
        self.chat = self.scheduler.chat(chat_id)
        # Calls that need a place and nothing else, and the ticket that stands in line for them.
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
        # By position; calls that are open or deferred have no result.
        self._calls: list[ToolCall] = []
        self._results: list[ToolResult | None] = []
        self._running: set[Execution] = set()
        # Those that may not have taken their first step.
        self._unstarted: list[Execution] = []
        self._thread_progress: deque[tuple[Execution, Any]] = deque()
        self._wakeup_scheduled = False
        self._end_waiters: list[asyncio.Future[None]] = []
        self._closed = False
        self._cancelled = False
        self._fatal: BaseException | None = None
        self._approvals: dict[str, dict[str, Any]] = {}
        self.deferred_calls = DeferredCalls(state.deferred)

    # For the one who opened it.

    @property
    def error(self) -> BaseException | None:
        """What is raised when the run is over: a tool raised it for the program, or the journal."""
        return self._fatal

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped before its end."""
        return self._cancelled

    def submit(self, call: ToolCall | InvalidToolCall) -> None:
        """Takes the next call of the reply; it starts unless something stands before it.

        Raises:
            RuntimeError: The run is closed.
            TypeError: It is no call.
        """
        execution = self._accept(call)
        if execution is not None:
            self.schedule(execution)

    def close(self) -> None:
        """Says that there are no more calls. The run ends when the last of them has."""
        if not self._closed:
            self._closed = True
            self._finish_if_done()

    def interrupt(self) -> None:
        """Stops what runs, and lets nothing start; it does not wait.

        Calls that are submitted from now on have a result that says they were interrupted.
        """
        self._interrupt()

    async def cancel(self) -> None:
        """Cancels what still runs and waits until it has stopped.

        Every call without a result gets one that says it was interrupted. A tool that does not
        stop is given up after the executor's grace.
        """
        # Whoever reads may be the one who cancels, and reads no more before this is over.
        self.publisher.event_queue.release()
        if self.aggregate is None:
            self._interrupt()
            self.close()
        cancellation: asyncio.CancelledError | None = None
        while self.aggregate is None:
            try:
                await self._wait_for_end()
            except asyncio.CancelledError as error:  # noqa: PERF203 - cancelled, it waits again
                # It lasts no longer than the grace, whoever is impatient.
                cancellation = error
        await self.publisher.drain(self.defaults.cancel_grace)
        if cancellation is not None:
            raise cancellation

    async def wait(self) -> ToolAggregateMessage:
        """Waits for the end without looking at events."""
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
        """Waits until there are events, and returns all of them; none when the run is over.

        For whoever handles many at once; iterating gives the same events one by one.
        """
        events = await self.publisher.event_queue.take_all()
        if not events:
            await self._finalize()
        return events

    async def caught_up(self) -> None:
        """Waits until whoever reads the run is done with all that has happened so far.

        That is when it asks for more. A run that is cancelled, or that nobody reads because its
        end is waited for, is not waited for.
        """
        await self.publisher.event_queue.caught_up()

    async def _wait_for_end(self) -> None:
        # Beside a reader, perhaps, who waits for events.
        end = self.loop.create_future()
        self._end_waiters.append(end)
        await end

    async def _finalize(self) -> None:
        await self.publisher.drain(self.defaults.cancel_grace)
        fatal, self._fatal = self._fatal, None
        if fatal is not None:
            raise fatal

    # A call comes in.

    def _accept(self, given: ToolCall | InvalidToolCall) -> Execution | None:
        """Gives the call its place; None if it has its result at once."""
        if self._closed:
            raise RuntimeError("the run is closed: open another one for the calls of another reply")
        broken = given if isinstance(given, InvalidToolCall) else None
        if isinstance(given, ToolCall):
            call = given
        elif broken is not None:
            call = ToolCall(broken.id, broken.name, {}, broken.raw, broken.index)
        else:
            raise TypeError(
                f"a call is a ToolCall or an InvalidToolCall, not a {type(given).__name__}"
            )
        slot = len(self._calls)
        unique = self._ids.unique(call.id, slot)
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
                return Execution(self, plan, call, arguments, slot)
            except ValidationError as error:
                refused = failure.invalid_arguments(call.name, error.violations)
            except Exception as error:  # noqa: BLE001 - types may run any code of the tool's
                refused = failure.tool_error(
                    error, detail=self.defaults.error_detail, arguments=call.arguments
                )
                raised = error
        self._refuse(slot, call, broken or call, refused, raised)
        return None

    def _refuse(
        self,
        slot: int,
        call: ToolCall,
        given: ToolCall | InvalidToolCall,
        refused: Failure,
        raised: Exception | None = None,
    ) -> None:
        log_fields = {"tool": call.name, "tool_call_id": call.id, "error_code": refused.code.value}
        # Calls that are only made, or come too late, are not run by intention.
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
        self._results[slot] = result
        self.publisher.publish(result, given)
        self._finish_if_done()

    def truncate_refusal(self, refused: Failure, given: ToolCall | InvalidToolCall) -> Failure:
        """What is said of a call that does not run, within what all of them may say."""
        return replace(refused, text=self._refusal_budget.truncate(refused.text, given))

    def schedule(self, execution: Execution) -> None:
        """Sets a call on its way."""
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
                self.scheduler.enter(execution, self._reply if execution.parent is None else None)
            except Exception as error:  # noqa: BLE001 - the key is made by a function of the tool's
                self.finish(execution, execution.error_result(error))
                return
        elif self._has_limits and not self.scheduler.try_acquire(execution):
            return
        self.start_task(execution)

    def _needs_slot_only(self, execution: Execution) -> bool:
        """Whether a call needs a place and nothing else, and can start as soon as it has one."""
        return execution.plan.direct and execution.parent is None

    def start_task(self, execution: Execution, context: Context | None = None) -> None:
        """Gives a call its task.

        Args:
            execution: The call.
            context: The context of whoever submitted it, where that is another one by now.
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
        """Settles calls whose tasks were cancelled before their first step.

        All others settle themselves, at the price of no callback.
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
        """What the tool of a call is given."""
        return ToolContext(
            CallHost(execution),
            execution.call,
            attempt=execution.attempt,
            metadata=self.defaults.metadata,
        )

    # What calls say.

    def progress_from_thread(self, execution: Execution, value: Any) -> None:
        """Takes what a tool reports on a thread of its own."""
        if len(self._thread_progress) >= BACKLOG:
            # The loop is busy with other things, and no thread is to fill the memory meanwhile.
            return
        self._thread_progress.append((execution, value))
        if self._wakeup_scheduled:
            return
        # As in `pools`: taken back before the loop looks, so that nothing is overlooked.
        self._wakeup_scheduled = True
        try:
            self.loop.call_soon_threadsafe(self._drain_thread_progress)
        except RuntimeError:
            # The loop is closed: nobody listens any more.
            self._thread_progress.clear()

    def _drain_thread_progress(self) -> None:
        self._wakeup_scheduled = False
        # Not until there are none: a thread that never pauses would keep the loop here for ever.
        for _ in range(len(self._thread_progress)):
            execution, value = self._thread_progress.popleft()
            execution.progress(value)

    def approved(self, execution: Execution, record: ApprovalRecord) -> None:
        """Keeps what was decided on a call."""
        event = record.event()
        decision = {"outcome": event.outcome, "reason": event.reason}
        if event.decided_by is not None:
            decision["decidedBy"] = event.decided_by
        self._approvals[event.tool_call_id] = decision
        self.publisher.publish(event, execution.call)

    def fail(self, error: BaseException, execution: Execution) -> None:
        """The program is to know, or the journal failed: all others stop, then it is raised."""
        if self._fatal is None:
            self._fatal = error
        self._interrupt(exclude=execution)

    # A call is over.

    def finish(self, execution: Execution, outcome: ToolResult | Deferred) -> None:
        """Takes the outcome of a call. Only the first counts."""
        if execution.finished:
            return
        if self._thread_progress:
            # What its threads have said was said before.
            self._drain_thread_progress()
        if isinstance(outcome, Deferred):
            outcome = (
                outcome if execution.is_deferred else self.deferred_calls.add(execution, outcome)
            )
            if isinstance(outcome, Deferred):
                self.publisher.publish(self.deferred_calls.event(execution), execution.call)
        execution.finished = True
        # The two hold each other.
        execution.timeouts = None
        if isinstance(outcome, ToolResult):
            if execution.parent is None:
                self._results[execution.position] = outcome
            if self.publisher.has_subscribers:
                self.publisher.emit(outcome, execution)
        if execution.leader is not None:
            execution.complete_flight(execution.leader, outcome)
        if execution.has_slot or execution.permit is not None:
            self.scheduler.leave(execution)
        for child in execution.children:
            child.stop(Stop.INTERRUPTED)
        self._running.discard(execution)
        if execution.outcome_future is not None:
            execution.outcome_future.set_result(outcome)
        if self._closed and not self._running:
            self._finish_if_done()

    def abandon(self, execution: Execution) -> None:
        """Goes on without a tool that does not stop."""
        entry = execution.journal_entry
        if entry is not None and entry.opening:
            entry.give_up(execution.stopped_result())
            return
        _log.error("a tool ignores its cancellation and is given up", extra=execution.log_fields())
        if execution.task is not None:
            self.detach(execution.task)
        if entry is None:
            self.finish(execution, execution.stopped_result())
        else:
            entry.close_without_tool(execution.stopped_result())

    def detach(self, task: asyncio.Future[None]) -> None:
        """Keeps a task that nobody waits for any more."""
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
        # What was resolved meanwhile has to be written first: the next run does that.
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
