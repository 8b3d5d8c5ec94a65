"""The calls of one selection: in bounds, in time, and over when the selection is."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias

from .._core import UsageUpdate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .limit import CallLimiter
    from .scorer import Request, Scorer

_log = logging.getLogger("toolweave.selection")

GRACE = 5.0
"""Seconds that a scorer which was cancelled is waited for."""

_MOST_SAID = 300

# The loop itself would forget those that do not stop.
_abandoned: set[asyncio.Task[None]] = set()


Answer: TypeAlias = "tuple[str | Mapping[str, Any] | None, str | None]"
"""What became of one call: the reply, or None and why there is none."""


class Calls:
    """Makes calls, no more at once than allowed.

    Args:
        scorer: Who is asked.
        timeout: Seconds that one call may take, from when it has its place.
        max_concurrency: How many may be in flight.
        limiter: Whose places they take.
    """

    def __init__(
        self,
        scorer: Scorer,
        *,
        timeout: float | None,
        max_concurrency: int,
        limiter: CallLimiter,
    ) -> None:
        self.made = 0
        """How many calls began."""
        self.usage: UsageUpdate | None = None
        """The tokens they took, as far as that is known."""
        self.failed = False
        """Whether one raised or took too long: asked again, it might answer."""
        self._scorer = scorer
        self._timeout = timeout
        self._max_concurrency = max_concurrency
        self._limiter = limiter
        self._loop = asyncio.get_running_loop()
        self._watched: deque[_Call] = deque()
        self._timer: asyncio.Handle | None = None
        self._waiting: deque[tuple[int, Request]] = deque()
        self._unused = 0
        self._running: dict[int, _Call] = {}
        self._stopped: list[asyncio.Task[None]] = []
        self._arrived: list[tuple[int, Answer]] = []
        self._wake: asyncio.Future[None] | None = None
        self._fatal: BaseException | None = None

    async def ask(self, request: Request) -> Answer:
        """Makes one call, and waits for what becomes of it."""
        self.start([request])
        return (await self.next())[0][1]

    def start(self, requests: Sequence[Request]) -> None:
        """Has calls made; `next` says what became of them, by their positions."""
        self._waiting.extend(enumerate(requests))

    async def next(self) -> list[tuple[int, Answer]]:
        """All that has come since it was last asked, in order; waits until there is something.

        Returns:
            Positions and answers; nothing once all calls are over.
        """
        # Not when a call ends: what came of it may be all that is needed.
        if self._waiting:
            self._fill()
        while not self._arrived and self._running and self._fatal is None:
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
        """Cancels what is still in flight, and waits until it has stopped.

        What does not stop in `GRACE` seconds is given up, and the log says so.
        """
        self._waiting.clear()
        # Of calls whose tasks have not begun, and now never will.
        for _ in range(self._unused):
            self._limiter.release()
        self._unused = 0
        if self._timer is not None:
            self._timer.cancel()
        for call in self._running.values():
            call.open = False
            call.task.cancel()
            self._stopped.append(call.task)
        self._running.clear()
        stopping = [task for task in self._stopped if not task.done()]
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

    def _fill(self) -> None:
        count = min(len(self._waiting), self._max_concurrency - len(self._running))
        if count <= 0:
            return
        # All at once: each alone would cost as much. Who gets none waits for it in its task.
        placed = self._limiter.take(count)
        self._unused += placed
        calls: list[_Call] = []
        for number in range(count):
            position, request = self._waiting.popleft()
            call = self._running[position] = _Call(position, placed=number < placed)
            call.task = self._loop.create_task(self._run(call, request))
            calls.append(call)
        self._watch(calls[:placed])

    async def _run(self, call: _Call, request: Request) -> None:
        """What the task of a call does. Nothing but being cancelled from outside is raised."""
        try:
            if call.placed:
                self._unused -= 1
            else:
                await self._limiter.acquire()
                self._watch([call])
            try:
                self.made += 1
                reply = await self._scorer.ask(request)
            finally:
                self._limiter.release()
        except asyncio.CancelledError:
            if not call.open:
                raise
            self.failed = True
            self._settle(call, (None, "the call was cancelled by the scorer itself"))
        except Exception as err:  # noqa: BLE001 - a scorer may raise what it likes
            self.failed = True
            self._settle(call, (None, said(err)))
        except BaseException as err:  # noqa: BLE001 - what is meant for the program; see `next`
            self._fatal = err
            self._settle(call, (None, type(err).__name__))
        else:
            if call.open:
                if reply.usage is not None:
                    self._count(reply.usage)
                self._settle(call, (reply.content, None))

    def _watch(self, calls: list[_Call]) -> None:
        """The time of calls begins. All have the same, so they end in the order of their start."""
        if self._timeout is None or not calls:
            return
        deadline = self._loop.time() + self._timeout
        for call in calls:
            call.deadline = deadline
        self._watched.extend(calls)
        if self._timer is None:
            # First in this very turn of the loop, after which many need no timer any more.
            self._timer = self._loop.call_soon(self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = self._loop.time()
        while self._watched:
            call = self._watched[0]
            if call.open and call.deadline > now:
                self._timer = self._loop.call_at(call.deadline, self._ring)
                return
            self._watched.popleft()
            if call.open:
                call.task.cancel()
                self._stopped.append(call.task)
                self.failed = True
                self._settle(call, (None, f"no reply within {self._timeout:g} s"))

    def _settle(self, call: _Call, answer: Answer) -> None:
        # What comes too late, or after it was cancelled, is of no interest.
        if call.open:
            call.open = False
            del self._running[call.position]
            self._arrived.append((call.position, answer))
            if self._wake is not None and not self._wake.done():
                self._wake.set_result(None)

    def _count(self, usage: UsageUpdate) -> None:
        before = self.usage or UsageUpdate()
        self.usage = UsageUpdate(
            before.input_tokens + usage.input_tokens,
            before.output_tokens + usage.output_tokens,
            before.cached_input_tokens + usage.cached_input_tokens,
        )


class _Call:
    """A call in flight."""

    __slots__ = ("deadline", "open", "placed", "position", "task")

    task: asyncio.Task[None]
    deadline: float

    def __init__(self, position: int, *, placed: bool) -> None:
        self.position = position
        self.placed = placed
        """Whether it has its place before its task begins."""
        self.open = True
        """Whether anybody waits for what becomes of it."""


def said(error: Exception) -> str:
    """An exception in one line."""
    text = str(error).strip().partition("\n")[0][:_MOST_SAID]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
