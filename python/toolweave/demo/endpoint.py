"""A chat request to any OpenAI-compatible endpoint, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, cast

from .. import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_LINE_BYTES = 1 << 20
MAX_ERROR_BYTES = 4096


class EndpointError(Exception):
    """The endpoint cannot be used, or did not answer as one; the text says why."""


@dataclass(frozen=True)
class Piece:
    """Some more of the reply."""

    text: str
    reasoning: bool = False
    """Whether the server sent it as thinking, apart from the reply."""


class LiveReply:
    """A reply while it streams. Iterate over it once; the rest is known afterwards."""

    def __init__(self, response: IO[bytes], *, streamed: bool, secret: str | None) -> None:
        self._response = response
        self._streamed = streamed
        self._secret = secret
        self.finish_reason: str | None = None
        """Why the model stopped, if the server said so."""
        self.done = False
        """Whether the server ended the stream in good order."""
        self.remarks: list[str] = []
        """What was odd about the stream."""

    @property
    def truncated(self) -> bool:
        """Whether the reply is to be taken as cut off: then no open call may run."""
        if self.finish_reason is None:
            return not self.done
        return self.finish_reason in ("length", "content_filter")

    def __iter__(self) -> Iterator[Piece]:
        with self._response:
            try:
                yield from self._pieces()
            except (OSError, http.client.HTTPException) as err:
                reason = _redacted(str(err) or type(err).__name__, self._secret)
                self.remarks.append(f"the connection broke: {reason}")
        if self.finish_reason is None:
            self.remarks.append(
                "the server gave no finish_reason; the stream ended in good order, "
                "so the reply is taken as complete"
                if self.done
                else "the stream ended without a finish_reason and without [DONE]; "
                "the reply is taken as cut off"
            )

    def _pieces(self) -> Iterator[Piece]:
        if not self._streamed:
            self.remarks.append("the server sent the reply in one piece")
            yield from self._chunk(_json(self._response.read(), self._secret))
            self.done = True
            return
        for data in server_sent_data(_lines(self._response)):
            if data.strip() == "[DONE]":
                self.done = True
                return
            yield from self._chunk(_json(data, self._secret))

    def _chunk(self, chunk: object) -> Iterator[Piece]:
        error = _get(chunk, "error")
        if error is not None:
            message = _get(error, "message") or json.dumps(error)
            raise EndpointError(f"the endpoint reported: {_redacted(str(message), self._secret)}")
        choices = _get(chunk, "choices")
        # The last chunk may hold nothing but the usage.
        if not isinstance(choices, list) or not choices:
            return
        choice = cast("list[object]", choices)[0]
        delta = _get(choice, "delta") or _get(choice, "message")
        for key in ("reasoning_content", "reasoning"):
            thought = _get(delta, key)
            if isinstance(thought, str) and thought:
                yield Piece(thought, reasoning=True)
                break
        text = _get(delta, "content")
        if isinstance(text, str) and text:
            yield Piece(text)
        if _get(delta, "tool_calls"):
            remark = "the server sent native tool calls, which were not asked for; left out"
            if remark not in self.remarks:
                self.remarks.append(remark)
        reason = _get(choice, "finish_reason")
        if isinstance(reason, str):
            self.finish_reason = reason


@dataclass(frozen=True)
class Endpoint:
    """Where to ask and whom.

    Args:
        url: The base URL, such as `http://127.0.0.1:8080/v1`, or that of the chat
            completions themselves.
        model: The name of the model there.
        api_key: Sent as a bearer token, and never shown.
        timeout: Seconds to wait for the next bytes.

    Raises:
        EndpointError: The URL or the key cannot be used.
    """

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 120.0

    def __post_init__(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise EndpointError(
                f"{self.url!r} is not a URL of an endpoint, such as http://127.0.0.1:8080/v1"
            )
        # The HTTP client would repeat a bad key in its error.
        if self.api_key is not None and (
            not self.api_key.isascii() or not self.api_key.isprintable() or " " in self.api_key
        ):
            raise EndpointError("the API key holds characters that no key can have")

    @property
    def completions(self) -> str:
        """The URL that requests go to."""
        url = self.url.rstrip("/")
        return url if url.endswith("/chat/completions") else f"{url}/chat/completions"

    def ask(self, messages: Sequence[dict[str, str]]) -> LiveReply:
        """Send a conversation; the reply streams while it is iterated over.

        Raises:
            EndpointError: No connection, or the server refused.
        """
        body = {"model": self.model, "messages": list(messages), "stream": True}
        headers = {
            "Accept": "text/event-stream",
            "Content-Type": "application/json",
            "User-Agent": f"toolweave/{__version__}",
        }
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked
            self.completions, json.dumps(body).encode(), headers, method="POST"
        )
        # Not the default opener: on a redirect it would send the key to whoever is named.
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            response = opener.open(request, timeout=self.timeout)
        except urllib.error.HTTPError as err:
            with err:
                reason = _error_text(err)
            raise EndpointError(
                _redacted(f"{self.completions} answered {err.code}: {reason}", self.api_key)
            ) from None
        except (OSError, http.client.HTTPException) as err:
            # What `urlopen` wraps says more than the wrapping.
            cause = err.reason if isinstance(err, urllib.error.URLError) else err
            raise EndpointError(
                _redacted(f"cannot reach {self.completions}: {cause}", self.api_key)
            ) from None
        kind = response.headers.get_content_type()
        return LiveReply(response, streamed=kind != "application/json", secret=self.api_key)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: object, **_kwargs: object) -> None:
        """Follow none; the redirect is then an HTTP error like any other."""


def server_sent_data(lines: Iterable[bytes]) -> Iterator[str]:
    """The data of each server-sent event.

    Comments (which keep the connection alive) and all fields but `data` are skipped.
    An event that the stream's end cuts off does not count, except that a last line
    without its blank line does: some servers leave that out.

    Args:
        lines: Lines as they come, with or without their ends.
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


def _lines(response: IO[bytes]) -> Iterator[bytes]:
    while line := response.readline(MAX_LINE_BYTES):
        if len(line) == MAX_LINE_BYTES:
            raise EndpointError(f"the endpoint sent a line of more than {MAX_LINE_BYTES} bytes")
        yield line


def _json(text: str | bytes, secret: str | None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        shown = _redacted(shown[:200], secret)
        raise EndpointError(f"the endpoint sent something else than JSON: {shown!r}") from None


def _get(value: object, key: str) -> object:
    return cast("dict[str, object]", value).get(key) if isinstance(value, dict) else None


def _error_text(err: urllib.error.HTTPError) -> str:
    location = err.headers.get("Location")
    if 300 <= err.code < 400 and location:
        return f"redirected to {location}; name that URL if you trust it"
    try:
        text = err.read(MAX_ERROR_BYTES).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return str(err.reason)
    try:
        error = _get(json.loads(text), "error")
    except (ValueError, RecursionError):
        return " ".join(text.split())[:300] or str(err.reason)
    message = _get(error, "message") or error or text
    return " ".join(str(message).split())[:300]


def _redacted(text: str, secret: str | None) -> str:
    return text.replace(secret, "[key]") if secret else text
