"""Runs of the calls of one reply.

A call passes these modules, in this order: `_run` admits or refuses it, `_scheduler` starts it
within the limits that `_limiter` tracks, `_call` runs it to its result, and `_state` records and
publishes the result and ends the run. On the way, `_conditions` are met before the tool starts,
`_journal` entries are written, and `_execution` serves what the tool requests.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any, cast

from .._aio.runs import Run
from .._aio.tasks import wait_until_done
from .._core import InvalidToolCall, ToolAggregateMessage, ToolCall
from ..exceptions import ValidationError
from ..kinds import ErrorCode
from . import _failure as failure
from ._execution import Execution, TracedExecution
from ._ids import CallIds
from ._state import ToolRunState

if TYPE_CHECKING:
    from ..protocols import Journal
    from ..tools import RunContext
    from ._events import ToolEvent
    from ._failure import CallFailure
    from ._plan import Plans
    from ._state import ExecutorState

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
        executor: ExecutorState,
        plans: Plans,
        *,
        keep_events: bool = True,
        context: RunContext[Any],
        journal: Journal | None = None,
    ) -> None:
        self._state = ToolRunState(
            executor, plans, keep_events=keep_events, context=context, journal=journal
        )
        self._ids = CallIds(executor.defaults.id_factory)
        self._execution = TracedExecution if self._state.is_traced else Execution
        self._count = 0
        self._unread: deque[ToolEvent] = deque()

    @property
    def aggregate(self) -> ToolAggregateMessage | None:
        """All calls with their results, once the run has ended."""
        return self._state.aggregate

    @property
    def error(self) -> BaseException | None:
        """Exception to raise when the run has ended, of a tool or of the journal."""
        return self._state.error

    @property
    def interrupted(self) -> bool:
        """True if the run was interrupted."""
        return self._state.interrupted

    def submit(self, call: ToolCall | InvalidToolCall) -> None:
        """Submit the next call of the reply. It starts as soon as the limits allow.

        Raises:
            RuntimeError: The run is closed.
            TypeError: The argument is not a call.
        """
        state = self._state
        if state.is_closed:
            raise RuntimeError("the run is closed; open another for the calls of another reply")
        if not isinstance(call, ToolCall):
            self._refuse_invalid(call)
            return
        call = self._with_id(call)
        plan = state.plans.get(call.name)
        if state.interrupted:
            self._refuse(call, failure.interrupted(call.name, started=False))
        elif plan is None:
            self._refuse(call, failure.unknown_tool(call.name, state.plans))
        else:
            try:
                arguments = plan.prepare_call(call)
            except ValidationError as error:
                self._refuse(call, failure.invalid_arguments(call.name, error.violations))
            except Exception as error:  # noqa: BLE001 - types may run the tool's own code
                refused = failure.tool_error(
                    error, detail=state.defaults.error_detail, arguments=call.arguments
                )
                self._refuse(call, refused, raised=error)
            else:
                state.start(self._execution(state, plan, call, arguments))

    def close(self) -> None:
        """Accept no more calls. The run ends when its last call has ended."""
        self._state.close()

    def interrupt(self) -> None:
        """Stop all calls and start no more, without waiting.

        Calls that are submitted from now on get a result that says they were interrupted.
        """
        self._state.interrupt()

    async def cancel(self) -> None:
        """Cancel running calls and wait until they have stopped.

        Every call without a result gets one that says it was interrupted. A tool that does not
        stop is abandoned after `cancel_grace`.
        """
        state, cancellation = self._state, None
        # The reader may be the canceller, and then reads no more until this returns.
        state.events.release()
        if state.aggregate is None:
            state.interrupt()
            state.close()
        if state.aggregate is None:
            # Bounded by the grace period, so a cancelled caller waits as well.
            cancellation = await wait_until_done(state.end_waiter())
        await state.drain()
        if cancellation is not None:
            raise cancellation

    async def wait(self) -> ToolAggregateMessage:
        """Wait for the end without reading events."""
        state = self._state
        state.events.release()
        while state.aggregate is None:
            await state.end_waiter()
        await state.finalize()
        return state.aggregate

    async def __anext__(self) -> ToolEvent:
        if not self._unread:
            self._unread = await self._state.events.take_all()
            if not self._unread:
                await self._state.finalize()
                raise StopAsyncIteration
        return self._unread.popleft()

    async def caught_up(self) -> None:
        """Wait until the reader has processed all events so far.

        The reader has done so when it asks for the next event. Returns at once if the run is
        cancelled, or has no reader because only its end is awaited.
        """
        await self._state.events.caught_up()

    def _with_id(self, call: ToolCall) -> ToolCall:
        """Return the call with an id that no other call of the reply has."""
        unique = self._ids.unique(call.id, self._count)
        self._count += 1
        if unique == call.id:
            return call
        _log.info("a call has a new id", extra={"tool_call_id": unique, "given": call.id})
        return call.__replace__(id=unique)

    def _refuse_invalid(self, call: InvalidToolCall) -> None:
        if not isinstance(cast("object", call), InvalidToolCall):
            raise TypeError(
                f"call must be a ToolCall or an InvalidToolCall, got {type(call).__name__}"
            )
        plans = self._state.plans
        plan = plans.get(call.name)
        refused = failure.invalid_call(call, plans, None if plan is None else plan.tool)
        named = ToolCall(
            call.id,
            call.name,
            {},
            call.raw,
            call.index,
            dialect=call.dialect,
            recovered=call.recovered,
        )
        self._refuse(self._with_id(named), refused, given=call)

    def _refuse(
        self,
        call: ToolCall,
        refused: CallFailure,
        *,
        given: InvalidToolCall | None = None,
        raised: Exception | None = None,
    ) -> None:
        """Give a call a result without running it."""
        log_fields = {"tool": call.name, "tool_call_id": call.id, "error_code": refused.code.value}
        # Calls that come after an interrupt are refused as intended.
        level = logging.DEBUG if refused.code is ErrorCode.INTERRUPTED else logging.INFO
        _log.log(level, "a call is refused", extra=log_fields)
        shown = given or call
        result = self._state.refusals.truncate(refused, shown).result(
            call,
            exception=raised,
            reference=None if raised is None else failure.log_failure(raised, log_fields),
        )
        self._state.refuse(call, result, shown)
