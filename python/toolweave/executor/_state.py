"""State that the replies of an executor share, and state that the calls of one reply share."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, cast

from .. import tracing
from .._aio.deadlines import Deadlines
from .._aio.event_queue import BACKLOG, EventQueue
from .._aio.loops import running_loop
from .._aio.single_flight import ResultCache
from .._core import ToolAggregateMessage
from ._deferred import METADATA as DEFERRED
from ._events import ToolProgress
from ._failure import REFERENCES, RefusalBudget
from ._observers import Observers
from ._scheduler import ExecutionScheduler

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core import InvalidToolCall, ToolCall, ToolResult
    from ..protocols import Journal
    from ..tools import RunContext
    from ._defaults import Defaults
    from ._deferred import DeferredResults
    from ._events import ToolApproval, ToolEvent
    from ._observers import AnyObserver
    from ._plan import Plans
    from ._scheduler import ScheduledCall

APPROVALS = "approvals"
"""Metadata field of an aggregate with the approval decisions, by the ids of the calls."""


class ExecutorState:
    """Limits, cache and deferred results of an executor.

    Args:
        defaults: The options.
        observer: The observers of every call.
        deferred: The deferred results.
    """

    def __init__(
        self, defaults: Defaults, observer: AnyObserver | None, deferred: DeferredResults
    ) -> None:
        self.defaults = defaults
        self.deferred = deferred
        self.cache: ResultCache[ToolResult] = ResultCache(clock=defaults.clock)
        self._observer = observer
        # Raises at once for an invalid observer; an empty list counts as no observer.
        self._observed = bool(Observers(observer))
        self._scheduler: ExecutionScheduler | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._abandoned: set[asyncio.Future[Any]] = set()

    def scheduler(self, loop: asyncio.AbstractEventLoop) -> ExecutionScheduler:
        """Return the scheduler of the running event loop."""
        if self._scheduler is None or self._loop is not loop:
            # Calls queued on a previous loop ended with that loop.
            self._loop = loop
            self._scheduler = ExecutionScheduler(
                loop, self.defaults.max_concurrency, self.defaults.max_concurrency_per_chat
            )
        return self._scheduler

    def observers(self) -> Observers | None:
        """Return the observers of one run, or None without any."""
        return Observers(self._observer) if self._observed else None

    def keep_until_done(self, task: asyncio.Future[Any]) -> None:
        """Keep a reference to a task until it is done; the event loop's own is weak."""
        self._abandoned.add(task)
        task.add_done_callback(self._abandoned.discard)


class ToolRunState:
    """The calls of one run with their results, their events, and what they need to run.

    Args:
        executor: State of the executor.
        plans: The tools.
        keep_events: True to queue events for a reader.
        context: Context of the run that the calls belong to.
        journal: Journal of starts and results.
    """

    def __init__(
        self,
        executor: ExecutorState,
        plans: Plans,
        *,
        keep_events: bool,
        context: RunContext[Any],
        journal: Journal | None,
    ) -> None:
        self.loop = running_loop()
        self._thread = threading.get_ident()
        self.defaults = executor.defaults
        self.clock = executor.defaults.clock
        self.plans = plans
        self.context = context
        self.journal = journal
        self.deadlines = Deadlines(self.loop)
        self.scheduler = executor.scheduler(self.loop)
        self.queue = self.scheduler.open(context.chat_id, is_ordered=plans.ordered)
        self.cache = executor.cache
        self.deferred = executor.deferred
        self.detach = executor.keep_until_done
        """Function that keeps a task alive that is no longer awaited."""
        self.refusals = RefusalBudget()
        self.is_traced = tracing.is_enabled()
        self.interrupted = False
        self.error: BaseException | None = None
        """Exception to raise when the run has ended."""
        self.aggregate: ToolAggregateMessage | None = None
        self.events: EventQueue[ToolEvent] = EventQueue()
        """Events that have not been read."""
        self._keep_events = keep_events
        self._observers = executor.observers()
        self.has_subscribers = keep_events or self._observers is not None
        """True if there is a reader or an observer."""
        self.is_closed = False
        self._calls: list[ToolCall] = []
        # By position; unfinished and deferred calls have no result.
        self._results: list[ToolResult | None] = []
        # Unfinished calls with their positions; nested calls have none.
        self._running: dict[ScheduledCall, int | None] = {}
        self._end_waiters: list[asyncio.Future[None]] = []
        self._approvals: dict[str, dict[str, Any]] = {}
        # Keys of deferred calls, and references of results, by the ids of the calls.
        self._deferred_keys: dict[str, str] = {}
        self._references: dict[str, str] = {}
        self.thread_progress: deque[tuple[Callable[[Any], None], Any]] = deque()
        """Progress that tools reported on other threads."""
        self._wakeup_scheduled = False

    # Calls

    def start(self, call: ScheduledCall) -> None:
        """Start the next call of the reply, or a nested call, as soon as the limits allow."""
        position = None
        if call.parent is None:
            position = len(self._calls)
            self._calls.append(call.call)
            self._results.append(None)
        self._running[call] = position
        self.scheduler.add(call)

    def refuse(self, call: ToolCall, result: ToolResult, given: ToolCall | InvalidToolCall) -> None:
        """Add the next call of the reply with its result, without running it."""
        self._calls.append(call)
        self._results.append(result)
        self._record_reference(result)
        self.publish(result, given)

    def finish(self, call: ScheduledCall, result: ToolResult | None) -> None:
        """Publish the result of a call, and end the run if it was the last one.

        Args:
            call: The call.
            result: The result; None if it is deferred.
        """
        if result is not None:
            position = self._running.get(call)
            if position is not None:
                self._results[position] = result
                self._record_reference(result)
            if self.has_subscribers:
                self.emit(result, call)
        self._running.pop(call, None)
        if self.is_closed and not self._running:
            self._end()

    def _record_reference(self, result: ToolResult) -> None:
        if result.reference is not None:
            self._references[result.tool_call_id] = result.reference

    def defer(self, call_id: str, key: str) -> None:
        """Record that a call is pending until its key is resolved."""
        self._deferred_keys[call_id] = key

    def undefer(self, call_id: str) -> None:
        """Record that a call is not pending after all."""
        self._deferred_keys.pop(call_id, None)

    def record_approval(self, event: ToolApproval, call: ToolCall) -> None:
        """Record and publish the decision on a call."""
        decision = {"outcome": event.outcome, "reason": event.reason}
        if event.decided_by is not None:
            decision["decidedBy"] = event.decided_by
        self._approvals[event.tool_call_id] = decision
        self.publish(event, call)

    # Events

    def emit(self, event: ToolEvent, call: ScheduledCall) -> None:
        """Emit an event of one call. Events of nested calls go to observers only."""
        if self._keep_events and call.parent is None:
            if isinstance(event, ToolProgress):
                self.events.offer(event)
            else:
                self.events.put(event)
        if self._observers is not None:
            self._observers.notify(event, call.call)

    def publish(self, event: ToolEvent, call: ToolCall | InvalidToolCall | None) -> None:
        """Publish an event to the reader and the observers, and never drop it.

        For results of calls that did not run, questions, decisions and the aggregate.
        """
        if self._keep_events:
            self.events.put(event)
        if self._observers is not None:
            self._observers.notify(event, call)

    def report(self, report: Callable[[Any], None], value: Any) -> None:
        """Call a function with progress of a tool on the event loop's thread. Thread-safe.

        Args:
            report: The function.
            value: The value.
        """
        if threading.get_ident() == self._thread:
            report(value)
            return
        if len(self.thread_progress) >= BACKLOG:
            # The loop is busy. Drop progress so that the queue stays bounded.
            return
        self.thread_progress.append((report, value))
        if self._wakeup_scheduled:
            return
        # As in `_pools`: the flag is cleared before the queue is read, so nothing is missed.
        self._wakeup_scheduled = True
        try:
            self.loop.call_soon_threadsafe(self.drain_thread_progress)
        except RuntimeError:
            # The loop is closed, so nothing is waiting.
            self.thread_progress.clear()

    def drain_thread_progress(self) -> None:
        """Report the progress that tools reported on other threads."""
        self._wakeup_scheduled = False
        # A fixed number, since a thread that never pauses would hold the loop here forever.
        for _ in range(len(self.thread_progress)):
            report, value = self.thread_progress.popleft()
            report(value)

    # The end

    def fail(self, error: BaseException, call: ScheduledCall) -> None:
        """Interrupt all other calls, and raise the error when the run has ended."""
        if self.error is None:
            self.error = error
        self.interrupt(exclude=call)

    def interrupt(self, *, exclude: ScheduledCall | None = None) -> None:
        """Stop all calls, and start no more."""
        self.interrupted = True
        for call in list(self._running):
            if call is not exclude:
                call.interrupt()

    def close(self) -> None:
        """Accept no more calls."""
        if not self.is_closed:
            self.is_closed = True
            if not self._running:
                self._end()

    def end_waiter(self) -> asyncio.Future[None]:
        """Return a future that is done when the run has ended. Each waiter needs its own."""
        end = self.loop.create_future()
        self._end_waiters.append(end)
        return end

    async def drain(self) -> None:
        """Wait until the observers have received all events, within the grace period."""
        if self._observers is not None:
            await self._observers.drain(self.defaults.cancel_grace)

    async def finalize(self) -> None:
        """Drain the observers, and raise the error of the run, once."""
        await self.drain()
        error, self.error = self.error, None
        if error is not None:
            raise error

    def _end(self) -> None:
        self.deadlines.close()
        # Only deferred calls have no result now. A reply can have a hundred thousand calls.
        results = cast("list[ToolResult]", self._results)
        if self._deferred_keys:
            results = [result for result in self._results if result is not None]
        metadata: dict[str, Any] = {}
        if self._approvals:
            metadata[APPROVALS] = self._approvals
        if self._deferred_keys:
            metadata[DEFERRED] = self._deferred_keys
        if self._references:
            metadata[REFERENCES] = self._references
        aggregate = ToolAggregateMessage(self._calls, results, metadata=metadata or None)
        # With a journal, results resolved meanwhile must be written first; the next run does so.
        if self._deferred_keys and self.journal is None:
            aggregate = self._merge_resolved(aggregate)
        self.aggregate = aggregate
        self.publish(aggregate, None)
        self.events.end()
        for end in self._end_waiters:
            if not end.done():
                end.set_result(None)

    def _merge_resolved(self, aggregate: ToolAggregateMessage) -> ToolAggregateMessage:
        """Merge results that were resolved while other calls ran, and publish them."""
        merged = self.deferred.merge_results(
            aggregate, max_result_chars=self.defaults.max_result_chars
        )
        known = {result.tool_call_id for result in aggregate.tool_results}
        calls = {call.id: call for call in self._calls}
        for result in merged.tool_results:
            if result.tool_call_id not in known:
                self.publish(result, calls[result.tool_call_id])
        return merged
