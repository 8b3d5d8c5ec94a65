"""The chat client for asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from .._aio.loops import running_loop
from .._core import StreamReducer
from ._base import ClientBase, EventsBase
from ._exchanges import answer, approve, send, start, stop
from ._follow_state import FollowState, is_stream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from typing_extensions import Self

    from ..lifecycle import StreamEvent
    from ._exchanges import AnswerOutcome, Exchange, MessageReceipt

_T = TypeVar("_T")


class AsyncChatEvents(EventsBase["AsyncGenerator[StreamEvent, None]"]):
    """The events of a chat as they arrive. Created by `AsyncChatClient.follow`.

    Leaving the `async with` block closes the connection; a run of the chat continues. After an
    error or a cancellation the iteration may be resumed, after the last event that was read.
    """

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        while (event := await anext(self._events, None)) is None:
            # After an error that was raised to the reader, continue nevertheless.
            if not self._restart():
                raise StopAsyncIteration
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection and end the iteration."""
        self._closed = True
        await self._events.aclose()


class AsyncChatClient(ClientBase[httpx.AsyncClient]):
    """An asyncio client of a `toolweave.web` server, for use on one event loop.

    Requests that are safe to repeat, all except `start`, are retried if the connection fails or the
    server is overloaded.

    Args:
        base_url: URL of the server, with the path under which the application is mounted, if any.
        headers: Additional headers of every request, such as those that identify the user.
        timeout: Seconds to wait for a connection, and for the next bytes. Must be longer than the
            server's heartbeat interval, which is 15 seconds by default.
        retries: Maximum number of consecutive retries of a request, or of consecutive reconnects
            of a stream without a new event, before it fails.
        backoff: Seconds before the first retry; doubled for each further one, up to 30. A stream
            that specifies a reconnection time takes precedence.
        max_event_bytes: Maximum size of an event.
        http_client: The httpx client to use, which is not closed; by default a new one.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: An argument is out of range.

    Example:
        >>> async def last_words(url: str, text: str) -> str:
        ...     async with AsyncChatClient(url, headers={"Cookie": "session=..."}) as client:
        ...         chat = await client.start()
        ...         await client.send(chat, text)
        ...         return (await client.snapshot(chat))["messages"][-1]["text"]
    """

    _http_type = httpx.AsyncClient

    async def __aenter__(self) -> Self:
        running_loop()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, unless they are those of an `http_client`."""
        if self._owns_http:
            await self._http.aclose()

    async def start(
        self, *, chat_id: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> str:
        """Start a chat and return its id.

        Args:
            chat_id: Id of the new chat; by default the server chooses one.
            metadata: Metadata to store with the chat.

        Raises:
            ChatRequestError: The server refused the request, as with `id_taken`, or cannot be
                reached.
        """
        return await self._request(start(chat_id, metadata))

    async def send(
        self, chat_id: str, text: str | None = None, *, message_id: str | None = None
    ) -> MessageReceipt:
        """Send a message, which starts a run.

        Args:
            chat_id: Id of the chat.
            text: Text of the message; None to continue with the history as it is.
            message_id: Id of the message; random by default. A message that the server already has
                starts no run, and the receipt is the same.

        Raises:
            ChatRequestError: The server refused the request, as with `chat_busy` while a run is
                active, or cannot be reached.
        """
        return await self._request(send(chat_id, text, message_id))

    async def stop(self, chat_id: str, run_id: str) -> bool:
        """Request that a run stops. Return True if it was still running.

        Raises:
            ChatRequestError: The run does not exist, or the server cannot be reached.
        """
        return await self._request(stop(chat_id, run_id))

    async def approve(
        self, chat_id: str, key: str, approved: bool = True, *, reason: str | None = None
    ) -> AnswerOutcome:
        """Approve or deny a call that waits for approval.

        Args:
            chat_id: Id of the chat.
            key: The `key` of the `tool_state` event that requests approval.
            approved: True to allow the call.
            reason: Reason for denying it, for the model.

        Raises:
            ChatRequestError: The approval is not pending (`not_found`), a different answer was
                given before (`conflict`), or the server cannot be reached.
        """
        return await self._request(approve(chat_id, key, approved, reason))

    async def answer(
        self, chat_id: str, key: str, result: object, *, is_error: bool = False
    ) -> AnswerOutcome:
        """Answer a question of a tool, or deliver a deferred result.

        Args:
            chat_id: Id of the chat.
            key: The `key` of the `tool_state` event that asks.
            result: The answer, a JSON value.
            is_error: True if the call failed.

        Raises:
            ChatRequestError: The answer does not match the schema of the question (`unusable`), no
                answer is pending (`not_found`), a different one was given before (`conflict`), or
                the server cannot be reached.
        """
        return await self._request(answer(chat_id, key, result, is_error))

    def follow(
        self,
        chat_id: str,
        *,
        after: int | None = None,
        further_runs: bool = False,
        reducer: StreamReducer | None = None,
    ) -> AsyncChatEvents:
        """Iterate over the events of a chat, each once and in order, until no run is active.

        When the connection breaks it reconnects and resumes after the last event that was read.
        The iteration raises a `ChatRequestError` if the server refuses the request, or cannot be
        reached after the maximum number of retries.

        Args:
            chat_id: Id of the chat.
            after: Sequence number to resume after; by default that of the `reducer`.
            further_runs: True to wait for further runs as well; the iteration then never ends by
                itself.
            reducer: Reducer to which all events are pushed, and which computes the `snapshot()`;
                by default a new one.
        """
        follow_state = self._follow_state(chat_id, after, further_runs, reducer)
        return AsyncChatEvents(self._read, follow_state)

    async def snapshot(self, chat_id: str) -> dict[str, Any]:
        """Follow a chat from its start until no run is active, and return the snapshot.

        Raises:
            ChatRequestError: The server refused the request, or cannot be reached.
        """
        async with self.follow(chat_id) as events:
            async for _ in events:
                pass
            return events.snapshot()

    async def _read(self, follow_state: FollowState) -> AsyncGenerator[StreamEvent, None]:
        for pause in follow_state:
            await asyncio.sleep(pause)
            headers = {**self._headers, **follow_state.headers()}
            try:
                async with self._http.stream(
                    "GET", follow_state.url, headers=headers, timeout=self._timeout
                ) as response:
                    if is_stream(response):
                        async for chunk in response.aiter_bytes():
                            for event in follow_state.push(chunk):
                                yield event
                        follow_state.handle_end()
                    else:
                        await response.aread()
                        follow_state.handle_response(response)
            except httpx.RequestError as error:
                follow_state.handle_error(error)

    async def _request(self, exchange: Exchange[_T]) -> _T:
        attempts = self._attempts(exchange)
        for pause in attempts:
            await asyncio.sleep(pause)
            try:
                response = await self._http.post(
                    attempts.url, json=exchange.body, headers=self._headers, timeout=self._timeout
                )
            except httpx.RequestError as error:
                attempts.handle_error(error)
            else:
                attempts.handle_response(response)
        return attempts.result
