"""Calls of a model whose requests are made in Rust: all of a selection together, without tasks."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from .. import tracing
from ..kinds import FinishReason
from ..models.conversation import as_messages
from ..models.http.batch import Batch
from .calls import Arrivals, Bounds, said, too_late
from .deadlines import Deadlines
from .model import ModelScorer, cut_off

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import UsageUpdate
    from ..models.http import HttpModel
    from ..protocols import ModelOptions
    from .calls import Answer
    from .limit import Turn
    from .scorer import Request


class NativeScorer(ModelScorer):
    """An `HttpModel` as a scorer, whose requests for a selection are made together.

    Args:
        model: The model.
        options: What it is asked with; temperature 0 and at most 512 tokens if not given.
    """

    def __init__(self, model: HttpModel, *, options: ModelOptions | None = None) -> None:
        super().__init__(model, options=options)
        self._http = model

    def make_calls(self, bounds: Bounds) -> NativeCalls:
        """What makes the calls of one selection, on the running event loop."""
        return NativeCalls(self, self._http, bounds)


class NativeCalls:
    """Makes calls without a task for any of them; these are `Calls`.

    The replies are read by a thread of Rust's. The event loop hears of all that have ended since
    it last looked at once. A call that is given up closes its connection.

    Args:
        scorer: Says what is asked.
        model: Who is asked.
        bounds: What the calls have to keep to.
    """

    def __init__(self, scorer: NativeScorer, model: HttpModel, bounds: Bounds) -> None:
        self.made = 0
        """How many calls began."""
        self.failed = False
        """Whether one raised or took too long: asked again, it might answer."""
        self._scorer = scorer
        self._model = model
        self._bounds = bounds
        loop = asyncio.get_running_loop()
        self._arrivals = Arrivals(loop)
        self._deadlines: Deadlines[_Call] = Deadlines(loop, bounds.timeout, self._expire)
        self._batch = Batch(model.endpoint, self._collect)
        self._waiting: deque[tuple[int, Request]] = deque()
        self._running: dict[int, _Call] = {}
        self._turn: Turn | None = None
        self._granted = 0

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
        """Closes the connections of what is still in flight."""
        self._waiting.clear()
        self._leave()
        self._deadlines.close()
        for call in list(self._running.values()):
            self._end(call, asyncio.CancelledError())
        await self._batch.aclose()

    def _is_busy(self) -> bool:
        return bool(self._running or self._turn)

    def _wanted(self) -> int:
        """How many more calls may begin, as far as this selection is concerned."""
        return max(0, min(len(self._waiting), self._bounds.max_concurrency - len(self._running)))

    def _fill(self) -> None:
        """Begins what has a place, and lines up for one where there is more to do."""
        wanted = self._wanted()
        places = min(wanted, self._granted)
        self._granted -= places
        places += self._bounds.limiter.take(wanted - places)
        begun = [self._begin(*self._waiting.popleft()) for _ in range(places)]
        self._deadlines.watch(call for call in begun if call.open)
        if not self._wanted():
            self._leave()
        elif self._turn is None:
            self._turn = self._bounds.limiter.line_up(self._called)

    def _called(self) -> None:
        """There is a place."""
        self._turn = None
        self._granted += 1
        if not self._arrivals:
            self._fill()

    def _leave(self) -> None:
        """Gives back what is not needed any more."""
        if self._turn is not None:
            self._turn.leave()
            self._turn = None
        for _ in range(self._granted):
            self._bounds.limiter.release()
        self._granted = 0

    def _begin(self, position: int, request: Request) -> _Call:
        self.made += 1
        call = self._running[self.made] = _Call(self.made, position)
        try:
            model, options = self._model, self._scorer.asked(request)
            call.span = tracing.chat(
                model.name, provider=model.provider, options=options, current=False
            )
            call.span.__enter__()
            self._batch.start(call.number, as_messages(request.prompt), options)
        except Exception as err:  # noqa: BLE001 - what cannot be asked is an error of its tools
            self._fail(call, err)
        except BaseException as err:  # noqa: BLE001 - what is meant for the program
            self._arrivals.fail(err)
        return call

    def _collect(self) -> None:
        """Takes what has come."""
        for outcome in self._batch.take():
            call = self._running.get(outcome.number)
            if call is None:
                continue
            span = call.span
            if span is not None and outcome.usage is not None:
                span.usage(outcome.usage)
            if outcome.error is not None:
                self._fail(call, outcome.error)
                continue
            if span is not None:
                span.set(tracing.RESPONSE_FINISH_REASONS, [outcome.finish_reason.value])
            self._end(call)
            if outcome.finish_reason is FinishReason.STOP:
                self._arrivals.put(call.position, (outcome.text, None), outcome.usage)
            else:
                self.failed = True
                error = cut_off(outcome.finish_reason)
                self._arrivals.put(call.position, (None, said(error)))

    def _expire(self, call: _Call) -> None:
        self._batch.stop(call.number)
        self._end(call, asyncio.CancelledError())
        self.failed = True
        self._arrivals.put(call.position, (None, too_late(self._bounds)))

    def _fail(self, call: _Call, error: Exception) -> None:
        self._end(call, error)
        self.failed = True
        self._arrivals.put(call.position, (None, said(error)))

    def _end(self, call: _Call, error: BaseException | None = None) -> None:
        """Gives back the place of a call that is over."""
        call.open = False
        del self._running[call.number]
        self._bounds.limiter.release()
        if call.span is not None:
            call.span.__exit__(None if error is None else type(error), error, None)


class _Call:
    """A call in flight."""

    __slots__ = ("deadline", "number", "open", "position", "span")

    deadline: float

    def __init__(self, number: int, position: int) -> None:
        self.number = number
        """By what the batch knows it."""
        self.position = position
        self.open = True
        """Whether anybody waits for what becomes of it."""
        self.span: tracing.Span | None = None
