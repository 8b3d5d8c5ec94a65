"""Connections, keys and errors: the common part of the adapters of provider clients."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from .._aio.loops import running_loop
from .._checks import (
    check_count,
    check_flag,
    check_mapping,
    check_number,
    check_text,
    wrong_type,
)
from .._core import _without_keys
from ..exceptions import ModelError
from ._servers import server_label
from ._transient import is_transient_error, retry_after

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from .._core import FunctionContract
    from ..protocols import ModelOptions

MAX_DETAIL = 500
"""Maximum length of a server's error text, in characters."""

_MAX_REDACTED = 1 << 14
"""Characters of an error text that are searched for keys; the rest is dropped."""


class Closable(Protocol):
    """A client of a provider."""

    def close(self) -> Awaitable[None]:
        """Close the connections of the client."""
        ...


C = TypeVar("C", bound=Closable)


class Clients(Generic[C]):
    """One client for each event loop, because connections belong to the loop that opened them.

    This allows one model object to be used in several calls of `asyncio.run`.

    Args:
        make: Function that creates a client.
        given: Client to use on every loop instead. It is not closed; the caller owns it.
    """

    def __init__(self, make: Callable[[], C], given: C | None) -> None:
        self._make = make
        self._given = given
        # Created at once, to fail early if a setting is missing; used by the first loop.
        self._first = make() if given is None else None
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, C] = (
            weakref.WeakKeyDictionary()
        )

    def get(self) -> C:
        """Return the client of the running loop."""
        if self._given is not None:
            return self._given
        loop = running_loop()
        client = self._by_loop.get(loop)
        if client is None:
            client, self._first = self._first or self._make(), None
            self._by_loop[loop] = client
        return client

    async def aclose(self) -> None:
        """Close the client that was created for the running loop, if there is one."""
        client = self._by_loop.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()


class ClientModel(Generic[C]):
    """A model that uses a provider's client. As a context manager it closes its connections."""

    provider: str
    """Provider of the model."""
    _model: str
    _clients: Clients[C]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._model!r}, provider={self.provider!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of the running loop; a client that was passed in stays open."""
        await self._clients.aclose()


class Response(Protocol):
    """HTTP response of a stream."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the response, by case-insensitive name."""
        ...

    @property
    def url(self) -> object:
        """URL of the request."""
        ...


class Stream(Protocol):
    """Stream of a provider's client: the chunks of a reply, and their HTTP response."""

    @property
    def response(self) -> Response:
        """HTTP response of the stream."""
        ...

    def __anext__(self) -> Awaitable[object]:
        """Return the next chunk or event."""
        ...

    def close(self) -> Awaitable[None]:
        """Close the connection."""
        ...


async def items(
    open_stream: Callable[[], Awaitable[Stream]], provider: str
) -> AsyncIterator[object]:
    """Yield the items of a client's stream, and close its connection in any case.

    Args:
        open_stream: Function that sends the request.
        provider: Provider of the model.

    Raises:
        ModelError: The response is not a stream.
    """
    stream = await open_stream()
    try:
        empty = True
        while True:
            try:
                item = await stream.__anext__()
            except StopAsyncIteration:
                break
            empty = False
            yield item
        kind = stream.response.headers.get("content-type", "")
        if empty and not kind.startswith("text/event-stream"):
            server = server_label(str(stream.response.url))
            raise ModelError(
                f"{server} answered with {kind or 'no content type'}, which is not a stream; "
                "is the base URL the right one?",
                provider,
            )
    finally:
        await stream.close()


def checked_key(key: str | None) -> str | None:
    """Check an API key, and return it.

    Raises:
        TypeError: The key is not a string.
        ValueError: The key is invalid. Unlike that of the HTTP client, the message does not
            repeat it.
    """
    if key is not None and not isinstance(cast("object", key), str):
        raise wrong_type("api_key", "a string or None", key)
    if key is not None and not (key.isascii() and key.isprintable() and key and " " not in key):
        raise ValueError("the API key must be printable ASCII without spaces, and not empty")
    return key


def checked_tool_choice(options: ModelOptions, tools: Sequence[FunctionContract]) -> str | None:
    """Check the tool choice of a request, and return it; None if there are no tools.

    Raises:
        ValueError: The choice names an unknown tool.
    """
    choice = options.tool_choice
    if choice is None or choice in ("auto", "none"):
        return choice if tools else None
    names = [contract.name for contract in tools]
    if not tools or (choice != "required" and choice not in names):
        wanted = (
            f"'auto', 'none', 'required' or a tool ({', '.join(names)})"
            if tools
            else "'auto' or 'none' without tools"
        )
        raise ValueError(f"tool_choice must be {wanted}, got {choice!r}")
    return choice


def checked_extra(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check extra arguments that are passed to the client unchanged, and return them.

    Raises:
        ValueError: An argument is set by the adapter itself.
    """
    for name in ("messages", "model", "stream", "tools"):
        if name in extra:
            raise ValueError(f"`extra` must not set {name!r}; the adapter sets that itself")
    return extra


def failure(
    error: Exception,
    provider: str,
    secrets: Iterable[object],
    *,
    statuses: Mapping[str, int] | None = None,
    no_response: bool = False,
    server: str | None = None,
) -> ModelError:
    """Return a client's exception as a `ModelError` without keys; a `ModelError` is kept.

    Args:
        error: The exception.
        provider: Provider of the model.
        secrets: Keys to redact.
        statuses: HTTP statuses by error type, for errors within a stream.
        no_response: True if the server sent no response, whatever status the exception has.
        server: Label of the server, for exceptions that do not know their request.
    """
    secrets = tuple(secrets)
    if isinstance(error, ModelError):
        message = redacted(str(error), secrets)
        if message == str(error):
            return error
        return ModelError(message, error.provider, error.status, error.retry_after, error.transient)
    body = _body(error)
    status: object = getattr(error, "status_code", None)
    if no_response:
        status = None
    elif not isinstance(status, int) or status < 400:  # the status of a started stream
        status = _status_in(body, statuses or {})
    detail = redacted(_detail(error, body), secrets)
    detail = " ".join(detail.split())
    if len(detail) > MAX_DETAIL:
        detail = detail[:MAX_DETAIL] + "..."
    known = status if isinstance(status, int) else None
    server = redacted(server or _requested_server(error) or provider, secrets)
    if known is not None:
        message = f"{server} answered with status {known}: {detail}"
    elif isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        message = f"{server} sent a chunk that cannot be read: {detail}"
    else:
        message = f"{server}: {detail}"
    transient = no_response or is_transient_error(error, known, body)
    return ModelError(message, provider, known, retry_after(error), transient)


def _requested_server(error: Exception) -> str | None:
    """Return the label of the server of a request, if the client's exception knows it."""
    # HTTP clients raise on access to a missing `request`.
    request = getattr(error, "request", None) if hasattr(error, "__dict__") else None
    url = getattr(request, "url", None)
    return None if url is None else server_label(str(url))


def redacted(text: str, secrets: Iterable[object]) -> str:
    """Return a text without keys, and without any eight consecutive characters of one.

    Matching ignores case, and covers keys escaped as in JSON strings, URLs and HTML.
    """
    keys = [secret for secret in secrets if isinstance(secret, str) and secret.strip()]
    return _without_keys(text[:_MAX_REDACTED], keys) if keys else text


def _body(error: Exception) -> object:
    """Return the error object of a response body."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = cast("Mapping[str, Any]", body).get("error")
        return inner or cast("object", body)
    return body


def _status_in(body: object, statuses: Mapping[str, int]) -> int | None:
    if not isinstance(body, Mapping):
        return None
    fields = cast("Mapping[str, Any]", body)
    code: object = fields.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return code
    return statuses.get(str(fields.get("type")))


def _detail(error: Exception, body: object) -> str:
    if isinstance(body, Mapping):
        message = cast("Mapping[str, Any]", body).get("message")
        if isinstance(message, str) and message:
            return message
    text = str(getattr(error, "message", None) or error) or type(error).__name__
    # "Connection error." alone does not help; the cause does.
    cause = error.__cause__
    if cause is None or str(cause) in text:
        return text
    return f"{text} ({type(cause).__name__}: {cause})"


def check_options(
    *,
    model: object,
    base_url: object,
    timeout: object,
    max_retries: object,
    name: object,
    provider: object,
    native_tools: object,
    strict: object,
    extra: object,
) -> None:
    """Check the common options of adapters.

    Raises:
        TypeError: An option has the wrong type.
        ValueError: An option has an invalid value.
    """
    check_text("model", model, empty=False)
    for option, text in {"base_url": base_url, "name": name, "provider": provider}.items():
        check_text(option, text, none=True)
    check_number("timeout", timeout, above=0, none=True)
    check_count("max_retries", max_retries, none=True)
    check_flag("native_tools", native_tools)
    check_flag("strict", strict)
    check_mapping("extra", extra, none=True)
