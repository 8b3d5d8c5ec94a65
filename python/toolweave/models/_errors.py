"""Exceptions of clients as `ModelError`, without keys."""

from __future__ import annotations

import email.utils
import json
import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from .._core import _without_keys
from ..exceptions import ModelError
from ._streaming import field, text

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_DETAIL = 500
"""Maximum length of a server's error text, in characters."""

_MAX_REDACTED = 1 << 14
"""Characters of an error text that are searched for keys; the rest is dropped."""

_EXHAUSTED = frozenset({"insufficient_quota", "billing_hard_limit_reached", "credit_balance"})
"""Error codes of a status 429 that waiting does not resolve."""

_CONNECTIONS = frozenset({"APIConnectionError", "TransportError", "Timeout"})
"""Class names of connection errors of clients, which are not imported here."""

_LONGEST_CHAIN = 20
_OPENAI = "openai.com"


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
    body: object = getattr(error, "body", None)
    body = field(body, "error") or body
    status: object = getattr(error, "status_code", None)
    if no_response:
        status = None
    elif not isinstance(status, int) or status < 400:  # the status of a started stream
        code = field(body, "code")
        in_stream = isinstance(code, int) and 400 <= code < 600
        status = code if in_stream else (statuses or {}).get(str(field(body, "type")))
    detail = " ".join(redacted(_detail(error, body), secrets).split())
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


def _detail(error: Exception, body: object) -> str:
    if (message := text(field(body, "message"))) is not None:
        return message
    described = str(getattr(error, "message", None) or error) or type(error).__name__
    # "Connection error." alone does not help; the cause does.
    cause = error.__cause__
    if cause is None or str(cause) in described:
        return described
    return f"{described} ({type(cause).__name__}: {cause})"


def redacted(text: str, secrets: Iterable[object]) -> str:
    """Return a text without keys, and without any eight consecutive characters of one.

    Matching ignores case, and covers keys escaped as in JSON strings, URLs and HTML.
    """
    keys = [secret for secret in secrets if isinstance(secret, str) and secret.strip()]
    return _without_keys(text[:_MAX_REDACTED], keys) if keys else text


def is_transient_error(error: BaseException, status: int | None, body: object) -> bool | None:
    """Return True if an error is transient; None if its status decides.

    Args:
        error: Exception of the client.
        status: HTTP status of the response, if there is one.
        body: Error object of the response body.
    """
    if status is not None:
        codes = {str(field(body, name)) for name in ("code", "type")}
        return False if codes & _EXHAUSTED else None
    link: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if link is None:
            break
        # An unreadable chunk is most often a truncated one.
        if isinstance(
            link, (ConnectionError, TimeoutError, json.JSONDecodeError, UnicodeDecodeError)
        ) or any(kind.__name__ in _CONNECTIONS for kind in type(link).__mro__):
            return True
        link = link.__cause__
    return False


def retry_after(error: BaseException) -> float | None:
    """Return the delay that a server asks for, in seconds; None if it asks for none.

    Args:
        error: Exception of the client, whose response has the headers.
    """
    headers: object = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return None
    fields = cast("Mapping[str, str]", headers)
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(fields.get(name, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    date = email.utils.parsedate_tz(fields.get("retry-after", ""))
    if date is None:
        return None
    try:
        return max(email.utils.mktime_tz(date) - time.time(), 0.0)
    except (OverflowError, ValueError):
        return None


def server_label(url: str) -> str:
    """Return the host and path of a URL, with its port unless that is the default.

    Example:
        >>> server_label("http://me:secret@127.0.0.1:8080/v1/chat/completions?key=secret")
        '127.0.0.1:8080/v1/chat/completions'
    """
    return f"{_host(url)}{urlsplit(url).path}"


def provider_for_url(url: str | None) -> str:
    """Return the provider of an OpenAI-compatible API: ``openai``, or the host of another.

    Example:
        >>> provider_for_url(None), provider_for_url("https://api.openai.com/v1")
        ('openai', 'openai')
        >>> provider_for_url("http://127.0.0.1:8080/v1")
        '127.0.0.1:8080'
    """
    if not url:
        return "openai"
    host = _host(url)
    return "openai" if host == _OPENAI or host.endswith(f".{_OPENAI}") else host or "openai"


def _host(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return host if parts.port in (None, default) else f"{host}:{parts.port}"
