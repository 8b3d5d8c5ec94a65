"""What all clients of providers have in common: their connections, their keys, their failures."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from .._checks import (
    check_count,
    check_flag,
    check_mapping,
    check_number,
    check_text,
    wrong_type,
)
from .._core import _without_keys
from .._loops import running_loop
from ..exceptions import ModelError
from .servers import server_label
from .transient import is_transient_error, retry_after

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from .. import FunctionContract
    from ..protocols import ModelOptions

MAX_DETAIL = 500
"""Characters of what a server says about an error."""

_MAX_SAID = 1 << 14
"""Characters of it that are looked through for keys; no more of it is told."""


class Closable(Protocol):
    """A client of a provider."""

    def close(self) -> Awaitable[None]:
        """Closes its connections."""
        ...


C = TypeVar("C", bound=Closable)


class Clients(Generic[C]):
    """One client for each event loop, because connections belong to the loop that made them.

    A model object can so be used in one `asyncio.run` after another.

    Args:
        make: Makes a client.
        given: A client to use everywhere instead; it stays with whoever made it.
    """

    def __init__(self, make: Callable[[], C], given: C | None) -> None:
        self._make = make
        self._given = given
        # Made at once, to hear early of what is missing; for the first loop that asks.
        self._first = make() if given is None else None
        self._made: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, C] = (
            weakref.WeakKeyDictionary()
        )

    def get(self) -> C:
        """The client for the running loop."""
        if self._given is not None:
            return self._given
        loop = running_loop()
        client = self._made.get(loop)
        if client is None:
            client, self._first = self._first or self._make(), None
            self._made[loop] = client
        return client

    async def aclose(self) -> None:
        """Closes the client that was made for the running loop, if there is one."""
        client = self._made.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()


class ClientModel(Generic[C]):
    """A model behind a client. As a context manager it closes its connections in the end."""

    provider: str
    """Whose model it is."""
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
        """Closes the connections of the running loop; a client that was given stays open."""
        await self._clients.aclose()


class Response(Protocol):
    """The HTTP response behind a stream."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers, by name in any case."""
        ...

    @property
    def url(self) -> object:
        """Where it comes from."""
        ...


class Stream(Protocol):
    """What a client of a provider gives for a reply: items, and the response they come from."""

    @property
    def response(self) -> Response:
        """The response."""
        ...

    def __anext__(self) -> Awaitable[object]:
        """The next chunk or event."""
        ...

    def close(self) -> Awaitable[None]:
        """Lets go of the connection."""
        ...


async def items(ask: Callable[[], Awaitable[Stream]], provider: str) -> AsyncIterator[object]:
    """What the stream of a client gives; its connection is let go in every case.

    Args:
        ask: Sends the request.
        provider: Whose client it is.

    Raises:
        ModelError: The answer is no stream at all.
    """
    stream = await ask()
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
            peer = server_label(str(stream.response.url))
            raise ModelError(
                f"{peer} answered with {kind or 'something'}, which is no stream; "
                "is the base URL the right one?",
                provider,
            )
    finally:
        await stream.close()


def checked_key(key: str | None) -> str | None:
    """A key as it is.

    Raises:
        TypeError: It is no string.
        ValueError: No key looks like that; the text does not repeat it, as the HTTP client would.
    """
    if key is not None and not isinstance(cast("object", key), str):
        raise wrong_type("api_key", "a string or None", key)
    if key is not None and not (key.isascii() and key.isprintable() and key and " " not in key):
        raise ValueError("the API key is empty, or holds characters that no key can have")
    return key


def checked_tool_choice(options: ModelOptions, tools: Sequence[FunctionContract]) -> str | None:
    """The choice, where there is something to choose from.

    Raises:
        ValueError: It names a tool that is not there.
    """
    choice = options.tool_choice
    if choice is None or choice in ("auto", "none"):
        return choice if tools else None
    names = [contract.name for contract in tools]
    if not tools or (choice != "required" and choice not in names):
        have = f"the tools are {', '.join(names)}" if tools else "there are no tools"
        raise ValueError(f"tool_choice is {choice!r}, but {have}")
    return choice


def checked_extra(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """What goes to the client as it is.

    Raises:
        ValueError: It would replace what the adapter decides.
    """
    for name in ("messages", "model", "stream", "tools"):
        if name in extra:
            raise ValueError(f"`extra` must not set {name!r}; it is given to the model directly")
    return extra


def failure(
    error: Exception,
    provider: str,
    secrets: Iterable[object],
    *,
    statuses: Mapping[str, int] | None = None,
    silent: bool = False,
    peer: str | None = None,
) -> ModelError:
    """What a client's exception comes to, without the keys; one of ours stays as it is.

    Args:
        error: The exception.
        provider: Whose client it is.
        secrets: The keys.
        statuses: HTTP statuses by the type of an error, for errors that come within a stream.
        silent: Whether the server said nothing, whatever the exception claims.
        peer: Who was asked, where the exception does not know.
    """
    secrets = tuple(secrets)
    if isinstance(error, ModelError):
        said = redacted(str(error), secrets)
        if said == str(error):
            return error
        return ModelError(said, error.provider, error.status, error.retry_after, error.transient)
    body = _body(error)
    status: object = getattr(error, "status_code", None)
    if silent:
        status = None
    elif not isinstance(status, int) or status < 400:  # of the response that had begun
        status = _status_in(body, statuses or {})
    detail = redacted(_detail(error, body), secrets)
    detail = " ".join(detail.split())
    if len(detail) > MAX_DETAIL:
        detail = detail[:MAX_DETAIL] + "..."
    known = status if isinstance(status, int) else None
    peer = redacted(peer or _asked(error) or provider, secrets)
    if known is not None:
        said = f"{peer} answered with status {known}: {detail}"
    elif isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        said = f"{peer} sent a chunk that cannot be read: {detail}"
    else:
        said = f"{peer}: {detail}"
    transient = silent or is_transient_error(error, known, body)
    return ModelError(said, provider, known, retry_after(error), transient)


def _asked(error: Exception) -> str | None:
    """Who was asked, if the exception of a client knows."""
    # Without a request, clients of HTTP raise where they are asked for it.
    request = getattr(error, "request", None) if hasattr(error, "__dict__") else None
    url = getattr(request, "url", None)
    return None if url is None else server_label(str(url))


def redacted(text: str, secrets: Iterable[object]) -> str:
    """A text without the keys that may be in it, nor any eight characters of one in a row.

    They are found in any case, and as strings, URLs and HTML escape them.
    """
    keys = [secret for secret in secrets if isinstance(secret, str) and secret.strip()]
    return _without_keys(text[:_MAX_SAID], keys) if keys else text


def _body(error: Exception) -> object:
    """What the server said, without the wrapping."""
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
    said = str(getattr(error, "message", None) or error) or type(error).__name__
    # "Connection error." alone helps nobody.
    cause = error.__cause__
    if cause is None or str(cause) in said:
        return said
    return f"{said} ({type(cause).__name__}: {cause})"


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
    """Refuse what no client could use, in words that name the parameter.

    Raises:
        TypeError: An option is of the wrong type.
        ValueError: An option has a value that it cannot have.
    """
    check_text("model", model, empty=False)
    for option, text in {"base_url": base_url, "name": name, "provider": provider}.items():
        check_text(option, text, none=True)
    check_number("timeout", timeout, above=0, none=True)
    check_count("max_retries", max_retries, none=True)
    check_flag("native_tools", native_tools)
    check_flag("strict", strict)
    check_mapping("extra", extra, none=True)
