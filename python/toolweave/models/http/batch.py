"""Requests that are made together, whose replies are wanted as wholes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._core import HttpBatch
from ..._loops import running_loop
from ...kinds import FinishReason
from .bell import Door, opened_bell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ... import Message, UsageUpdate
    from ...protocols import ModelOptions
    from .endpoint import Endpoint, Failure


class Outcome(NamedTuple):
    """What came of one request."""

    number: int
    """Which it was."""
    text: str
    """The whole text of the reply, as far as it came."""
    finish_reason: FinishReason
    """Why the reply ended; ``missing`` if nobody said so."""
    usage: UsageUpdate | None
    """The tokens it took, if that is known."""
    error: Exception | None
    """How the request, or its reply, failed."""


class Batch:
    """Requests to one model that are made together, on the running event loop.

    None of them has a task. The loop hears of all replies that have ended since it last looked at
    once. Whoever has made a batch closes it.

    Args:
        endpoint: The model.
        told: Called when there is something to take.
    """

    def __init__(self, endpoint: Endpoint, told: Callable[[], object]) -> None:
        self._endpoint = endpoint
        self._told = told
        self._loop = running_loop()
        self._asked: dict[int, _Asked] = {}
        self._closed = False
        self._stopped: asyncio.Future[None] | None = None
        self._ready: asyncio.Future[None] | None = None
        self._bell = opened_bell()
        try:
            self._batch = HttpBatch(endpoint.client, self._bell.inner)
        except BaseException:
            self._bell.close()
            raise
        self._bell.listen(self._batch.key, self._heard)

    def start(
        self, number: int, messages: Sequence[Message], options: ModelOptions | None = None
    ) -> None:
        """Makes a request.

        Args:
            number: What it is known by here: another for each.
            messages: The conversation.
            options: What the request asks for beyond that.

        Raises:
            MessageError: A message cannot be said to such a model.
            ValueError: The key, or what the options say, cannot be sent.
        """
        self._send(number, _Asked(self._endpoint.asked(messages, (), options)))

    def take(self) -> list[Outcome]:
        """What has come since the last look, but of requests that were stopped."""
        outcomes: list[Outcome] = []
        for number, text, finish, usage, failure in self._batch.take():
            asked = self._asked.pop(number, None)
            if asked is None:
                continue
            error = None
            if failure is not None:
                error = self._failed(number, asked, failure)
                if error is None:
                    continue
            reason = FinishReason.MISSING if finish is None else FinishReason(finish)
            if error is None:
                self._endpoint.remember(asked.refused)
                self._endpoint.check(reason)
            outcomes.append(Outcome(number, text, reason, usage, error))
        return outcomes

    def stop(self, number: int) -> None:
        """Gives a request up, if it is not over: its connection is closed at once."""
        if self._asked.pop(number, None) is not None:
            self._batch.stop(number)

    async def aclose(self) -> None:
        """Gives up what is still under way, and waits until its connections have been let go."""
        if self._closed:
            return
        self._closed = True
        self._asked.clear()
        try:
            self._batch.close()
            # What had come is of no interest, but to be told when the last has ended is.
            self._batch.take()
            while self._batch.in_flight:
                self._stopped = self._loop.create_future()
                self._listen()
                await self._stopped
        finally:
            if self._ready is not None:
                self._ready.cancel()
            self._bell.forget(self._batch.key)
            self._bell.close()

    def _send(self, number: int, asked: _Asked) -> None:
        endpoint = self._endpoint
        self._batch.start(
            number,
            endpoint.url,
            endpoint.headers(endpoint.key()),
            endpoint.body(asked.said, asked.refused),
        )
        self._asked[number] = asked
        self._listen()

    def _failed(self, number: int, asked: _Asked, failure: Failure) -> Exception | None:
        """How a request failed; None where it is made again without what the server refuses."""
        name = self._endpoint.refusal(failure, asked.said, asked.refused)
        if name is None:
            return self._endpoint.error(failure)
        asked.refused |= {name}
        try:
            self._send(number, asked)
        except Exception as err:  # noqa: BLE001 - the function that gives the key may raise
            return err
        return None

    def _heard(self) -> None:
        if not self._closed:
            self._told()
            return
        self._batch.take()
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(None)

    def _listen(self) -> None:
        """Has somebody wait for replies where the loop cannot watch a bell."""
        if self._bell.inner is None and self._ready is None:
            self._ready = asyncio.ensure_future(self._batch.ready(Door(self._loop)))
            self._ready.add_done_callback(self._is_ready)

    def _is_ready(self, ready: asyncio.Future[None]) -> None:
        self._ready = None
        if not ready.cancelled():
            self._heard()
            if self._batch.in_flight:
                self._listen()


class _Asked:
    """A request under way."""

    __slots__ = ("refused", "said")

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said
        """What it says, as far as every server takes it."""
        self.refused: frozenset[str] = frozenset()
        """What the server has refused."""
