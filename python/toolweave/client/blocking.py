"""A client of chats that blocks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from .._core import StreamReducer
from . import exchanges
from .exchanges import Backoff, RequestAttempts
from .follow_state import FollowState, is_stream
from .options import Options, check_client

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from typing_extensions import Self

    from ..lifecycle import StreamEvent
    from .exchanges import AnswerOutcome, Exchange, MessageReceipt

_T = TypeVar("_T")


class ChatEvents:
    """The events of a chat, as they come. Made by `ChatClient.follow`.

    Leaving the `with` block drops the connection; what runs in the chat goes on. After an
    error the iteration may be taken up again, after the last event that was read.
    """

    def __init__(
        self,
        read: Callable[[FollowState], Generator[StreamEvent, None, None]],
        follow_state: FollowState,
    ) -> None:
        self._read = read
        self._follow_state = follow_state
        self._events = read(follow_state)
        self._closed = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> StreamEvent:
        while True:
            try:
                return next(self._events)
            except StopIteration:
                if self._closed or self._follow_state.done:
                    raise
            # What ended the reading was told to the reader, who asks for more all the same.
            self._follow_state.restart()
            self._events = self._read(self._follow_state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop the connection, and end the iteration."""
        self._closed = True
        self._events.close()

    @property
    def last_sequence_number(self) -> int:
        """The number of the last event that was read, to go on after."""
        return self._follow_state.after

    def snapshot(self) -> dict[str, Any]:
        """Snapshot of the chat after the events so far; see `StreamReducer.snapshot`."""
        return self._follow_state.reducer.snapshot()


class ChatClient:
    """A client of a server of `toolweave.web`; blocks, and may be shared between threads.

    Requests that are safe to send again are sent again where the connection failed or the server
    has too much to do: all but `start`.

    Args:
        base_url: The server, with the path below which it is mounted, if any.
        headers: Further headers of every request, such as those that say who the user is.
        timeout: Seconds to connect, and to wait for the next bytes. More than the server's
            heartbeat, which is 15 seconds unless it was given another one.
        retries: How many times in a row a request is sent again, or a stream is connected to again
            without any news, before it fails.
        backoff: Seconds before the first of them; twice as many before each further one, at most
            30. A stream that says after how long to connect again is obeyed.
        max_event_bytes: The longest event that is read.
        http_client: The client of httpx to ask with, which stays open; otherwise one of its own.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: An argument is out of range.

    Example:
        >>> def last_words(url: str, text: str) -> str:
        ...     with ChatClient(url, headers={"Cookie": "session=..."}) as client:
        ...         chat = client.start()
        ...         client.send(chat, text)
        ...         return client.snapshot(chat)["messages"][-1]["text"]
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        retries: int = 8,
        backoff: float = 0.5,
        max_event_bytes: int = 64 * 1024 * 1024,
        http_client: httpx.Client | None = None,
    ) -> None:
        self._options = Options(
            base_url, {} if headers is None else headers, timeout, retries, backoff, max_event_bytes
        )
        check_client(http_client, httpx.Client)
        self._owns_http = http_client is None
        self._http = httpx.Client() if http_client is None else http_client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, unless they are those of an `http_client`."""
        if self._owns_http:
            self._http.close()

    def start(
        self, *, chat_id: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> str:
        """Start a chat, and return its id.

        Args:
            chat_id: The id that it shall have; otherwise the server chooses.
            metadata: What the client keeps with it.

        Raises:
            ChatRequestError: The server refused, as with `id_taken`, or cannot be reached.
        """
        return self._request(exchanges.start(chat_id, metadata))

    def send(
        self, chat_id: str, text: str | None = None, *, message_id: str | None = None
    ) -> MessageReceipt:
        """Say something, which starts a run.

        Args:
            chat_id: The chat.
            text: What is said; None goes on with the history as it is.
            message_id: The id of the message; otherwise a random one. A message that the server has
                already starts nothing, and the receipt is the same.

        Raises:
            ChatRequestError: The server refused, as with `chat_busy` while a run goes on, or cannot
                be reached.
        """
        return self._request(exchanges.send(chat_id, text, message_id))

    def stop(self, chat_id: str, run_id: str) -> bool:
        """Ask for the end of a run, and return whether it was still running.

        Raises:
            ChatRequestError: There is no such run, or the server cannot be reached.
        """
        return self._request(exchanges.stop(chat_id, run_id))

    def approve(
        self, chat_id: str, key: str, approved: bool = True, *, reason: str | None = None
    ) -> AnswerOutcome:
        """Allow a call that waits for approval, or refuse it.

        Args:
            chat_id: The chat.
            key: The `key` of the event `tool_state` that asks.
            approved: Whether the call may run.
            reason: Why not, for the model.

        Raises:
            ChatRequestError: Nobody waits for it (`not_found`), it was answered otherwise
                (`conflict`), or the server cannot be reached.
        """
        return self._request(exchanges.approve(chat_id, key, approved, reason))

    def answer(
        self, chat_id: str, key: str, result: object, *, is_error: bool = False
    ) -> AnswerOutcome:
        """Answer a question of a tool, or give a result that comes late.

        Args:
            chat_id: The chat.
            key: The `key` of the event `tool_state` that asks.
            result: The answer, as JSON has it.
            is_error: Whether it says that the call failed.

        Raises:
            ChatRequestError: The answer does not fit the question (`unusable`), nobody waits for it
                (`not_found`), it was answered otherwise (`conflict`), or the server cannot be
                reached.
        """
        return self._request(exchanges.answer(chat_id, key, result, is_error))

    def follow(
        self,
        chat_id: str,
        *,
        after: int | None = None,
        further_runs: bool = False,
        reducer: StreamReducer | None = None,
    ) -> ChatEvents:
        """Read what happens in a chat, each event once and in order, until nothing runs in it.

        Where the line breaks it connects again and goes on after the last event that was read.
        The iteration raises a `ChatRequestError` if the server refuses, or cannot be reached so
        many times in a row as the client may try.

        Args:
            chat_id: The chat.
            after: The number of the last event that is known; otherwise that of the `reducer`.
            further_runs: Whether to wait for further runs as well, without end.
            reducer: Takes every event; a fresh one unless given. `snapshot()` is made by it.
        """
        follow_state = self._options.follow_state(chat_id, after, further_runs, reducer)
        return ChatEvents(self._read, follow_state)

    def snapshot(self, chat_id: str) -> dict[str, Any]:
        """Follow a chat from its start until nothing runs in it; what it has come to.

        Raises:
            ChatRequestError: The server refused, or cannot be reached.
        """
        with self.follow(chat_id) as events:
            for _ in events:
                pass
            return events.snapshot()

    def _read(self, follow_state: FollowState) -> Generator[StreamEvent, None, None]:
        options = self._options
        while not follow_state.done:
            headers = {**options.headers, **follow_state.headers()}
            try:
                with self._http.stream(
                    "GET", follow_state.url, headers=headers, timeout=options.timeout
                ) as response:
                    if is_stream(response.status_code, response.headers):
                        for chunk in response.iter_bytes():
                            yield from follow_state.push(chunk)
                        follow_state.handle_end()
                    else:
                        content = response.read()
                        follow_state.handle_response(
                            response.status_code, response.headers, content
                        )
            except httpx.RequestError as error:
                follow_state.handle_error(error, transient=_is_transient(error))
            if follow_state.pause:
                time.sleep(follow_state.pause)

    def _request(self, exchange: Exchange[_T]) -> _T:
        options = self._options
        url = f"{options.base_url}{exchange.path}"
        attempts = RequestAttempts(exchange, url, Backoff(options.retries, options.backoff))
        while not attempts.done:
            try:
                response = self._http.request(
                    exchange.method,
                    url,
                    json=exchange.body,
                    headers=options.headers,
                    timeout=options.timeout,
                )
            except httpx.RequestError as error:
                attempts.handle_error(error, transient=_is_transient(error))
            else:
                attempts.handle_response(response.status_code, response.headers, response.content)
            if attempts.pause:
                time.sleep(attempts.pause)
        return attempts.result


def _is_transient(error: httpx.RequestError) -> bool:
    """Tell failures that may pass from those that will not."""
    return isinstance(
        error, (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
    )
