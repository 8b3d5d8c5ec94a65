"""Requests to an endpoint, and its failures as exceptions."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from ..._core import HttpClient
from ...exceptions import ModelError
from .._clients import checked_key
from .._requests import build_request, log_unsupported, unsupported_parameter, without_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..._core import FunctionContract
    from ..._messages import Message
    from ...protocols import ModelOptions

Failure: TypeAlias = "tuple[str, int | None, float | None, bool, str | None]"
"""Failure of a request: message, HTTP status, seconds to wait, True if it is transient, and the
parameter that the server rejected."""

# Created once: `json.dumps` would create one for each call.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@dataclass
class HttpEndpoint:
    """One model at one URL."""

    client: HttpClient
    """Connection pool."""
    url: str
    """URL of requests; see `chat_url`."""
    fixed_headers: Mapping[str, str]
    """Headers of each request, with lower-case names, without the key."""
    api_key: str | Callable[[], str] | None
    """API key, or a function that returns it for each request."""
    key_header: str
    """Header of the key: ``authorization``, or ``api-key`` for Azure."""
    model: str
    """Name of the model in requests."""
    name: str
    """Name of the model in the log."""
    provider: str
    """Provider of the model."""
    extra: Mapping[str, Any]
    """Further fields of the body."""
    streaming: bool
    """True if replies are streamed."""
    strict: bool
    """True if the provider enforces schemas."""
    send_reasoning: bool
    """True if earlier reasoning is sent back."""
    unsupported: frozenset[str] = field(default_factory=frozenset[str])
    """Parameters that the server has rejected."""

    def key(self) -> str | None:
        """Return the API key for the next request.

        Raises:
            TypeError: The key is not a string.
            ValueError: The key is invalid.
        """
        key = self.api_key() if callable(self.api_key) else self.api_key
        if key is not None:
            check_options(api_key=key)
        return checked_key(key)

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the headers of a request with this key."""
        if key is None:
            return self.fixed_headers
        value = f"Bearer {key}" if self.key_header == "authorization" else key
        return {self.key_header: value, **self.fixed_headers}

    def request(
        self,
        messages: Sequence[Message],
        tools: Sequence[FunctionContract],
        options: ModelOptions | None,
    ) -> dict[str, Any]:
        """Return all fields of a request, including those that a server may reject.

        Raises:
            MessageError: A message cannot be expressed in this API.
            ValueError: The options name an unknown tool.
        """
        request: dict[str, Any] = {"model": self.model, **self.extra}
        request |= build_request(
            messages, tools, options, strict=self.strict, reasoning=self.send_reasoning
        )
        if not self.streaming:
            request["stream"] = False
            del request["stream_options"]
        return request

    def body(self, request: Mapping[str, Any], omitted: frozenset[str] = frozenset()) -> bytes:
        """Return the body of a request, without unsupported parameters.

        Raises:
            TypeError: A value cannot be encoded as JSON.
            ValueError: A value cannot be encoded as JSON.
        """
        return encode_json(without_parameters(request, self.unsupported | omitted))

    def rejected_parameter(
        self, failure: Failure, request: Mapping[str, Any], omitted: frozenset[str]
    ) -> str | None:
        """Return the parameter that the server rejected, if the request can be repeated without."""
        message, status, _, _, parameter = failure
        return unsupported_parameter(
            status, f"{parameter} {message}", request, self.unsupported | omitted
        )

    def remember_unsupported(self, omitted: frozenset[str]) -> None:
        """Omit parameters from later requests, after a request without them succeeded."""
        if omitted - self.unsupported:
            log_unsupported(self.name, omitted)
            self.unsupported |= omitted

    def error(self, failure: Failure) -> ModelError:
        """Return a failure as an exception; its message has no key, which the core redacts."""
        message, status, retry_after, transient, _ = failure
        return ModelError(message, self.provider, status, retry_after, transient)


def check_options(**options: object) -> None:
    """Check text options and counts (those named ``max_...``).

    The errors do not repeat values, which may be secret.

    Raises:
        TypeError: An option has the wrong type.
        ValueError: A text is empty, or a count is negative.
    """
    for name, value in options.items():
        wanted = int if name.startswith("max_") else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            kind = type(value).__name__
            raise TypeError(f"{name} must be of type {wanted.__name__}, got {kind}")
        if value == "" or (isinstance(value, int) and not 0 <= value < 1 << 32):
            raise ValueError(f"{name} must not be {value!r}")


def encode_json(body: Mapping[str, Any]) -> bytes:
    """Encode the body of a request as JSON.

    Raises:
        TypeError: A value cannot be encoded as JSON.
        ValueError: A value cannot be encoded as JSON.
    """
    return _ENCODER.encode(body).encode()


def chat_url(base_url: str, model: str, api_version: str | None) -> str:
    """Return the URL of chat completions.

    Args:
        base_url: URL of the API; for Azure, of the resource.
        model: Name of the model; for Azure, of the deployment.
        api_version: Version of Azure's API; None for any other API.

    Raises:
        ValueError: `base_url` is not the URL of a server. The message does not repeat it, since it
            may contain a key, or be one.
    """
    try:
        parts = urlsplit(base_url)
        plain = base_url.isprintable() and " " not in base_url
        if not plain or parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError
        HttpClient.check(base_url, {})
    except ValueError:
        raise ValueError(
            "base_url must be the URL of an API, such as 'https://api.openai.com/v1' or "
            "'http://127.0.0.1:8080/v1'"
        ) from None
    path, query = parts.path.rstrip("/"), parts.query
    if api_version is not None:
        path += f"/openai/deployments/{quote(model, safe='')}"
        version = urlencode({"api-version": api_version})
        query = f"{query}&{version}" if query else version
    return urlunsplit((parts.scheme, parts.netloc, f"{path}/chat/completions", query, ""))
