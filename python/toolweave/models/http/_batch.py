"""Batches of concurrent requests whose replies are returned complete."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._aio.loops import running_loop
from ..._core import HttpBatch
from ...kinds import FinishReason
from .._streaming import warn_if_missing
from ._wakeup import LoopProxy, open_wakeup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..._core import UsageUpdate
    from ..._messages import Message
    from ...protocols import ModelOptions
    from ._endpoint import Failure, HttpEndpoint


class BatchResult(NamedTuple):
    """Result of one request."""

    number: int
    """Number of the request."""
    text: str
    """Text of the reply, as far as it arrived."""
    finish_reason: FinishReason
    """Reason for the end of the reply; ``missing`` if the server sent none."""
    usage: UsageUpdate | None
    """Tokens that the request used, if known."""
    error: Exception | None
    """Error of the request or its reply."""


class RequestBatch:
    """Concurrent requests to one model, on the running event loop.

    Requests have no tasks. One callback on the loop covers all replies that have ended since the
    previous one. The creator of a batch must close it.

    Args:
        endpoint: The model.
        on_ready: Function that is called when there are results to take.
    """

    def __init__(self, endpoint: HttpEndpoint, on_ready: Callable[[], object]) -> None:
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
        self._wakeup.subscribe(self._batch.key, self._on_ready)

    def start(
        self, number: int, messages: Sequence[Message], options: ModelOptions | None = None
    ) -> None:
        """Send a request.

        Args:
            number: Number of the request, unique in the batch.
            messages: The conversation.
            options: Options of the request.

        Raises:
            MessageError: A message cannot be expressed in this API.
            ValueError: The API key or an option is invalid.
        """
        self._send(number, _PendingRequest(self._endpoint.request(messages, (), options)))

    def take(self) -> list[BatchResult]:
        """Return the results since the previous call, except those of stopped requests."""
        results: list[BatchResult] = []
        for number, text, finish, unknown, usage, failure in self._batch.take():
            request = self._pending.pop(number, None)
            if request is None:
                continue
            error = None
            if failure is not None:
                error = self._handle_failure(number, request, failure)
                if error is None:
                    continue
            reason = FinishReason.MISSING if finish is None else FinishReason(finish)
            if error is None:
                self._endpoint.remember_unsupported(request.unsupported)
                warn_if_missing(reason, self._endpoint.name, unknown)
            results.append(BatchResult(number, text, reason, usage, error))
        return results

    def stop(self, number: int) -> None:
        """Cancel a request unless it has ended; its connection is closed at once."""
        if self._pending.pop(number, None) is not None:
            self._batch.stop(number)

    async def aclose(self) -> None:
        """Cancel the requests in flight, and wait until their connections are closed."""
        if self._closed:
            return
        self._closed = True
        self._pending.clear()
        try:
            self._batch.close()
            # The results are dropped; taking them requests the wakeup for the last one.
            self._batch.take()
            while self._batch.in_flight:
                self._all_ended = self._loop.create_future()
                self._ensure_wait()
                await self._all_ended
        finally:
            if self._wait_task is not None:
                self._wait_task.cancel()
            self._wakeup.discard(self._batch.key)
            self._wakeup.close()

    def _send(self, number: int, request: _PendingRequest) -> None:
        endpoint = self._endpoint
        self._batch.start(
            number,
            endpoint.url,
            endpoint.headers(endpoint.key()),
            endpoint.body(request.fields, request.unsupported),
        )
        self._pending[number] = request
        self._ensure_wait()

    def _handle_failure(
        self, number: int, request: _PendingRequest, failure: Failure
    ) -> Exception | None:
        """Return a failure as an exception; None if the request was repeated."""
        name = self._endpoint.rejected_parameter(failure, request.fields, request.unsupported)
        if name is None:
            return self._endpoint.error(failure)
        request.unsupported |= {name}
        try:
            self._send(number, request)
        except Exception as err:  # noqa: BLE001 - the function for the key may raise anything
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
        """Wait for replies with a future if the loop cannot watch a socket."""
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
    """A request in flight."""

    __slots__ = ("fields", "unsupported")

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields
        """All fields of the body."""
        self.unsupported: frozenset[str] = frozenset()
        """Fields that the server has rejected."""
