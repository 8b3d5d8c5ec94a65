"""Scorer whose requests are made in Rust, in one batch per selection and without tasks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .. import tracing
from ..kinds import FinishReason
from ..models._conversation import as_messages
from ..models.http._batch import RequestBatch
from ._calls import describe_error
from ._model import ModelScorer, cut_off_error

if TYPE_CHECKING:
    from ..models.http import HttpModel
    from ..models.http._batch import BatchResult
    from ..protocols import ModelOptions
    from ._calls import CallListener
    from ._scorer import ScorerRequest


class NativeScorer(ModelScorer):
    """Scorer that asks an `HttpModel`, with the requests of a selection in one batch.

    Args:
        model: The model.
        options: Options of the requests; temperature 0 and at most 512 tokens by default.
    """

    def __init__(self, model: HttpModel, *, options: ModelOptions | None = None) -> None:
        super().__init__(model, options=options)
        self._http = model

    def make_transport(self, listener: CallListener) -> NativeTransport:
        """Return the transport for one selection, on the running event loop."""
        return NativeTransport(self, self._http, listener)


class NativeTransport:
    """`Transport` that makes calls without tasks.

    Replies are read by a thread in Rust. The event loop is woken once for all replies that have
    arrived. Stopping a call closes its connection.

    Args:
        scorer: The scorer, which has the options of the requests.
        model: The model.
        listener: The listener to notify.
    """

    def __init__(self, scorer: NativeScorer, model: HttpModel, listener: CallListener) -> None:
        self._scorer = scorer
        self._model = model
        self._listener = listener
        self._batch = RequestBatch(model.endpoint, self._collect)
        self._spans: dict[int, tracing.Span | None] = {}

    def begin(self, number: int, request: ScorerRequest) -> None:
        """Start a call."""
        self._listener.on_start()
        self._spans[number] = None
        try:
            model, options = self._model, self._scorer.options_for(request)
            span = tracing.chat(model.name, provider=model.provider, options=options, current=False)
            span.__enter__()
            self._spans[number] = span
            self._batch.start(number, as_messages(request.prompt), options)
        except Exception as err:  # noqa: BLE001 - a failed request is an error of its tools
            self._fail(number, err)
        except BaseException as err:  # noqa: BLE001 - raised in the waiting task
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
        """Handle the results that have arrived."""
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
            self._listener.on_error(number, describe_error(cut_off_error(outcome.finish_reason)))
        self._end(number)

    def _fail(self, number: int, error: Exception) -> None:
        self._listener.on_error(number, describe_error(error))
        self._end(number, error)

    def _end(self, number: int, error: BaseException | None = None) -> None:
        """Report the end of a call and close its span."""
        span = self._spans.pop(number)
        if span is not None:
            span.__exit__(None if error is None else type(error), error, None)
        self._listener.on_end(number)
