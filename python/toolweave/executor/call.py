"""One call, from submitted to its result.

`Execution.serve` is the whole way: approval, cache, gate, rate limit, journal, attempts, result. It
returns a result whatever the tool does, and a call without options takes none of the detours.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from .._core import ToolResult
from .._single_flight import Follower, Hit
from ..exceptions import ValidationError
from ..tracing import execute_tool
from . import failure
from .approval import decide
from .attempts import attempt
from .deferred import Deferred
from .events import ToolApprovalRequested, ToolProgress, ToolStarted
from .journal import Entry, fitted
from .patience import Grace, Patience
from .results import to_text, to_text_off_loop, truncate
from .stop import Stop

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable, Iterator
    from contextvars import Context

    from .._core import ToolCall
    from .._single_flight import Leader
    from ..protocols import Journal
    from ..tracing import Span
    from .failure import Failure
    from .limits import Ticket
    from .plan import Plan
    from .rate_limit import TokenBucket
    from .run import ToolRun

_log = logging.getLogger("toolweave.executor")

_LONG = 65_536


def takes_long(call: ToolCall) -> bool:
    """Whether fitting the arguments of a call takes longer than a thread takes to begin."""
    return len(call.raw) > _LONG


class _Refused(Exception):  # noqa: N818 - an outcome
    """The call does not run."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class Execution:
    """A call that has a tool and arguments that fit.

    Args:
        run: The reply that it belongs to.
        plan: The tool.
        call: The call.
        arguments: What the function is called with; None if that takes long to find out.
        slot: Its position in the reply; -1 for the call of a tool.
    """

    # What most calls never touch stands here, and costs them nothing.
    __slots__ = (
        "__dict__",
        "arguments",
        "begun",
        "call",
        "plan",
        "run",
        "settled",
        "slot",
        "started",
        "stopped",
        "task",
    )
    attempt = 1
    # In line at the gate; see `Turns`.
    ticket: Ticket | None = None
    ready = False
    admitted = False
    aside = 0
    lock: Hashable | None = None
    # It has a place, and no ticket.
    passed = False
    # In line without a task; the context of whoever submitted it.
    held: Context | None = None
    # The calls that it was made for have no time running while it waits to start.
    holding = False
    waiting: asyncio.Future[None] | None = None
    # Others may wait for its result.
    leader: Leader[ToolResult] | None = None
    # What to resolve, where the result comes later.
    key = ""
    kept = False
    # What a journal knows of it.
    entry: Entry | None = None
    # Long arguments are fitted beside the event loop.
    unfitted = False
    # Made by a tool, or itself the call of a tool that makes calls.
    parent: Execution | None = None
    depth = 0
    nested = 0
    children: tuple[Execution, ...] = ()
    answer: asyncio.Future[ToolResult | Deferred] | None = None
    patience: Patience | None = None
    span: Span | None = None
    _progressed = False
    _progress: Any = None

    def __init__(
        self,
        run: ToolRun,
        plan: Plan,
        call: ToolCall,
        arguments: dict[str, Any] | None,
        slot: int,
    ) -> None:
        self.run = run
        self.plan = plan
        self.call = call
        self.arguments = arguments or {}
        if arguments is None:
            self.unfitted = True
        self.slot = slot
        self.task: asyncio.Task[None] | None = None
        self.begun = False
        self.started: float | None = None
        self.stopped: Stop | None = None
        self.settled = False

    async def serve(self) -> None:
        """Takes the call to its result, or to the word that it comes later."""
        self.begun = True
        plan = self.plan
        outcome: ToolResult | Deferred | None = None
        try:
            if self.unfitted:
                await self.fit()
            if plan.needs_approval:
                await self._approve()
            if plan.shares:
                outcome = await self._look_up()
            if outcome is None:
                if self.ticket is not None and not (self.ready and self.admitted):
                    await self.run.turns.wait(self)
                if plan.bucket is not None:
                    await self._take_token(plan.bucket)
                if self.run.journal is not None and self.parent is None:
                    await self._write_down(self.run.journal)
                self._begin()
                value = await (
                    plan.invoke(self) if plan.retries is None else attempt(self, plan.retries)
                )
                outcome = await self._succeeded(value)
        except BaseException as error:  # noqa: BLE001 - every call has a result
            outcome = self.failed(error)
        if self.span is not None and isinstance(outcome, ToolResult):
            self.span.result(outcome)
        if self.entry is None:
            self.run.settle(self, outcome)
        else:
            await self.entry.close(outcome)

    async def traced(self) -> None:
        """Does what `serve` does, in a span."""
        with execute_tool(self.call, description=self.plan.contract.description) as self.span:
            await self.serve()

    # Before the start.

    async def fit(self) -> None:
        """Bring the arguments to what the function takes, beside the event loop if they are long.

        Raises:
            Exception: They do not fit.
        """
        self._go_on()
        fit = self.plan.fit
        try:
            if takes_long(self.call):
                self.arguments = await asyncio.to_thread(fit, self.call.arguments)
            else:
                self.arguments = fit(self.call.arguments)
        except ValidationError as error:
            refused = failure.invalid_arguments(self.call.name, error.violations)
            raise _Refused(self.run.bounded(refused, self.call)) from error

    def _needs_approval(self) -> bool:
        needed = self.plan.needs_approval
        if not callable(needed):
            return needed
        try:
            return bool(needed(self.call))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no reason to go ahead
            _log.warning(
                "approval is asked for, as it is not known whether it is needed",
                exc_info=error,
                extra=self.facts(),
            )
            return True

    async def _approve(self) -> None:
        if not self._needs_approval():
            return
        defaults = self.run.defaults
        if defaults.approver is not None:
            call = self.call
            self.run.audience.announce(
                ToolApprovalRequested(call.id, call.name, call.arguments), call
            )
        record = await decide(
            defaults.approver, self.call, self.plan.contract, defaults.approval_timeout
        )
        self.run.approved(self, record)
        if not record.allowed:
            raise _Refused(failure.denied(self.call.name, record.reason))

    async def _look_up(self) -> ToolResult | None:
        """The result of the same call, if it was made or is being made."""
        run, cache = self.run, self.run.cache
        if takes_long(self.call):
            key = await asyncio.to_thread(cache.key, self.plan.identity, self.call.arguments)
        else:
            key = cache.key(self.plan.identity, self.call.arguments)
        found = cache.begin(key)
        if isinstance(found, Follower):
            if self.parent is not None:
                # The one that runs may be the one whose tool makes this call, and waits for it.
                found.leave()
                return None
            # The one that runs may need what this one has at the gate.
            queued = self.ticket is not None
            run.turns.leave(self)
            found = await found.outcome()
            if queued and not isinstance(found, Hit):
                run.turns.enter(self, None)
        if isinstance(found, Hit):
            known = found.value
            own = ToolResult(self.call.id, self.call.name, known.result, value=known.value)
            return own if self.parent is not None else fitted(run.journal, self.call, own)
        self.leader = found
        return None

    def lead(self, leader: Leader[ToolResult], outcome: ToolResult | Deferred) -> None:
        """Says to those who wait for the same call what came of it."""
        if self.stopped is Stop.INTERRUPTED:
            # It is not at fault: another may lead in its place.
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
        _log.info("a call waits for its rate limit", extra=self.facts(wait=wait))
        self.run.turns.step_aside(self)
        try:
            await asyncio.sleep(wait)
        except BaseException:
            bucket.give_back()
            raise
        await self.run.turns.come_back(self)

    async def _write_down(self, journal: Journal) -> None:
        self._go_on()
        self.entry = Entry(journal, self)
        try:
            await self.entry.open()
        except BaseException as error:
            if not self.entry.void:
                raise
            raise _Refused(failure.interrupted(self.call.name, started=False)) from error

    # At work.

    def _go_on(self) -> None:
        if self.stopped is not None:
            raise asyncio.CancelledError

    def _begin(self) -> None:
        self._go_on()
        run = self.run
        if self.holding:
            self.let_time_pass()
        self.started = run.clock()
        if self.plan.timed:
            self.patience = Patience(self)
        if run.audience.attentive:
            started = ToolStarted(self.call.id, self.call.name, self.call.arguments)
            run.audience.tell(started, self)

    def progress(self, value: Any) -> None:
        """Takes what the tool reports. On the event loop's thread only."""
        # Time since the last report counts, also where the tool kept the loop from seeing it pass.
        self.check()
        if self.settled or self.stopped is not None:
            return
        self._progressed = True
        self._progress = value
        for patience in self._patiences():
            patience.touch()
        self.run.audience.tell(ToolProgress(self.call.id, value), self)

    def check(self) -> None:
        """Stop the call if it is past its time. On the event loop's thread only."""
        if self.patience is not None and self.stopped is None:
            self.patience.check()

    # The end.

    async def _succeeded(self, value: Any) -> ToolResult | Deferred:
        # Whatever a tool still says after it was stopped, it was too late. The clock decides: a
        # tool that never awaits keeps the timer from ringing.
        self.check()
        self._go_on()
        if isinstance(value, Deferred):
            return value
        text, limit = await to_text_off_loop(value), self.plan.max_result_chars
        if limit is not None:
            text = truncate(text, limit)
        call = self.call
        return ToolResult(call.id, call.name, text, value=value, duration=self._duration())

    def failed(self, error: BaseException) -> ToolResult:
        """The result of a call that ended with an exception."""
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
        failure.without_our_frames(error)
        reference = failure.reported(error, self.facts())
        found = failure.tool_error(
            error,
            detail=self.run.defaults.error_detail,
            max_chars=self.plan.max_result_chars,
            arguments=self.call.arguments,
        )
        return self._result(found, exception=error, reference=reference)

    def stopped_result(self) -> ToolResult:
        """What becomes of a call that was stopped."""
        name, plan = self.call.name, self.plan
        if self.stopped is Stop.INTERRUPTED:
            return self._result(failure.interrupted(name, started=self.started is not None))
        idle = self.stopped is Stop.IDLE
        seconds = plan.idle_timeout if idle else plan.timeout
        found = failure.timeout(name, seconds or 0.0, idle=idle)
        if plan.partial_results and self._progressed:
            try:
                text = truncate(to_text(self._progress), plan.max_result_chars)
            except Exception:  # noqa: BLE001 - the tool's own value: there is no telling
                return self._result(found)
            return self._result(failure.Failure(text, found.code), self._progress)
        return self._result(found)

    def unwritten_result(self) -> ToolResult:
        """What becomes of a call whose outcome could not be written down."""
        return self._result(failure.interrupted(self.call.name))

    def _result(
        self,
        found: Failure,
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

    def facts(self, **more: object) -> dict[str, object]:
        """What log records say of the call: never its arguments."""
        return {"tool": self.call.name, "tool_call_id": self.call.id, **more}

    # From outside.

    def stop(self, why: Stop) -> None:
        """Cancels the tool. The first reason counts."""
        if self.settled:
            return
        entry = self.entry
        if entry is not None and entry.closing:
            # Its tool has ended; what came of it stays.
            if why is Stop.INTERRUPTED:
                entry.hurry()
            return
        if self.stopped is not None:
            return
        self.stopped = why
        _log.info("a call is stopped", extra=self.facts(reason=why.value))
        if self.held is not None:
            # In line, and nothing to cancel.
            self.held = None
            self.run.settle(self, self.stopped_result())
            return
        Grace(self)
        if self.task is not None and not (entry is not None and entry.opening):
            self.task.cancel()

    @asynccontextmanager
    async def away(self) -> AsyncGenerator[None]:
        """While the tool waits for a person: no time passes for it, and others have its place."""
        turns = self.run.turns
        turns.step_aside(self)
        async with self.untimed():
            yield
            await turns.come_back(self)

    @asynccontextmanager
    async def untimed(self) -> AsyncGenerator[None]:
        """While it waits for others: no time passes for it, and for those that it was made for."""
        paused = self._patiences()
        for patience in paused:
            patience.pause()
        try:
            yield
        finally:
            for patience in paused:
                patience.resume()

    def hold_time(self) -> None:
        """No time passes for the calls that this one is made for until it starts."""
        self.holding = True
        for patience in self._patiences():
            patience.pause()

    def let_time_pass(self) -> None:
        """Time passes for them again."""
        if self.holding:
            self.holding = False
            for patience in self._patiences():
                patience.resume()

    def lineage(self) -> Iterator[Execution]:
        """The call, the one whose tool made it, and so on."""
        each: Execution | None = self
        while each is not None:
            yield each
            each = each.parent

    def descendants(self) -> Iterator[Execution]:
        """The calls that its tool has made and that are not over, and theirs."""
        for child in self.children:
            if not child.settled:
                yield child
                yield from child.descendants()

    def _patiences(self) -> list[Patience]:
        return [each.patience for each in self.lineage() if each.patience is not None]
