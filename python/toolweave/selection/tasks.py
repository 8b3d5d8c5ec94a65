"""Calls of scorers that are coroutines: a task for each."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from .calls import Answer, Arrivals, Bounds, said, too_late
from .deadlines import Deadlines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import UsageUpdate
    from .scorer import Request, Scorer

_log = logging.getLogger("toolweave.selection")

GRACE = 5.0
"""Seconds that a scorer which was cancelled is waited for."""

# The loop itself would forget those that do not stop.
_abandoned: set[asyncio.Task[None]] = set()


class TaskCalls:
    """Makes calls, each as a task of the running event loop; these are `Calls`.

    Args:
        scorer: Who is asked.
        bounds: What the calls have to keep to.
    """

    def __init__(self, scorer: Scorer, bounds: Bounds) -> None:
        self.made = 0
        """How many calls began."""
        self.failed = False
        """Whether one raised or took too long: asked again, it might answer."""
        self._scorer = scorer
        self._bounds = bounds
        self._limiter = bounds.limiter
        self._loop = asyncio.get_running_loop()
        self._arrivals = Arrivals(self._loop)
        self._deadlines: Deadlines[_Call] = Deadlines(self._loop, bounds.timeout, self._expire)
        self._waiting: deque[tuple[int, Request]] = deque()
        self._unused = 0
        self._running: dict[int, _Call] = {}
        self._stopped: list[asyncio.Task[None]] = []

    @property
    def usage(self) -> UsageUpdate | None:
        """The tokens they took, as far as that is known."""
        return self._arrivals.usage

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
        return await self._arrivals.take(self._is_busy)

    async def close(self) -> None:
        """Cancels what is still in flight, and waits until it has stopped.

        What does not stop in `GRACE` seconds is given up, and the log says so.
        """
        self._waiting.clear()
        # Of calls whose tasks have not begun, and now never will.
        for _ in range(self._unused):
            self._limiter.release()
        self._unused = 0
        self._deadlines.close()
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

    def _is_busy(self) -> bool:
        return bool(self._running)

    def _fill(self) -> None:
        count = min(len(self._waiting), self._bounds.max_concurrency - len(self._running))
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
        self._deadlines.watch(calls[:placed])

    async def _run(self, call: _Call, request: Request) -> None:
        """What the task of a call does. Nothing but being cancelled from outside is raised."""
        try:
            if call.placed:
                self._unused -= 1
            else:
                await self._limiter.acquire()
                self._deadlines.watch([call])
            try:
                self.made += 1
                reply = await self._scorer.ask(request)
            finally:
                self._limiter.release()
        except asyncio.CancelledError:
            if not call.open:
                raise
            self._fail(call, "the call was cancelled by the scorer itself")
        except Exception as err:  # noqa: BLE001 - a scorer may raise what it likes
            self._fail(call, said(err))
        except BaseException as err:  # noqa: BLE001 - what is meant for the program
            self._arrivals.fail(err)
        else:
            self._settle(call, (reply.content, None), reply.usage)

    def _expire(self, call: _Call) -> None:
        call.task.cancel()
        self._stopped.append(call.task)
        self._fail(call, too_late(self._bounds))

    def _fail(self, call: _Call, error: str) -> None:
        self.failed = True
        self._settle(call, (None, error))

    def _settle(self, call: _Call, answer: Answer, usage: UsageUpdate | None = None) -> None:
        # What comes too late, or after it was cancelled, is of no interest.
        if call.open:
            call.open = False
            del self._running[call.position]
            self._arrivals.put(call.position, answer, usage)


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
