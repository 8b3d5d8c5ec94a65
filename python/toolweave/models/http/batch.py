"""Requests that are made together, whose replies are wanted as wholes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._core import HttpBatch
from ..._loops import running_loop
from ...kinds import FinishReason
from .wakeup import LoopProxy, open_wakeup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ... import Message, UsageUpdate
    from ...protocols import ModelOptions
    from .endpoint import Endpoint, Failure


class BatchResult(NamedTuple):
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

    def __init__(self, endpoint: Endpoint, on_ready: Callable[[], object]) -> None:
        self._endpoint = endpoint
        self._on_ready_callback = on_ready
        self._loop = running_loop()
        self._pending: dict[int, _PendingRequest] = {}
        self._closed = False
        self._all_ended: asyncio.Future[None] | None = None
        self._wait_task: asyncio.Future[None] | None = None
        self._wakeup = open_wakeup()
        try:
            self._batch = HttpBatch(endpoint.client, self._wakeup.inner)
        except BaseException:
            self._wakeup.close()
            raise
        self._wakeup.listen(self._batch.key, self._on_ready)

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
        self._send(number, _PendingRequest(self._endpoint.asked(messages, (), options)))

    def take(self) -> list[BatchResult]:
        """What has come since the last look, but of requests that were stopped."""
        outcomes: list[BatchResult] = []
        for number, text, finish, usage, failure in self._batch.take():
            asked = self._pending.pop(number, None)
            if asked is None:
                continue
            error = None
            if failure is not None:
                error = self._handle_failure(number, asked, failure)
                if error is None:
                    continue
            reason = FinishReason.MISSING if finish is None else FinishReason(finish)
            if error is None:
                self._endpoint.remember(asked.refused)
                self._endpoint.check(reason)
            outcomes.append(BatchResult(number, text, reason, usage, error))
        return outcomes

    def stop(self, number: int) -> None:
        """Gives a request up, if it is not over: its connection is closed at once."""
        if self._pending.pop(number, None) is not None:
            self._batch.stop(number)

    async def aclose(self) -> None:
        """Gives up what is still under way, and waits until its connections have been let go."""
        if self._closed:
            return
        self._closed = True
        self._pending.clear()
        try:
            self._batch.close()
            # What had come is of no interest, but to be told when the last has ended is.
            self._batch.take()
            while self._batch.in_flight:
                self._all_ended = self._loop.create_future()
                self._ensure_wait()
                await self._all_ended
        finally:
            if self._wait_task is not None:
                self._wait_task.cancel()
            self._wakeup.forget(self._batch.key)
            self._wakeup.close()

    def _send(self, number: int, asked: _PendingRequest) -> None:
        endpoint = self._endpoint
        self._batch.start(
            number,
            endpoint.url,
            endpoint.headers(endpoint.key()),
            endpoint.body(asked.said, asked.refused),
        )
        self._pending[number] = asked
        self._ensure_wait()

    def _handle_failure(
        self, number: int, asked: _PendingRequest, failure: Failure
    ) -> Exception | None:
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

    def _on_ready(self) -> None:
        if not self._closed:
            self._on_ready_callback()
            return
        self._batch.take()
        if self._all_ended is not None and not self._all_ended.done():
            self._all_ended.set_result(None)

    def _ensure_wait(self) -> None:
        """Has somebody wait for replies where the loop cannot watch a bell."""
        if self._wakeup.inner is None and self._wait_task is None:
            self._wait_task = asyncio.ensure_future(self._batch.ready(LoopProxy(self._loop)))
            self._wait_task.add_done_callback(self._on_wait_done)

    def _on_wait_done(self, ready: asyncio.Future[None]) -> None:
        self._wait_task = None
        if not ready.cancelled():
            self._on_ready()
            if self._batch.in_flight:
                self._ensure_wait()


class _PendingRequest:
    """A request under way."""

    __slots__ = ("refused", "said")

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said
        """What it says, as far as every server takes it."""
        self.refused: frozenset[str] = frozenset()
        """What the server has refused."""
