"""Calls of a model whose requests are made in Rust: all of a selection together, without tasks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .. import tracing
from ..kinds import FinishReason
from ..models.conversation import as_messages
from ..models.http.batch import Batch
from .calls import describe_error
from .model import ModelScorer, cut_off

if TYPE_CHECKING:
    from ..models.http import HttpModel
    from ..models.http.batch import BatchResult
    from ..protocols import ModelOptions
    from .calls import CallListener
    from .scorer import ScorerRequest


class NativeScorer(ModelScorer):
    """An `HttpModel` as a scorer, whose requests for a selection are made together.

    Args:
        model: The model.
        options: What it is asked with; temperature 0 and at most 512 tokens if not given.
    """

    def __init__(self, model: HttpModel, *, options: ModelOptions | None = None) -> None:
        super().__init__(model, options=options)
        self._http = model

    def make_transport(self, listener: CallListener) -> NativeTransport:
        """Make what carries the requests of one selection, on the running event loop."""
        return NativeTransport(self, self._http, listener)


class NativeTransport:
    """Makes calls without a task for any of them; it is a `Transport`.

    The replies are read by a thread of Rust's. The event loop hears of all that have ended since
    it last looked at once. A call that is given up closes its connection.

    Args:
        scorer: Says what is asked.
        model: Who is asked.
        listener: Who hears what becomes of calls.
    """

    def __init__(self, scorer: NativeScorer, model: HttpModel, listener: CallListener) -> None:
        self._scorer = scorer
        self._model = model
        self._listener = listener
        self._batch = Batch(model.endpoint, self._collect)
        self._spans: dict[int, tracing.Span | None] = {}

    def begin(self, number: int, request: ScorerRequest) -> None:
        """Make a call."""
        self._listener.on_start()
        self._spans[number] = None
        try:
            model, options = self._model, self._scorer.asked(request)
            span = tracing.chat(model.name, provider=model.provider, options=options, current=False)
            span.__enter__()
            self._spans[number] = span
            self._batch.start(number, as_messages(request.prompt), options)
        except Exception as err:  # noqa: BLE001 - what cannot be asked is an error of its tools
            self._fail(number, err)
        except BaseException as err:  # noqa: BLE001 - what is meant for the program
            self._listener.on_interrupt(err)

    def stop(self, number: int) -> None:
        """Close the connection of a call."""
        if number in self._spans:
            self._batch.stop(number)
            self._end(number, asyncio.CancelledError())

    async def aclose(self) -> None:
        """Wait until the connections have been closed."""
        await self._batch.aclose()

    def _collect(self) -> None:
        """Take what has come."""
        for outcome in self._batch.take():
            if outcome.number in self._spans:
                self._take(outcome)

    def _take(self, outcome: BatchResult) -> None:
        number, span = outcome.number, self._spans[outcome.number]
        if span is not None and outcome.usage is not None:
            span.usage(outcome.usage)
        if outcome.error is not None:
            self._fail(number, outcome.error)
            return
        if span is not None:
            span.set(tracing.RESPONSE_FINISH_REASONS, [outcome.finish_reason.value])
        if outcome.finish_reason is FinishReason.STOP:
            self._listener.on_reply(number, outcome.text, outcome.usage)
        else:
            self._listener.on_error(number, describe_error(cut_off(outcome.finish_reason)))
        self._end(number)

    def _fail(self, number: int, error: Exception) -> None:
        self._listener.on_error(number, describe_error(error))
        self._end(number, error)

    def _end(self, number: int, error: BaseException | None = None) -> None:
        """Give back the place of a call that is over."""
        span = self._spans.pop(number)
        if span is not None:
            span.__exit__(None if error is None else type(error), error, None)
        self._listener.on_end(number)
