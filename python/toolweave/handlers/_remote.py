"""Tools that run at remote endpoints, such as another NLWeb: the parameters are POSTed as JSON.

Example:
    >>> async def post(entry) -> None:
    ...     endpoint = RemoteEndpoint.of(entry, ["api.example.org", "127.0.0.1:8000"])
    ...     print(await endpoint.post({"query": "soup"}, max_bytes=MAX_RESPONSE_BYTES, client=None))
"""

from __future__ import annotations

import functools
import json
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._core import Validator
from .._extras import require
from ..exceptions import HandlerError, ToolServerError, ToolweaveError
from ._loading import check_strings

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Iterable, Mapping

    import httpx

    from .._core import ToolEntry

MAX_RESPONSE_BYTES = 4 * 1024 * 1024
"""Maximum size of an endpoint's response, in bytes."""

_MAX_REDIRECTS = 3
_PORTS = {"http": 80, "https": 443}
_JSON = Validator(True)
# Only the line endings of the specification of server-sent events.
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class RemoteEndpoint:
    """Endpoint of a tool, on an allowed host."""

    tool: str
    """Name of the tool."""
    url: httpx.URL
    """URL of the endpoint."""
    allowed: frozenset[str]
    """Allowed hosts, as ``host`` or ``host:port``."""

    @classmethod
    def of(
        cls, entry: ToolEntry, allowed_hosts: Iterable[str], base_url: str | None = None
    ) -> RemoteEndpoint:
        """Create the endpoint from the path of a tool.

        Args:
            entry: The tool.
            allowed_hosts: Allowed hosts. Without a port, a host stands for the default port of
                the scheme.
            base_url: Base of a relative path, resolved like links of a page at that URL.

        Raises:
            HandlerError: The path is not an allowed URL.
            ImportError: httpx is not installed.
            TypeError: `allowed_hosts` is a single string.
        """
        allowed = frozenset(host.lower() for host in check_strings(allowed_hosts))
        library = require("httpx", "nlweb")
        try:
            url: httpx.URL = library.URL(entry.path)
            if base_url is not None:
                url = library.URL(base_url).join(url)
        except library.InvalidURL as error:
            raise HandlerError(
                f"tool {entry.name!r} cannot run: its path must be a URL, got {entry.path!r}: "
                f"{error}",
                entry.path,
            ) from error
        endpoint = cls(entry.name, url, allowed)
        reason = endpoint._refusal(url)
        if reason is not None:
            raise HandlerError(
                f"tool {entry.name!r} cannot run: its path {entry.path!r} {reason}", entry.path
            )
        return endpoint

    def _refusal(self, url: httpx.URL) -> str | None:
        """Return the reason why a URL is not allowed, or None."""
        if url.scheme not in _PORTS or not url.host:
            return "must be an absolute http or https URL, or relative to a base_url"
        if url.userinfo:
            return "must not contain a user name or password; configure them in the client"
        if self.allowed.isdisjoint(host_forms(url)):
            return (
                f"leads to {host_forms(url)[0]}, which is not allowed; allow it with "
                f"allowed_hosts=[{host_forms(url)[0]!r}]"
            )
        return None

    async def post(
        self,
        parameters: Mapping[str, Any],
        *,
        max_bytes: int,
        client: httpx.AsyncClient | None,
    ) -> Any:
        """Post the parameters and read the response.

        Args:
            parameters: The parameters, sent as a JSON object.
            max_bytes: Maximum size of the response.
            client: The client; None for a new client for this request.

        Returns:
            The parsed JSON; for an event stream, a list of the data of its events, parsed if it
            is JSON; for any other text, a string; for an empty response, None.

        Raises:
            ToolServerError: The server cannot be reached, or its response is an error or invalid.
        """
        library = require("httpx", "nlweb")
        server = host_forms(self.url)[0]
        content = json.dumps(parameters, ensure_ascii=False, allow_nan=False).encode(
            "utf-8", "surrogatepass"
        )
        try:
            async with _client(client) as asked:
                return await self._send(asked, content, max_bytes)
        except (library.HTTPError, library.InvalidURL, library.StreamError) as error:
            reason = str(error) or type(error).__name__
            raise ToolServerError(
                f"tool {self.tool!r}: the request to {server} failed: {reason}", server
            ) from error

    async def _send(self, client: httpx.AsyncClient, content: bytes, max_bytes: int) -> Any:
        url = self.url
        for _ in range(_MAX_REDIRECTS + 1):
            headers = {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream, text/*;q=0.5",
                # Compressed content could exceed any size limit in one chunk.
                "Accept-Encoding": "identity",
            }
            request = client.build_request("POST", url, content=content, headers=headers)
            response = await client.send(request, stream=True, follow_redirects=False)
            try:
                if response.status_code not in (307, 308):
                    return await self._read(response, max_bytes)
                url = self._next(response)
            finally:
                await response.aclose()
        raise self._server_error(url, f"redirects more than {_MAX_REDIRECTS} times")

    def _next(self, response: httpx.Response) -> httpx.URL:
        """Return the target of a redirect, if it may be followed."""
        here = response.request.url
        there = here.join(response.headers.get("Location", ""))
        if there.host != here.host or (here.scheme, there.scheme) == ("https", "http"):
            raise self._server_error(here, f"redirects to {there}; only the same host is followed")
        reason = self._refusal(there)
        if reason is not None:
            raise self._server_error(here, f"redirects to {there}, which {reason}")
        return there

    async def _read(self, response: httpx.Response, max_bytes: int) -> Any:
        url = response.request.url
        status = response.status_code
        if not 200 <= status < 300:
            location = response.headers.get("Location")
            more = f" to {location}; only 307 and 308 redirect a POST" if location else ""
            raise self._server_error(url, f"answered {status} {response.reason_phrase}{more}")
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            raise self._server_error(url, f"must answer without content encoding, got {encoding}")
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > max_bytes:
                raise self._server_error(url, f"answered with more than {max_bytes} bytes")
        return self._value(url, response.headers.get("Content-Type", ""), bytes(body))

    def _value(self, url: httpx.URL, content_type: str, body: bytes) -> Any:
        if not body.strip():
            return None
        kind = content_type.partition(";")[0].strip().lower()
        text = body.decode("utf-8", "replace")
        if kind == "text/event-stream":
            return [_json_or_text(data) for data in event_data(text)]
        if kind.startswith("text/"):
            return text
        try:
            return _JSON.validate_json(body)
        except (ToolweaveError, ValueError) as error:
            described = f"as {kind}" if kind else "without a content type"
            raise self._server_error(
                url, f"answered {described}, but not with JSON: {error}"
            ) from error

    def _server_error(self, url: httpx.URL, what: str) -> ToolServerError:
        server = host_forms(url)[0]
        return ToolServerError(f"tool {self.tool!r}: {server} {what}", server)


def event_data(text: str) -> list[str]:
    r"""Return the data of each event in a stream of server-sent events.

    Example:
        >>> event_data(": hello\n\ndata: 1\ndata: 2\n\nevent: end\ndata:3")
        ['1\n2', '3']
    """
    found: list[str] = []
    data: list[str] = []
    for line in (*_LINE_END.split(text.removeprefix("\ufeff")), ""):
        if not line:
            if data:
                found.append("\n".join(data))
                data = []
            continue
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
    return found


def _json_or_text(data: str) -> Any:
    try:
        return _JSON.validate_json(data)
    except ToolweaveError:
        return data


def host_forms(url: httpx.URL) -> tuple[str, ...]:
    """Return the forms in which the host of a URL can be allowed, shortest first."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    usual = _PORTS.get(url.scheme)
    port = usual if url.port is None else url.port
    return (host, f"{host}:{port}") if port == usual else (f"{host}:{port}",)


@asynccontextmanager
async def _client(client: httpx.AsyncClient | None) -> AsyncGenerator[httpx.AsyncClient]:
    if client is not None:
        yield client
        return
    # No timeout here: the caller limits the time of the whole request.
    async with require("httpx", "nlweb").AsyncClient(timeout=None, verify=_ssl_context()) as made:
        yield made


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Return the SSL context. Cached, since loading it blocks for a tenth of a second."""
    context: ssl.SSLContext = require("httpx", "nlweb").create_ssl_context()
    return context
