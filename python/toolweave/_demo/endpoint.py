"""Clients of live models at OpenAI-compatible endpoints, without dependencies if need be."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from contextlib import suppress
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any, cast

from .._core import __version__
from ..exceptions import ModelError
from ..executor._pools import run_blocking
from ..models import closing
from ..models._clients import checked_key, redacted
from ..models._completions import ChunkReader, build_request
from ..models._streaming import field, read_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..models.openai import OpenAIModel
    from ..protocols import ModelOptions

TIMEOUT = 120.0
"""Seconds to wait for the next bytes."""

MAX_LINE_BYTES = 1 << 20
MAX_ERROR_BYTES = 4096


def model_at(url: str, name: str, key: str | None) -> OpenAIModel | Endpoint:
    """Return a model at an endpoint: with OpenAI's client if it is installed, else `Endpoint`.

    Args:
        url: The base URL, such as `http://127.0.0.1:8080/v1`, or the URL of its chat completions.
        name: Name of the model at the endpoint.
        key: The API key, which is never shown.

    Raises:
        ValueError: The URL or the key is invalid.
    """
    base = _base(url)
    if find_spec("openai") is None:
        return Endpoint(base, name, key)
    from ..models.openai import OpenAIModel

    return OpenAIModel(
        name, base_url=base, api_key=key, timeout=TIMEOUT, max_retries=0, native_tools=False
    )


class Endpoint:
    """A model behind an endpoint; see `model_at`.

    Args:
        base_url: The base URL.
        model: The name of the model there.
        api_key: Bearer token, which is never shown.

    Raises:
        ValueError: The key is invalid.
    """

    provider = "endpoint"
    native_tools = False

    def __init__(self, base_url: str, model: str, api_key: str | None = None) -> None:
        self.name = model
        """The name of the model there."""
        self._base = base_url
        self._url = f"{base_url}/chat/completions"
        self._key = checked_key(api_key)

    def __repr__(self) -> str:
        return f"Endpoint({self._url!r}, {self.name!r})"

    async def aclose(self) -> None:
        """Return at once: no connection stays open between requests."""

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Stream the reply.

        Raises:
            ModelError: The connection failed, or the server sent an error or an invalid reply.
        """
        asked = {"model": self.name, **build_request(messages, tools, options)}
        del asked["stream_options"]  # not every server takes it
        chunks = self._chunks(json.dumps(asked).encode())
        reply = read_reply(_in_threads(chunks), ChunkReader(self.name), self.name)
        async with closing(reply) as updates:
            async for update in updates:
                yield update

    def first_model(self) -> str:
        """Return the name of the endpoint's first model; blocks.

        Raises:
            ModelError: The endpoint lists no model.
        """
        get = urllib.request.Request(  # noqa: S310 - the scheme was checked
            f"{self._base}/models", headers=self._headers("application/json")
        )
        try:
            with self._open(get) as response:
                listed = field(self._read(response.read()), "data")
        except (OSError, http.client.HTTPException) as err:
            raise self._failed(f"the connection broke: {str(err) or type(err).__name__}") from None
        models = cast("list[object]", listed) if isinstance(listed, list) else []
        name = field(models[0], "id") if models else None
        if not isinstance(name, str):
            raise self._failed("names no model")
        return name

    def _chunks(self, asked: bytes) -> Iterator[object]:
        """Post the request and yield the chunks of the response; blocks."""
        try:
            post = urllib.request.Request(  # noqa: S310 - the scheme was checked
                self._url, asked, self._headers("text/event-stream"), method="POST"
            )
            with self._open(post) as response:
                if response.headers.get_content_type() == "application/json":
                    yield _to_chunk(self._read(response.read()))
                    return
                for data in server_sent_data(_lines(response)):
                    if data.strip() == "[DONE]":
                        return
                    yield self._read(data)
        except (OSError, http.client.HTTPException) as err:
            raise self._failed(f"the connection broke: {str(err) or type(err).__name__}") from None

    def _headers(self, accepted: str) -> dict[str, str]:
        headers = {
            "Accept": accepted,
            "Content-Type": "application/json",
            "User-Agent": f"toolweave/{__version__}",
        }
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def _open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        # Not the default opener: on a redirect it would send the key to another server.
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            return cast("http.client.HTTPResponse", opener.open(request, timeout=TIMEOUT))
        except urllib.error.HTTPError as err:
            with err:
                reason = _error_text(err)
            raise self._failed(f"answered with status {err.code}: {reason}", err.code) from None
        except (OSError, http.client.HTTPException) as err:
            # The exception that `urlopen` wraps is more specific.
            cause = err.reason if isinstance(err, urllib.error.URLError) else err
            raise self._failed(f"cannot be reached: {cause}") from None

    def _read(self, data: str | bytes) -> object:
        try:
            chunk: object = json.loads(data)
        except (ValueError, RecursionError):
            shown = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
            raise self._failed(f"sent something else than JSON: {shown[:200]!r}") from None
        error = field(chunk, "error")
        if error is not None:
            raise self._failed(f"reported: {field(error, 'message') or json.dumps(error)}")
        return chunk

    def _failed(self, why: str, status: int | None = None) -> ModelError:
        text = redacted(f"the endpoint {why}", [self._key])
        return ModelError(text, self.provider, status)


def _base(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not a URL of an endpoint, such as http://127.0.0.1:8080/v1")
    return url.rstrip("/").removesuffix("/chat/completions")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: object, **_kwargs: object) -> None:
        """Return None, so that a redirect is raised as an HTTP error."""


def server_sent_data(lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the data of each server-sent event.

    Comments (which keep the connection alive) and all fields but `data` are skipped.
    An event that the end of the stream truncates is dropped, unless only its final blank
    line is missing, which some servers omit.

    Args:
        lines: Lines of the stream, with or without line terminators.
    """
    data: list[str] = []
    first = True
    for raw in lines:
        line = raw.decode("utf-8", errors="replace").rstrip("\r\n")
        if first:
            line = line.removeprefix("\N{BYTE ORDER MARK}")
            first = False
        if not line:
            if data:
                yield "\n".join(data)
            data = []
            continue
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
    if data:
        yield "\n".join(data)


async def _in_threads(chunks: Iterator[object]) -> AsyncIterator[object]:
    """Iterate in a thread, without blocking the event loop."""
    while (chunk := await run_blocking(None, lambda: next(chunks, None))) is not None:
        yield chunk


def _lines(response: IO[bytes]) -> Iterator[bytes]:
    while line := response.readline(MAX_LINE_BYTES):
        if len(line) == MAX_LINE_BYTES:
            raise OSError(f"a line of more than {MAX_LINE_BYTES} bytes")
        yield line


def _to_chunk(whole: object) -> object:
    """Convert a non-streamed reply to a chunk."""
    choices = field(whole, "choices")
    if not isinstance(choices, list) or not choices:
        return whole
    choice = cast("list[object]", choices)[0]
    delta = {"delta": field(choice, "message"), "finish_reason": field(choice, "finish_reason")}
    return {"choices": [delta], "usage": field(whole, "usage")}


def _error_text(err: urllib.error.HTTPError) -> str:
    location = err.headers.get("Location")
    if 300 <= err.code < 400 and location:
        return f"redirected to {location}; name that URL if you trust it"
    text = ""
    with suppress(OSError, http.client.HTTPException):
        text = err.read(MAX_ERROR_BYTES).decode("utf-8", "replace")
    error: Any = None
    with suppress(ValueError, RecursionError):
        error = field(json.loads(text), "error")
    message = str(field(error, "message") or error or text or err.reason)
    return " ".join(message.split())[:300] or str(err.reason)


async def first_model(url: str, key: str | None) -> str:
    """Return the name of an endpoint's first model.

    Args:
        url: The base URL, or the URL of its chat completions.
        key: The API key, which is never shown.

    Raises:
        ModelError: The endpoint lists no model.
        ValueError: The URL or the key is invalid.
    """
    endpoint = Endpoint(_base(url), "", key)
    return await run_blocking(None, endpoint.first_model)
