"""Requests to models over HTTP."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, TypedDict, final

from typing_extensions import Self, Unpack, disjoint_base

from .._messages import Update
from .._streams import Event
from .parser import Parser
from .update import FinishUpdate, UsageUpdate

@final
class HttpWakeup:
    """A socket with which requests wake the event loop that watches it.

    Raises:
        NotImplementedError: The system has no pairs of sockets.
    """

    def __new__(cls) -> HttpWakeup: ...
    def fileno(self) -> int:
        """Return the file descriptor for the loop to watch, or -1 once closed."""
    def ready_keys(self, limit: int) -> list[int]:
        """Return the keys of up to `limit` replies that have events.

        If there are more, the socket stays readable.
        """
    def close(self) -> None:
        """Close the socket. Later wakeups are ignored."""

class _HttpClientOptions(TypedDict):
    """Options of all requests of a client."""

    connect_timeout: float
    first_byte_timeout: float
    idle_timeout: float
    timeout: float | None
    max_retries: int
    proxy: str | None
    http_version: Literal["auto", "1.1", "2"]
    follow_redirects: bool
    max_header_bytes: int
    max_line_bytes: int
    max_body_bytes: int
    max_queued_bytes: int

@final
class HttpClient:
    """A connection pool, one for each process, with the options of all requests.

    Times are in seconds, sizes in bytes; see `HttpModel`.

    Args:
        name: The name of the model, with which messages of failures begin.

    Raises:
        ValueError: An option is invalid.
    """

    def __new__(
        cls, name: str, *, roots: bytes | None, **options: Unpack[_HttpClientOptions]
    ) -> HttpClient: ...
    @staticmethod
    def check(url: str, headers: Mapping[str, str]) -> None:
        """Raise if a request with this URL and these headers could not be sent.

        Raises:
            TypeError: A header is not a string.
            ValueError: The URL or a header is invalid.
        """
    def send(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        wakeup: HttpWakeup | None,
        parser: Parser | None = None,
        inline: bool = True,
        recovered: bool = False,
        deltas: bool = True,
        call_ids: Callable[[int], str] | None = None,
    ) -> HttpReply:
        """Send a request. Call this on the thread of the event loop.

        Args:
            url: The URL.
            headers: The headers.
            body: The body.
            wakeup: The socket that wakes the loop; None if the loop cannot watch one.
            parser: A parser for calls in the reply. It is not modified.
            inline: True to parse text for calls.
            recovered: True if calls in text are recovered ones: the request had native tools.
            deltas: True to report arguments while they arrive.
            call_ids: A function that returns the id of a call at an index, where the provider gave
                none.

        Raises:
            RuntimeError: Python is shutting down.
            ValueError: The URL, a header or an option of the client is invalid.
        """
    def close(self) -> None:
        """Close the idle connections. New ones can be opened afterwards."""

@final
class HttpBatch:
    """A batch of requests whose complete replies are collected. Dropping it aborts them.

    Create it on the thread of the event loop. It cannot be used in a fork of its process.

    Args:
        client: The client that sends the requests.
        wakeup: The socket that wakes the loop; None if the loop cannot watch one.

    Raises:
        RuntimeError: The wakeup socket belongs to the parent of this forked process.
    """

    def __new__(cls, client: HttpClient, wakeup: HttpWakeup | None) -> HttpBatch: ...
    @property
    def key(self) -> int:
        """The key under which the wakeup socket reports the batch."""
    @property
    def in_flight(self) -> int:
        """Number of requests in flight: neither finished nor stopped."""
    def start(self, number: int, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Send a request.

        Args:
            number: The number of the request, different from those in flight.
            url: The URL.
            headers: The headers.
            body: The body.

        Raises:
            RuntimeError: Python is shutting down, or the batch belongs to the parent of this forked
                process.
            ValueError: The URL, a header or an option of the client is invalid.
        """
    def take(
        self,
    ) -> list[
        tuple[
            int,
            str,
            str | None,
            str | None,
            UsageUpdate | None,
            tuple[str, int | None, float | None, bool, str | None] | None,
        ]
    ]:
        """Return the replies that have finished since the last call.

        The wakeup socket is signalled for the next one, and when the last request has ended.

        Returns:
            The number, the text so far, the finish reason if the reply ended, the word of the
            server if that is not a known reason, the usage if it is known, and the failure, if any,
            in the form of `HttpReply.failure`.

        Raises:
            RuntimeError: The batch belongs to the parent of this forked process.
        """
    def ready(self, event_loop: object) -> Awaitable[None]:
        """Return an awaitable that completes when a reply can be taken or no request is in flight.

        For batches without a wakeup socket.

        Args:
            event_loop: The loop that creates the future and is called when it completes.
        """
    def stop(self, number: int) -> None:
        """Stop a request: its connection is closed at once, and it has no outcome."""
    def close(self) -> None:
        """Stop all requests in flight."""

@disjoint_base
class ChunkReader:
    """Converter from the chunks of an OpenAI-compatible reply to updates.

    For chunks that a provider's client has received and parsed: dicts, or the client's objects.
    The reader tolerates common deviations of servers: missing or repeated ids and indexes, names in
    every fragment, and reasoning under different field names. Only the first of several choices is
    read.
    """

    def __new__(cls) -> Self: ...
    @property
    def reason(self) -> str | None:
        """Finish reason as the server sent it; None before that."""
    @reason.setter
    def reason(self, reason: str | None) -> None: ...
    def push(self, chunk: object) -> Sequence[Update]:
        """Return the updates of one chunk; none if it only keeps the connection alive."""
    def finish(self) -> FinishUpdate:
        """Return the end of the reply: ``missing`` if its reason is absent or unknown."""

@final
class HttpLargeEvents:
    """Events that take long to convert, since there are calls of more than 128 KiB among them."""

    def read(self) -> tuple[Event | Update, ...]:
        """Return the events, or an empty tuple if called again. Call this in a thread."""

@final
class HttpReply:
    """A request that has been sent, with its reply. Dropping it aborts the request.

    It cannot be used in a fork of its process.
    """

    @property
    def key(self) -> int:
        """The key under which the wakeup socket reports the reply."""
    @property
    def failure(self) -> tuple[str, int | None, float | None, bool, str | None] | None:
        """The failure of the reply, if it failed, once all events have been taken.

        A tuple of the message, the HTTP status, the seconds to wait, True if a retry may help, and
        the parameter that the server rejects.
        """
    @property
    def unknown_reason(self) -> str | None:
        """The finish reason of the server, if it is unknown and all events have been taken."""
    def take(self, limit: int) -> tuple[Event | Update, ...] | HttpLargeEvents | None:
        """Return the events that have arrived, at most `limit`; None after the last one.

        If none has arrived yet, the wakeup socket is signalled for the next one.

        Raises:
            RuntimeError: The reply belongs to the parent of this forked process.
        """
    def ready(self, event_loop: object) -> Awaitable[None]:
        """Return an awaitable that completes when events can be taken.

        For replies without a wakeup socket.

        Args:
            event_loop: The loop that creates the future and is called when it completes.
        """
    def close(self) -> None:
        """Close the connection at once, unless all of the reply has been read."""
