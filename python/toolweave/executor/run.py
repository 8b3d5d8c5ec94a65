"""The calls of one reply, while they run."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from .._core import InvalidToolCall, ToolAggregateMessage, ToolCall, ToolResult
from ..exceptions import ToolFailed, ValidationError
from . import failure
from .call import Execution, Stop
from .deferred import METADATA as DEFERRED
from .deferred import Deferred
from .events import ToolApproval, ToolDeferred
from .timers import Deadlines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from typing_extensions import Self

    from .approval import ApprovalRecord
    from .events import ToolEvent
    from .executor import Shared
    from .failure import Failure
    from .plan import Plan

APPROVALS = "approvals"
"""Where an aggregate's metadata holds what was decided on calls, by their ids."""

_log = logging.getLogger("toolweave.executor")


class ToolRun:
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

    def __init__(self, shared: Shared, plans: Mapping[str, Plan], *, watched: bool = True) -> None:
        self.loop = asyncio.get_running_loop()
        self.thread = threading.get_ident()
        self.deadlines = Deadlines(self.loop)
        self.defaults = shared.defaults
        self.clock = shared.defaults.clock
        self.cache = shared.cache
        self.deferred = shared.deferred
        self.turns = shared.turns
        self.observers = shared.observers()
        self.aggregate: ToolAggregateMessage | None = None
        """All calls with their results, once the run is over."""
        self._shared = shared
        self._plans = plans
        self._ordered = self.turns.bounded or any(plan.ordered for plan in plans.values())
        self._reply = self.turns.reply()
        self._watched = watched
        self._events: deque[ToolEvent] = deque()
        self._from_threads: deque[tuple[Execution, Any]] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._ids: dict[str, int] = {}
        # By position: the results of calls that are still open or deferred are None.
        self._calls: list[ToolCall] = []
        self._results: list[ToolResult | None] = []
        self._running: set[Execution] = set()
        self._closed = False
        self._cancelled = False
        self._fatal: BaseException | None = None
        self._approvals: dict[str, dict[str, Any]] = {}
        self._deferred_keys: dict[str, str] = {}

    # What the caller does.

    def submit(self, call: ToolCall | InvalidToolCall) -> None:
        """Takes the next call of the reply; it starts unless something stands before it.

        Raises:
            RuntimeError: The run is closed.
            TypeError: It is no call.
        """
        execution = self._accept(call)
        if execution is not None:
            self._start(execution)

    def close(self) -> None:
        """Says that there are no more calls. The run ends when the last of them has."""
        if not self._closed:
            self._closed = True
            self._end_if_over()

    async def cancel(self) -> None:
        """Cancels what still runs and waits until it has stopped.

        Every call without a result gets one that says it was interrupted. A tool that does not
        stop is given up after the executor's grace.
        """
        self._interrupt()
        self.close()
        interrupted: asyncio.CancelledError | None = None
        while self.aggregate is None:
            try:
                await self._news()
            except asyncio.CancelledError as error:  # noqa: PERF203 - cancelled, it waits again
                # It lasts no longer than the grace, whoever is impatient.
                interrupted = error
        if interrupted is not None:
            raise interrupted

    async def wait(self) -> ToolAggregateMessage:
        """Waits for the end, with nobody watching. Cancelled, it cancels the tools."""
        try:
            while self.aggregate is None:
                await self._news()
            await self._finish()
        except asyncio.CancelledError:
            await self.cancel()
            raise
        return self.aggregate

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ToolEvent:
        while not self._events:
            if self.aggregate is not None:
                await self._finish()
                raise StopAsyncIteration
            await self._news()
        return self._events.popleft()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.cancel()

    async def _news(self) -> None:
        """Waits until there is an event, or the end."""
        if self._waiter is not None:
            raise RuntimeError("a run can be waited for by one task at a time")
        self._waiter = self.loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    async def _finish(self) -> None:
        if self.observers:
            await self.observers.drain(self.defaults.cancel_grace)
        fatal, self._fatal = self._fatal, None
        if fatal is not None:
            raise fatal

    # A call comes in.

    def _accept(self, given: ToolCall | InvalidToolCall) -> Execution | None:
        """Gives the call its place; None if it has its result at once."""
        if self._closed:
            raise RuntimeError("the run is closed: open another one for the calls of another reply")
        if isinstance(given, InvalidToolCall):
            call = ToolCall(given.id, given.name, {}, given.raw, given.index)
        elif isinstance(given, ToolCall):
            call = given
        else:
            raise TypeError(
                f"a call is a ToolCall or an InvalidToolCall, not a {type(given).__name__}"
            )
        slot = len(self._calls)
        if not call.id or call.id in self._ids:
            call = call.__replace__(id=self._free_id(call.id, slot))
        self._ids[call.id] = 1
        self._calls.append(call)
        self._results.append(None)
        plan = self._plans.get(call.name)
        if isinstance(given, InvalidToolCall):
            refused = failure.invalid_call(given, self._plans)
        elif self._cancelled:
            refused = failure.interrupted(call.name, started=False)
        elif plan is None:
            refused = failure.unknown_tool(call.name, self._plans)
        else:
            try:
                arguments = _fitting(plan, call)
            except ValidationError as error:
                refused = failure.invalid_arguments(call.name, error.violations)
            else:
                execution = Execution(self, plan, call, arguments, slot)
                self._running.add(execution)
                return execution
        self._refuse(slot, call, refused)
        return None

    def _free_id(self, taken: str, slot: int) -> str:
        factory = self.defaults.id_factory
        base = taken or (f"call_{slot}" if factory is None else factory(slot))
        free = base
        while free in self._ids:
            self._ids[base] += 1
            free = f"{base}#{self._ids[base]}"
        _log.info("a call has a new id", extra={"tool_call_id": free, "given": taken})
        return free

    def _refuse(self, slot: int, call: ToolCall, refused: Failure) -> None:
        _log.info(
            "a call is refused",
            extra={"tool": call.name, "tool_call_id": call.id, "error_code": refused.code.value},
        )
        result = ToolResult(
            call.id, call.name, refused.text, is_error=True, error_code=refused.code
        )
        self._results[slot] = result
        self._tell(result, call)
        self._end_if_over()

    def _start(self, execution: Execution) -> None:
        if self._ordered or execution.plan.limited:
            try:
                self.turns.enter(execution, None if execution.parent else self._reply)
            except Exception as error:  # noqa: BLE001 - a key is whatever the tool's author says
                self.settle(execution, execution.failed(error))
                return
        task = execution.task = self.loop.create_task(execution.serve())
        task.add_done_callback(execution.done)

    # What calls say.

    def tell(self, event: ToolEvent, execution: Execution) -> None:
        """Hands on what happened to a call."""
        if execution.parent is None:
            self._tell(event, execution.call)
        else:
            self.observers.notify(event, execution.call)

    def _tell(self, event: ToolEvent, call: ToolCall | None) -> None:
        if self._watched:
            self._events.append(event)
            self._wake()
        if self.observers:
            self.observers.notify(event, call)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def progress_from_thread(self, execution: Execution, value: Any) -> None:
        """Takes what a tool reports on a thread of its own."""
        self._from_threads.append((execution, value))
        try:
            self.loop.call_soon_threadsafe(self._hear_threads)
        except RuntimeError:
            # The loop is closed: nobody listens any more.
            self._from_threads.clear()

    def _hear_threads(self) -> None:
        while self._from_threads:
            execution, value = self._from_threads.popleft()
            execution.progress(value)

    def approved(self, execution: Execution, record: ApprovalRecord) -> None:
        """Keeps what was decided on a call."""
        event: ToolApproval = record.event()
        self._approvals[event.tool_call_id] = {"outcome": event.outcome, "reason": event.reason}
        self._tell(event, execution.call)

    def fail(self, error: BaseException) -> None:
        """A tool raised what is meant for the program: all stops, and then it is raised."""
        if self._fatal is None:
            self._fatal = error
        self._interrupt()

    # A call is over.

    def settle(self, execution: Execution, outcome: ToolResult | Deferred) -> None:
        """Takes the outcome of a call. Only the first counts."""
        if execution.settled:
            return
        if isinstance(outcome, Deferred):
            try:
                key = self.deferred.add(execution.call, outcome.key, note=outcome.note)
            except ValueError as error:
                outcome = execution.failed(error)
            else:
                event = ToolDeferred(execution.call.id, execution.call.name, key)
                execution.settled = True
                self._deferred_keys[execution.call.id] = key
                self.tell(event, execution)
        if isinstance(outcome, ToolResult):
            # What its threads have said was said before.
            self._hear_threads()
            execution.settled = True
            if execution.parent is None:
                self._results[execution.slot] = outcome
            self.tell(outcome, execution)
        self.turns.leave(execution)
        for child in execution.children:
            child.stop(Stop.INTERRUPTED)
        self._running.discard(execution)
        if execution.answer is not None and not execution.answer.done():
            execution.answer.set_result(outcome)
        self._end_if_over()

    def abandon(self, execution: Execution) -> None:
        """Goes on without a tool that does not stop."""
        _log.error("a tool ignores its cancellation and is given up", extra=execution.facts())
        if execution.task is not None:
            self._shared.abandon(execution.task)
        self.settle(execution, execution.stopped_result())

    def _interrupt(self) -> None:
        self._cancelled = True
        for execution in list(self._running):
            execution.stop(Stop.INTERRUPTED)

    def _end_if_over(self) -> None:
        if not self._closed or self._running or self.aggregate is not None:
            return
        self.deadlines.close()
        metadata: dict[str, Any] = {}
        if self._approvals:
            metadata[APPROVALS] = self._approvals
        if self._deferred_keys:
            metadata[DEFERRED] = self._deferred_keys
        results = [result for result in self._results if result is not None]
        aggregate = ToolAggregateMessage(self._calls, results, metadata=metadata)
        if self._deferred_keys:
            # Those that were resolved while others ran.
            aggregate = self.deferred.settle(
                aggregate, max_result_chars=self.defaults.max_result_chars
            )
            known = {result.tool_call_id for result in results}
            for result in aggregate.tool_results:
                if result.tool_call_id not in known:
                    self._tell(result, None)
        self.aggregate = aggregate
        self._tell(aggregate, None)
        self._wake()

    # Tools that call tools.

    async def call_for(self, parent: Execution, name: str, arguments: Mapping[str, Any]) -> Any:
        """Runs a tool for another one; see `ToolContext.call`."""
        execution = self._accept_from(parent, name, arguments)
        execution.answer = self.loop.create_future()
        parent.children = (*parent.children, execution)
        self._start(execution)
        self.turns.step_aside(parent)
        try:
            while not execution.answer.done():
                await asyncio.wait((execution.answer,))
        except asyncio.CancelledError:
            execution.stop(Stop.INTERRUPTED)
            await asyncio.wait((execution.answer,))
            raise
        await self.turns.come_back(parent)
        outcome = execution.answer.result()
        if isinstance(outcome, Deferred):
            with parent.away():
                answer = await self.deferred.wait(self._deferred_keys[execution.call.id])
            await self.turns.come_back(parent)
            value, is_error, text = answer.value, answer.is_error, str(answer.value)
        else:
            value, is_error, text = outcome.value, outcome.is_error, outcome.result
        if is_error:
            raise ToolFailed(text)
        return value

    def _accept_from(self, parent: Execution, name: str, arguments: Mapping[str, Any]) -> Execution:
        depth = parent.depth + 1
        if depth > self.defaults.max_call_depth:
            raise ToolFailed(
                f"tools call tools at most {self.defaults.max_call_depth} deep; "
                f"{parent.call.name!r} is at the limit"
            )
        plan = self._plans.get(name)
        if plan is None:
            raise ToolFailed(failure.unknown_tool(name, self._plans).text)
        parent.nested += 1
        call = ToolCall(f"{parent.call.id}/{parent.nested}", name, arguments)
        try:
            bound = _fitting(plan, call)
        except ValidationError as error:
            raise ToolFailed(failure.invalid_arguments(name, error.violations).text) from error
        if self._cancelled or parent.settled:
            raise asyncio.CancelledError
        execution = Execution(self, plan, call, bound, -1)
        execution.parent = parent
        execution.depth = depth
        self._running.add(execution)
        return execution


def _fitting(plan: Plan, call: ToolCall) -> dict[str, Any]:
    """What the function is called with.

    Raises:
        ValidationError: The arguments do not fit.
    """
    if plan.validate is not None:
        plan.validate(call.arguments)
    return plan.bind(call.arguments)
