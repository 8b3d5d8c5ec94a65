"""What an endpoint is asked, and what its failures are in our words."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from ..._core import HttpClient
from ...exceptions import ModelError
from ...kinds import FinishReason
from ..clients import checked_key
from ..completions import request
from ..streaming import logger
from ..unsupported import log_unsupported, unsupported_parameter, without
from .checks import check_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ... import FunctionContract, Message
    from ...protocols import ModelOptions

Failure: TypeAlias = "tuple[str, int | None, float | None, bool, str | None]"
"""A sentence, the HTTP status, the seconds to wait, whether asking again may help, and the
parameter that the server does not like."""

# Made once: `json.dumps` would make one each time.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@dataclass
class Endpoint:
    """One model at one address."""

    client: HttpClient
    """The connections."""
    url: str
    """Where requests go; see `chat_url`."""
    fixed_headers: Mapping[str, str]
    """The headers of each request, in lower case, without the key."""
    api_key: str | Callable[[], str] | None
    """The key, or what gives one for each request."""
    key_header: str
    """Where the key goes: ``authorization``, or ``api-key`` for Azure."""
    model: str
    """What bodies call the model."""
    name: str
    """What the log calls it."""
    provider: str
    """Whose it is."""
    extra: Mapping[str, Any]
    """More fields of the body."""
    streaming: bool
    """Whether replies come in pieces."""
    strict: bool
    """Whether the provider is to enforce schemas."""
    send_reasoning: bool
    """Whether earlier reasoning is sent back."""
    refused: frozenset[str] = field(default_factory=frozenset[str])
    """Parameters that the server is known not to take."""

    def key(self) -> str | None:
        """The key for the next request.

        Raises:
            TypeError: It is no text.
            ValueError: It cannot be one.
        """
        key = self.api_key() if callable(self.api_key) else self.api_key
        if key is not None:
            check_options(api_key=key)
        return checked_key(key)

    def headers(self, key: str | None) -> Mapping[str, str]:
        """The headers of a request with this key."""
        if key is None:
            return self.fixed_headers
        said = f"Bearer {key}" if self.key_header == "authorization" else key
        return {self.key_header: said, **self.fixed_headers}

    def asked(
        self,
        messages: Sequence[Message],
        tools: Sequence[FunctionContract],
        options: ModelOptions | None,
    ) -> dict[str, Any]:
        """What a request says, as far as every server takes it.

        Raises:
            MessageError: A message cannot be said to such a model.
            ValueError: The options name a tool that is not there.
        """
        asked: dict[str, Any] = {"model": self.model, **self.extra}
        asked |= request(
            messages, tools, options, strict=self.strict, reasoning=self.send_reasoning
        )
        if not self.streaming:
            asked["stream"] = False
            del asked["stream_options"]
        return asked

    def body(self, asked: Mapping[str, Any], refused: frozenset[str] = frozenset()) -> bytes:
        """The body of a request, without what the server is known to refuse.

        Raises:
            TypeError: Something in it is no JSON.
            ValueError: Something in it is no JSON.
        """
        return encoded(without(asked, self.refused | refused))

    def refusal(
        self, failure: Failure, asked: Mapping[str, Any], refused: frozenset[str]
    ) -> str | None:
        """The parameter to leave out and ask again, if that is what a failure is about."""
        said, status, _, _, parameter = failure
        return unsupported_parameter(status, f"{parameter} {said}", asked, self.refused | refused)

    def remember(self, refused: frozenset[str]) -> None:
        """These have been left out, and then the server answered."""
        if refused - self.refused:
            log_unsupported(self.name, refused)
            self.refused |= refused

    def check(self, reason: FinishReason) -> None:
        """Says it where a reply has ended without a reason."""
        if reason is FinishReason.MISSING:
            logger.warning(
                "reply of %s ended without a finish reason; it is taken as cut off",
                self.name,
                extra={"model": self.name, "finish_reason": None},
            )

    def error(self, failure: Failure) -> ModelError:
        """A failure as the exception that it is raised as; the core has left the key out of it."""
        said, status, retry_after, transient, _ = failure
        return ModelError(said, self.provider, status, retry_after, transient)


def encoded(body: Mapping[str, Any]) -> bytes:
    """A body as JSON.

    Raises:
        TypeError: Something in it is no JSON.
        ValueError: Something in it is no JSON.
    """
    return _ENCODER.encode(body).encode()


def chat_url(base_url: str, model: str, api_version: str | None) -> str:
    """The URL of chat completions.

    Args:
        base_url: Where the API is; for Azure, the resource.
        model: The name of the model; for Azure, of the deployment.
        api_version: The version of Azure's API; None for any other.

    Raises:
        ValueError: It is no URL of a server. The text does not repeat it: keys are found in URLs,
            and in their place.
    """
    try:
        parts = urlsplit(base_url)
        plain = base_url.isprintable() and " " not in base_url
        if not plain or parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError
        HttpClient.check(base_url, {})
    except ValueError:
        raise ValueError(
            "base_url must be the address of an API, such as 'https://api.openai.com/v1' or "
            "'http://127.0.0.1:8080/v1', and this is none"
        ) from None
    path, query = parts.path.rstrip("/"), parts.query
    if api_version is not None:
        path += f"/openai/deployments/{quote(model, safe='')}"
        version = urlencode({"api-version": api_version})
        query = f"{query}&{version}" if query else version
    return urlunsplit((parts.scheme, parts.netloc, f"{path}/chat/completions", query, ""))
