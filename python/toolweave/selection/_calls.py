"""Scheduling of the calls of one selection, within its limits, and their transport in tasks."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .._aio.deadlines import Deadlines
from .._core import UsageUpdate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ._limiter import CallLimiter, SlotWaiter
    from ._scorer import Scorer, ScorerRequest

Answer: TypeAlias = "tuple[str | Mapping[str, Any] | None, str | None]"
"""Outcome of one call: the reply and None, or None and the reason for the failure."""

GRACE = 5.0
"""Seconds to wait for a scorer that was cancelled."""

_MAX_ERROR_CHARS = 300

_log = logging.getLogger("toolweave.selection")

# The event loop keeps only weak references to tasks.
_abandoned: set[asyncio.Task[None]] = set()


@dataclass(frozen=True)
class CallLimits:
    """Limits on the calls of a selection."""

    timeout: float | None
    """Timeout of one call in seconds, including the wait for a slot of the limiter."""
    max_concurrency: int
    """Maximum number of calls in flight."""
    limiter: CallLimiter
    """Limiter shared with other selections."""


class Transport(Protocol):
    """Transport that starts each call at once; the scheduler limits their number.

    It reports to the methods `on_...` of the scheduler, by the number of the call.
    """

    def begin(self, number: int, request: ScorerRequest) -> None:
        """Start a call. The scheduler receives its outcome, and at last its end."""

    def stop(self, number: int) -> None:
        """Stop a call. From then on only its end is reported."""

    async def aclose(self) -> None:
        """Wait until all stopped calls have ended."""


class SupportsTransport(Protocol):
    """Scorer with a transport of its own for all requests of a selection."""

    def make_transport(self, listener: CallScheduler) -> Transport:
        """Return the transport for one selection, on the running event loop."""
        ...


class CallScheduler:
    """Scheduler of the calls of one selection.

    Failures are returned as answers. Only `BaseException` and the cancellation of the waiting
    caller are raised. A selection that finds no free slot queues once, not once per call, and
    takes all free slots when it is woken.

    Args:
        transport: Function that creates a transport that reports to this object.
        limits: The limits on the calls.
    """

    def __init__(self, transport: Callable[[CallScheduler], Transport], limits: CallLimits) -> None:
        self.started = 0
        """Number of calls that have started."""
        self.any_failed = False
        """True if a call failed or timed out, so that another attempt might succeed."""
        self.usage: UsageUpdate | None = None
        """Tokens used so far; None if unknown."""
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._deadlines = Deadlines(self._loop)
        self._backlog: deque[tuple[int, ScorerRequest]] = deque()
        self._pending: dict[int, _Call] = {}
        # Calls that wait for a slot.
        self._queued: deque[_Call] = deque()
        # Calls that hold a slot. An abandoned call holds it until it has stopped.
        self._running: set[int] = set()
        self._last = 0
        self._waiter: SlotWaiter | None = None
        self._granted = 0
        self._answers: list[tuple[int, Answer]] = []
        self._wake: asyncio.Future[None] | None = None
        self._fatal: BaseException | None = None
        self._transport = transport(self)

    def start(self, requests: Iterable[tuple[int, ScorerRequest]]) -> None:
        """Schedule calls; `next` returns their outcomes by position.

        Args:
            requests: Pairs of position and request. Positions of calls in flight must be unique.
        """
        self._backlog.extend(requests)

    async def next(self) -> list[tuple[int, Answer]]:
        """Wait for answers, and return all that arrived since the last call, in order.

        Returns:
            Positions and answers; an empty list once all calls are over.
        """
        # Not when a call ends: its answer may be all that is needed.
        if self._backlog or self._queued:
            self._start_queued()
        while not self._answers and self._fatal is None and (self._pending or self._waiter):
            self._wake = self._loop.create_future()
            try:
                await self._wake
            finally:
                self._wake = None
        if self._fatal is not None:
            raise self._fatal
        arrived, self._answers = self._answers, []
        return arrived

    async def ask(self, request: ScorerRequest) -> Answer:
        """Make a single call and return its outcome."""
        self.start([(0, request)])
        [(_, answer)] = await self.next()
        return answer

    async def close(self) -> None:
        """Stop all calls in flight, and wait until they have stopped."""
        self._backlog.clear()
        for call in self._queued:
            del self._pending[call.number]
        self._queued.clear()
        self._release_unused()
        self._deadlines.close()
        for number in list(self._pending):
            del self._pending[number]
            self._transport.stop(number)
        await self._transport.aclose()

    def on_start(self) -> None:
        """Count a call that has started."""
        self.started += 1

    def on_reply(
        self, number: int, content: str | Mapping[str, Any], usage: UsageUpdate | None = None
    ) -> None:
        """Handle the reply to a call."""
        # Replies to calls that timed out or were abandoned are ignored.
        if number not in self._pending:
            return
        if usage is not None:
            self.usage = add_usage(self.usage, usage)
        self._complete(number, (content, None))

    def on_error(self, number: int, error: str) -> None:
        """Handle the failure of a call."""
        if number in self._pending:
            self.any_failed = True
            self._complete(number, (None, error))

    def on_end(self, number: int) -> None:
        """Release the slot of a call that has finished or stopped."""
        if number in self._running:
            self._running.remove(number)
            self._limits.limiter.release()
        self.on_error(number, "the call was cancelled by the scorer itself")

    def on_interrupt(self, error: BaseException) -> None:
        """Raise a `BaseException`, such as `KeyboardInterrupt`, in the task that awaits answers."""
        self._fatal = error
        self._notify()

    def expire(self, number: int) -> None:
        """Fail a call whose timeout has expired."""
        call = self._pending.get(number)
        if call is None:
            return
        if number in self._running:
            # First, since only the end is reported of a stopped call.
            self.on_error(number, f"no reply within {self._limits.timeout:g} s")
            self._transport.stop(number)
            return
        self._queued.remove(call)
        if not self._queued:
            self._release_unused()
        self.on_error(number, limiter_timeout(self._limits))

    def _start_queued(self) -> None:
        """Start calls that have a slot, and queue for one if calls remain."""
        room = self._limits.max_concurrency - len(self._pending)
        called: list[_Call] = []
        while self._backlog and len(called) < room:
            self._last += 1
            call = self._pending[self._last] = _Call(self, self._last, *self._backlog.popleft())
            called.append(call)
        self._queued.extend(called)
        slots = min(len(self._queued), self._granted)
        self._granted -= slots
        slots += self._limits.limiter.try_acquire(len(self._queued) - slots)
        for _ in range(slots):
            call = self._queued.popleft()
            self._running.add(call.number)
            self._transport.begin(call.number, call.request)
        if self._limits.timeout is not None:
            # The wait for a slot counts against the timeout.
            until = self._loop.time() + self._limits.timeout
            for call in called:
                if call.number in self._pending:
                    self._deadlines.add(until, call)
        if not self._queued:
            self._release_unused()
        elif self._waiter is None:
            self._waiter = self._limits.limiter.enqueue(self._called)

    def _called(self) -> None:
        """Use the slot that was granted."""
        self._waiter = None
        self._granted += 1
        if not self._answers:
            self._start_queued()

    def _release_unused(self) -> None:
        """Leave the queue and release unused slots."""
        if self._waiter is not None:
            self._waiter.cancel()
            self._waiter = None
        for _ in range(self._granted):
            self._limits.limiter.release()
        self._granted = 0

    def _complete(self, number: int, answer: Answer) -> None:
        self._answers.append((self._pending.pop(number).position, answer))
        self._notify()

    def _notify(self) -> None:
        """Wake the waiter so that it re-checks its condition."""
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class _Call:
    """Call that is running or waits for a slot."""

    __slots__ = ("_calls", "number", "position", "request")

    def __init__(
        self, calls: CallScheduler, number: int, position: int, request: ScorerRequest
    ) -> None:
        self._calls = calls
        self.number = number
        self.position = position
        self.request = request

    def expire(self, now: float) -> None:  # noqa: ARG002 - the interface of deadlines
        self._calls.expire(self.number)


def limiter_timeout(limits: CallLimits) -> str:
    """Return the error of a call that got no slot before its timeout."""
    return f"not asked within {limits.timeout:g} s: all {limits.limiter.limit} slots were taken"


def describe_error(error: BaseException) -> str:
    """Return an exception as one line."""
    text = str(error).strip().partition("\n")[0][:_MAX_ERROR_CHARS]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class TaskTransport:
    """`Transport` that runs each call in a task of the running event loop.

    Args:
        scorer: The scorer.
        listener: The scheduler to notify.
    """

    def __init__(self, scorer: Scorer, listener: CallScheduler) -> None:
        self._scorer = scorer
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def begin(self, number: int, request: ScorerRequest) -> None:
        """Start a call."""
        task = self._tasks[number] = self._loop.create_task(self._ask(number, request))
        # A task that is cancelled before it starts reports nothing itself.
        task.add_done_callback(lambda _: self._end(number))

    def stop(self, number: int) -> None:
        """Cancel a call."""
        if number in self._tasks:
            self._tasks[number].cancel()

    async def aclose(self) -> None:
        """Wait until all calls have stopped.

        A call that does not stop within `GRACE` seconds is abandoned with a warning.
        """
        stopping = [task for task in self._tasks.values() if not task.done()]
        if stopping:
            try:
                await asyncio.wait(stopping, timeout=GRACE)
            finally:
                self._give_up(stopping)

    def _give_up(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            if not task.done():
                _abandoned.add(task)
                task.add_done_callback(_abandoned.discard)
                _log.warning(
                    "the scorer %s does not stop when it is cancelled",
                    self._scorer.name,
                    extra={"scorer": self._scorer.name},
                )

    async def _ask(self, number: int, request: ScorerRequest) -> None:
        """Ask the scorer and report its reply. Only cancellation is raised."""
        try:
            self._listener.on_start()
            reply = await self._scorer.ask(request)
        except asyncio.CancelledError:
            raise
        except Exception as err:  # noqa: BLE001 - a scorer may raise what it likes
            self._listener.on_error(number, describe_error(err))
        except BaseException as err:  # noqa: BLE001 - raised in the waiting task
            self._listener.on_interrupt(err)
        else:
            self._listener.on_reply(number, reply.content, reply.usage)
        finally:
            self._end(number)

    def _end(self, number: int) -> None:
        if self._tasks.pop(number, None) is not None:
            self._listener.on_end(number)


def add_usage(first: UsageUpdate | None, second: UsageUpdate | None) -> UsageUpdate | None:
    """Return the tokens of both; None if neither is known."""
    if first is None or second is None:
        return first or second
    return UsageUpdate(
        first.input_tokens + second.input_tokens,
        first.output_tokens + second.output_tokens,
        first.cached_input_tokens + second.cached_input_tokens,
    )
