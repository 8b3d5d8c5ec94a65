"""The calls of one selection: within which bounds they are made, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .._core import UsageUpdate
from .._deadlines import Deadlines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .limiter import CallLimiter, SlotWaiter
    from .scorer import ScorerRequest

Answer: TypeAlias = "tuple[str | Mapping[str, Any] | None, str | None]"
"""The reply to one call and None, or None and the reason why there is no reply."""

_MAX_ERROR_CHARS = 300


@dataclass(frozen=True)
class CallLimits:
    """The limits that all calls of a selection keep to."""

    timeout: float | None
    """Seconds that one call may take, the wait for its place included."""
    max_concurrency: int
    """The most calls that may be in flight."""
    limiter: CallLimiter
    """Whose places they take."""


class CallListener(Protocol):
    """Hears from a transport what becomes of calls, which it knows by their numbers."""

    def on_start(self) -> None:
        """Count a call that is being made."""

    def on_reply(
        self, number: int, content: str | Mapping[str, Any], usage: UsageUpdate | None = None
    ) -> None:
        """Take the reply to a call."""

    def on_error(self, number: int, error: str) -> None:
        """Take why there is no reply to a call."""

    def on_end(self, number: int) -> None:
        """Take back the place of a call, once it is over or has stopped."""

    def on_interrupt(self, error: BaseException) -> None:
        """Raise what is meant for the program where the answers are waited for."""


class Transport(Protocol):
    """Makes calls, each as soon as it is told to; how many at once is not its business."""

    def begin(self, number: int, request: ScorerRequest) -> None:
        """Make a call. Whatever becomes of it is told, and last that it has ended."""

    def stop(self, number: int) -> None:
        """Give a call up. Nothing but its end is of interest then."""

    async def aclose(self) -> None:
        """Wait until all calls have stopped, which were told to."""


class SupportsTransport(Protocol):
    """A scorer that carries the requests of a selection itself, all of them together."""

    def make_transport(self, listener: CallListener) -> Transport:
        """Make what carries the requests of one selection, on the running event loop."""
        ...


class CallScheduler:
    """Makes the calls of one selection, no more at once than allowed.

    Failures are answers. Nothing but what is meant for the program, or whoever waits being
    cancelled, is raised. A selection that finds no place free stands in line once, not once for
    each call, and takes what else is free when it has its turn.

    Args:
        transport: What makes a transport, which tells this object what becomes of calls.
        bounds: What the calls have to keep to.
    """

    def __init__(self, transport: Callable[[CallListener], Transport], limits: CallLimits) -> None:
        self.started = 0
        """The number of calls that began."""
        self.any_failed = False
        """True if one raised or took too long: asked again, it might answer."""
        self.usage: UsageUpdate | None = None
        """The tokens they took, as far as that is known."""
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._deadlines = Deadlines(self._loop)
        self._backlog: deque[tuple[int, ScorerRequest]] = deque()
        self._pending: dict[int, _Call] = {}
        # Those of them that wait for a place.
        self._queued: deque[_Call] = deque()
        # Those that have a place; one that was given up has it until it has stopped.
        self._running: set[int] = set()
        self._last = 0
        self._waiter: SlotWaiter | None = None
        self._granted = 0
        self._answers: list[tuple[int, Answer]] = []
        self._wake: asyncio.Future[None] | None = None
        self._fatal: BaseException | None = None
        self._transport = transport(self)

    def start(self, requests: Iterable[tuple[int, ScorerRequest]]) -> None:
        """Have calls made; `next` says what became of them, by their positions.

        Args:
            requests: Positions, of which no two calls in flight have the same, and requests.
        """
        self._backlog.extend(requests)

    async def next(self) -> list[tuple[int, Answer]]:
        """All that has come since it was last asked, in order; waits until there is something.

        Returns:
            Positions and answers; nothing once all calls are over.
        """
        # Not when a call ends: what came of it may be all that is needed.
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

    async def close(self) -> None:
        """Stop what is still in flight, and wait until it has stopped."""
        self._backlog.clear()
        for call in self._queued:
            del self._pending[call.number]
        self._queued.clear()
        self._release_unused()
        self._deadlines.close()
        for number in list(self._pending):
            self._abandon(number)
        await self._transport.aclose()

    def on_start(self) -> None:
        """Count a call that is being made; see `CallListener`."""
        self.started += 1

    def on_reply(
        self, number: int, content: str | Mapping[str, Any], usage: UsageUpdate | None = None
    ) -> None:
        """Take the reply to a call; see `CallListener`."""
        # What comes too late, or after it was given up, is of no interest.
        if number not in self._pending:
            return
        if usage is not None:
            before = self.usage or UsageUpdate()
            self.usage = UsageUpdate(
                before.input_tokens + usage.input_tokens,
                before.output_tokens + usage.output_tokens,
                before.cached_input_tokens + usage.cached_input_tokens,
            )
        self._complete(number, (content, None))

    def on_error(self, number: int, error: str) -> None:
        """Take why there is no reply to a call; see `CallListener`."""
        if number in self._pending:
            self.any_failed = True
            self._complete(number, (None, error))

    def on_end(self, number: int) -> None:
        """Take back the place of a call; see `CallListener`."""
        if number in self._running:
            self._running.remove(number)
            self._limits.limiter.release()
        self.on_error(number, "the call was cancelled by the scorer itself")

    def on_interrupt(self, error: BaseException) -> None:
        """Raise what is meant for the program; see `CallListener`."""
        self._fatal = error
        self._notify()

    def expire(self, number: int) -> None:
        """Give up a call whose time is over."""
        call = self._pending.get(number)
        if call is None:
            return
        if number in self._running:
            # First, as it is nothing but its end that is told of one that was given up.
            self.on_error(number, f"no reply within {self._limits.timeout:g} s")
            self._transport.stop(number)
            return
        self._queued.remove(call)
        if not self._queued:
            self._release_unused()
        self.on_error(number, limiter_timeout(self._limits))

    def _new_call_count(self) -> int:
        """The number of further calls that may line up by the limit of this selection."""
        return max(0, min(len(self._backlog), self._limits.max_concurrency - len(self._pending)))

    def _start_queued(self) -> None:
        """Begin what has a place, and line up for one where there is more to do."""
        called = [self._call(*self._backlog.popleft()) for _ in range(self._new_call_count())]
        self._queued.extend(called)
        places = min(len(self._queued), self._granted)
        self._granted -= places
        places += self._limits.limiter.try_acquire(len(self._queued) - places)
        for _ in range(places):
            call = self._queued.popleft()
            self._running.add(call.number)
            self._transport.begin(call.number, call.request)
        if self._limits.timeout is not None:
            # The wait for a place is part of their time.
            until = self._loop.time() + self._limits.timeout
            for call in called:
                if call.number in self._pending:
                    self._deadlines.add(until, call)
        if not self._queued:
            self._release_unused()
        elif self._waiter is None:
            self._waiter = self._limits.limiter.enqueue(self._called)

    def _call(self, position: int, request: ScorerRequest) -> _Call:
        self._last += 1
        call = self._pending[self._last] = _Call(self, self._last, position, request)
        return call

    def _called(self) -> None:
        """There is a place."""
        self._waiter = None
        self._granted += 1
        if not self._answers:
            self._start_queued()

    def _release_unused(self) -> None:
        """Give back what is not needed any more."""
        if self._waiter is not None:
            self._waiter.leave()
            self._waiter = None
        for _ in range(self._granted):
            self._limits.limiter.release()
        self._granted = 0

    def _abandon(self, number: int) -> None:
        del self._pending[number]
        self._transport.stop(number)

    def _complete(self, number: int, answer: Answer) -> None:
        self._answers.append((self._pending.pop(number).position, answer))
        self._notify()

    def _notify(self) -> None:
        """Wake the waiter so that it looks again."""
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class _Call:
    """A call in flight, or in line for a place."""

    __slots__ = ("_calls", "number", "position", "request")

    def __init__(
        self, calls: CallScheduler, number: int, position: int, request: ScorerRequest
    ) -> None:
        self._calls = calls
        self.number = number
        self.position = position
        self.request = request

    def expire(self, now: float) -> None:  # noqa: ARG002 - it is late enough
        self._calls.expire(self.number)


def limiter_timeout(limits: CallLimits) -> str:
    """What is said of a call that had no place in time."""
    return f"not asked within {limits.timeout:g} s: all {limits.limiter.limit} places were taken"


def describe_error(error: BaseException) -> str:
    """An exception in one line."""
    text = str(error).strip().partition("\n")[0][:_MAX_ERROR_CHARS]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
