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

    from .limit import CallLimiter, Turn
    from .scorer import ScorerRequest

Answer: TypeAlias = "tuple[str | Mapping[str, Any] | None, str | None]"
"""The reply to one call and None, or None and the reason why there is no reply."""

_MOST_SAID = 300


@dataclass(frozen=True)
class Bounds:
    """The limits that all calls of a selection keep to."""

    timeout: float | None
    """Seconds that one call may take, the wait for its place included."""
    max_concurrency: int
    """The most calls that may be in flight."""
    limiter: CallLimiter
    """Whose places they take."""


class Told(Protocol):
    """Hears from a transport what becomes of calls, which it knows by their numbers."""

    def began(self) -> None:
        """Count a call that is being made."""

    def came(
        self, number: int, content: str | Mapping[str, Any], usage: UsageUpdate | None = None
    ) -> None:
        """Take the reply to a call."""

    def failed(self, number: int, error: str) -> None:
        """Take why there is no reply to a call."""

    def ended(self, number: int) -> None:
        """Take back the place of a call, once it is over or has stopped."""

    def interrupted(self, error: BaseException) -> None:
        """Raise what is meant for the program where the answers are waited for."""


class Transport(Protocol):
    """Makes calls, each as soon as it is told to; how many at once is not its business."""

    def begin(self, number: int, request: ScorerRequest) -> None:
        """Make a call. Whatever becomes of it is told, and last that it has ended."""

    def stop(self, number: int) -> None:
        """Give a call up. Nothing but its end is of interest then."""

    async def aclose(self) -> None:
        """Wait until all calls have stopped, which were told to."""


class MakesTransport(Protocol):
    """A scorer that carries the requests of a selection itself, all of them together."""

    def make_transport(self, told: Told) -> Transport:
        """Make what carries the requests of one selection, on the running event loop."""
        ...


class Calls:
    """Makes the calls of one selection, no more at once than allowed.

    Failures are answers. Nothing but what is meant for the program, or whoever waits being
    cancelled, is raised. A selection that finds no place free stands in line once, not once for
    each call, and takes what else is free when it has its turn.

    Args:
        transport: What makes a transport, which tells this object what becomes of calls.
        bounds: What the calls have to keep to.
    """

    def __init__(self, transport: Callable[[Told], Transport], bounds: Bounds) -> None:
        self.made = 0
        """The number of calls that began."""
        self.failed_any = False
        """True if one raised or took too long: asked again, it might answer."""
        self.usage: UsageUpdate | None = None
        """The tokens they took, as far as that is known."""
        self._bounds = bounds
        self._loop = asyncio.get_running_loop()
        self._deadlines = Deadlines(self._loop)
        self._waiting: deque[tuple[int, ScorerRequest]] = deque()
        self._open: dict[int, _Call] = {}
        # Those of them that wait for a place.
        self._lined: deque[_Call] = deque()
        # Those that have a place; one that was given up has it until it has stopped.
        self._placed: set[int] = set()
        self._last = 0
        self._turn: Turn | None = None
        self._granted = 0
        self._arrived: list[tuple[int, Answer]] = []
        self._wake: asyncio.Future[None] | None = None
        self._fatal: BaseException | None = None
        self._transport = transport(self)

    def start(self, requests: Iterable[tuple[int, ScorerRequest]]) -> None:
        """Have calls made; `next` says what became of them, by their positions.

        Args:
            requests: Positions, of which no two calls in flight have the same, and requests.
        """
        self._waiting.extend(requests)

    async def next(self) -> list[tuple[int, Answer]]:
        """All that has come since it was last asked, in order; waits until there is something.

        Returns:
            Positions and answers; nothing once all calls are over.
        """
        # Not when a call ends: what came of it may be all that is needed.
        if self._waiting or self._lined:
            self._fill()
        while not self._arrived and self._fatal is None and (self._open or self._turn):
            self._wake = self._loop.create_future()
            try:
                await self._wake
            finally:
                self._wake = None
        if self._fatal is not None:
            raise self._fatal
        arrived, self._arrived = self._arrived, []
        return arrived

    async def close(self) -> None:
        """Stop what is still in flight, and wait until it has stopped."""
        self._waiting.clear()
        for call in self._lined:
            del self._open[call.number]
        self._lined.clear()
        self._leave()
        self._deadlines.close()
        for number in list(self._open):
            self._drop(number)
        await self._transport.aclose()

    def began(self) -> None:
        """Count a call that is being made; see `Told`."""
        self.made += 1

    def came(
        self, number: int, content: str | Mapping[str, Any], usage: UsageUpdate | None = None
    ) -> None:
        """Take the reply to a call; see `Told`."""
        # What comes too late, or after it was given up, is of no interest.
        if number not in self._open:
            return
        if usage is not None:
            before = self.usage or UsageUpdate()
            self.usage = UsageUpdate(
                before.input_tokens + usage.input_tokens,
                before.output_tokens + usage.output_tokens,
                before.cached_input_tokens + usage.cached_input_tokens,
            )
        self._settle(number, (content, None))

    def failed(self, number: int, error: str) -> None:
        """Take why there is no reply to a call; see `Told`."""
        if number in self._open:
            self.failed_any = True
            self._settle(number, (None, error))

    def ended(self, number: int) -> None:
        """Take back the place of a call; see `Told`."""
        if number in self._placed:
            self._placed.remove(number)
            self._bounds.limiter.release()
        self.failed(number, "the call was cancelled by the scorer itself")

    def interrupted(self, error: BaseException) -> None:
        """Raise what is meant for the program; see `Told`."""
        self._fatal = error
        self._notify()

    def expire(self, number: int) -> None:
        """Give up a call whose time is over."""
        call = self._open.get(number)
        if call is None:
            return
        if number in self._placed:
            # First, as it is nothing but its end that is told of one that was given up.
            self.failed(number, f"no reply within {self._bounds.timeout:g} s")
            self._transport.stop(number)
            return
        self._lined.remove(call)
        if not self._lined:
            self._leave()
        self.failed(number, no_place(self._bounds))

    def _wanted(self) -> int:
        """The number of further calls that may line up by the limit of this selection."""
        return max(0, min(len(self._waiting), self._bounds.max_concurrency - len(self._open)))

    def _fill(self) -> None:
        """Begin what has a place, and line up for one where there is more to do."""
        called = [self._call(*self._waiting.popleft()) for _ in range(self._wanted())]
        self._lined.extend(called)
        places = min(len(self._lined), self._granted)
        self._granted -= places
        places += self._bounds.limiter.take(len(self._lined) - places)
        for _ in range(places):
            call = self._lined.popleft()
            self._placed.add(call.number)
            self._transport.begin(call.number, call.request)
        if self._bounds.timeout is not None:
            # The wait for a place is part of their time.
            until = self._loop.time() + self._bounds.timeout
            for call in called:
                if call.number in self._open:
                    self._deadlines.add(until, call)
        if not self._lined:
            self._leave()
        elif self._turn is None:
            self._turn = self._bounds.limiter.line_up(self._called)

    def _call(self, position: int, request: ScorerRequest) -> _Call:
        self._last += 1
        call = self._open[self._last] = _Call(self, self._last, position, request)
        return call

    def _called(self) -> None:
        """There is a place."""
        self._turn = None
        self._granted += 1
        if not self._arrived:
            self._fill()

    def _leave(self) -> None:
        """Give back what is not needed any more."""
        if self._turn is not None:
            self._turn.leave()
            self._turn = None
        for _ in range(self._granted):
            self._bounds.limiter.release()
        self._granted = 0

    def _drop(self, number: int) -> None:
        del self._open[number]
        self._transport.stop(number)

    def _settle(self, number: int, answer: Answer) -> None:
        self._arrived.append((self._open.pop(number).position, answer))
        self._notify()

    def _notify(self) -> None:
        """Wake the waiter so that it looks again."""
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class _Call:
    """A call in flight, or in line for a place."""

    __slots__ = ("_calls", "number", "position", "request")

    def __init__(self, calls: Calls, number: int, position: int, request: ScorerRequest) -> None:
        self._calls = calls
        self.number = number
        self.position = position
        self.request = request

    def expire(self, now: float) -> None:  # noqa: ARG002 - it is late enough
        self._calls.expire(self.number)


def no_place(bounds: Bounds) -> str:
    """What is said of a call that had no place in time."""
    return f"not asked within {bounds.timeout:g} s: all {bounds.limiter.limit} places were taken"


def said(error: BaseException) -> str:
    """An exception in one line."""
    text = str(error).strip().partition("\n")[0][:_MOST_SAID]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
