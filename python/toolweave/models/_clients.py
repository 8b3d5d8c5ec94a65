"""Models that send requests through a provider's client: the common part of the adapters."""

from __future__ import annotations

import asyncio
import weakref
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypedDict, TypeVar, cast

from .._aio.loops import running_loop
from .._checks import (
    check_count,
    check_flag,
    check_mapping,
    check_number,
    check_text,
    wrong_type,
)
from ..exceptions import ModelError
from ._errors import server_label
from ._requests import check_tools, checked_extra, serialize_request
from ._streaming import ClosedAtExit, closing

if TYPE_CHECKING:
    import httpx

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..protocols import ModelOptions


class Closable(Protocol):
    """A client of a provider."""

    def close(self) -> Awaitable[None]:
        """Close the connections of the client."""
        ...


C = TypeVar("C", bound=Closable)


class ClientOptions(TypedDict, total=False):
    """Options of all adapters of provider clients."""

    timeout: float | None
    """Maximum seconds between two reads."""
    max_retries: int | None
    """Maximum number of retries before the reply begins."""
    name: str | None
    """Name of the model in traces; defaults to that of the model."""
    native_tools: bool
    """True if the model makes native calls."""
    strict: bool
    """If true, the provider enforces the schemas of tools and replies."""
    extra: Mapping[str, Any] | None
    """Further arguments of every request."""


class ProviderModel(ABC):
    """A model that a client library sends requests to. See the adapters for the options."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None,
        provider: str | None,
        timeout: float | None = None,
        max_retries: int | None = None,
        name: str | None = None,
        native_tools: bool = True,
        strict: bool = False,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        check_text("model", model, empty=False)
        for option, text in {"base_url": base_url, "name": name, "provider": provider}.items():
            check_text(option, text, none=True)
        check_number("timeout", timeout, above=0, none=True)
        check_count("max_retries", max_retries, none=True)
        check_flag("native_tools", native_tools)
        check_flag("strict", strict)
        check_mapping("extra", extra, none=True)
        self._model = model
        self._strict = strict
        self._extra = dict(checked_extra(extra or {}))
        self._limits: dict[str, float | None] = {"timeout": timeout, "max_retries": max_retries}
        self.name: str = model if name is None else name
        """Name of the model in traces."""
        self.provider: str = provider or ""
        """Provider of the model."""
        self.native_tools = native_tools
        """True if the model makes native calls."""
        self.structured_output = True
        """True unless the server has rejected the schema of a reply; others are sent with one."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._model!r}, provider={self.provider!r})"

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Stream the reply.

        Raises:
            MessageError: A message cannot be expressed in this API.
            ModelError: The request failed, or the reply was interrupted. `status` is None if the
                connection failed; the client's exception is the cause.
            ValueError: Tools were given to a model without native calls, or the options name an
                unknown tool.
        """
        check_tools(self, tools, native=self.native_tools)
        request = await serialize_request(
            lambda: self._request(messages, tools, options), messages, tools
        )
        async with closing(self._reply(request)) as updates:
            async for update in updates:
                yield update

    @abstractmethod
    def _request(
        self,
        messages: Sequence[Message],
        tools: Sequence[FunctionContract],
        options: ModelOptions | None,
    ) -> dict[str, Any]:
        """Return the arguments of the client's method."""

    @abstractmethod
    def _reply(self, request: dict[str, Any]) -> AsyncIterator[Update]:
        """Send a request, and yield the updates of its reply."""


class ClientModel(ProviderModel, ClosedAtExit, Generic[C]):
    """A model with one client for each event loop.

    Connections belong to the loop that opened them. This allows one model object to be used in
    several calls of `asyncio.run`.
    """

    def _use_client(self, make: Callable[[], C], given: C | None) -> None:
        """Set the clients.

        Args:
            make: Function that creates a client.
            given: Client to use on every loop instead. It is not closed; the caller owns it.
        """
        self._make = make
        self._given = given
        # Created at once, to fail early if a setting is missing; used by the first loop.
        self._first = make() if given is None else None
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, C] = (
            weakref.WeakKeyDictionary()
        )

    def _client(self) -> C:
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
        """Close the connections of the running loop; a client that was passed in stays open."""
        client = self._by_loop.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()


class Stream(Protocol):
    """Stream of a provider's client: the chunks of a reply, and their HTTP response."""

    @property
    def response(self) -> httpx.Response:
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


def client_settings(client: object, **settings: object) -> dict[str, Any]:
    """Return the settings of a client that are given.

    Raises:
        ValueError: Both a client and settings are given.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    if client is not None and given:
        raise ValueError(f"client must not be combined with {', '.join(given)}")
    return given


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
