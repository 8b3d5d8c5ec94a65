"""Attempts at the requests of a client: pauses, retries and errors, without I/O."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import httpx

from ..exceptions import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._exchanges import Exchange

_T = TypeVar("_T")

_MAX_PAUSE = 30.0

_TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which a retry may succeed."""

_TRANSIENT_ERRORS = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
"""Errors of httpx after which a retry may succeed."""


class Backoff:
    """Exponential backoff with jitter and a maximum number of retries.

    Args:
        retries: Maximum number of consecutive retries.
        first: Approximate number of seconds before the first retry.
    """

    def __init__(self, retries: int, first: float) -> None:
        self.first = first
        self.failures = 0
        self._retries = retries

    def next(self, retry_after: float | None = None) -> float | None:
        """Return the seconds until the next attempt; None if there are no attempts left."""
        self.failures += 1
        if self.failures > self._retries:
            return None
        pause = min(self.first * 2.0 ** min(self.failures - 1, 20), _MAX_PAUSE)
        # Jitter, so that clients disconnected at the same time do not reconnect at the same time.
        pause *= 1 - random.random() / 2  # noqa: S311 - not a secret
        return max(pause, min(retry_after or 0.0, _MAX_PAUSE))


class Attempts:
    """Attempts at a request until it is done.

    Iterate over the pauses before the attempts, in seconds. After each pause, send a request and
    report its response or its error.

    Args:
        where: Method and URL of the request, for errors.
        backoff: The pauses between attempts without progress.
        repeatable: True if the request may be repeated after a failure.
    """

    def __init__(self, where: str, backoff: Backoff, *, repeatable: bool = True) -> None:
        self.done = False
        self._pause = 0.0
        self._where = where
        self._backoff = backoff
        self._repeatable = repeatable

    def __iter__(self) -> Iterator[float]:
        while not self.done:
            pause, self._pause = self._pause, 0.0
            yield pause

    def handle_error(self, error: httpx.RequestError) -> None:
        """Handle a connection error.

        Raises:
            ChatRequestError: There are no attempts left.
        """
        final = connection_error(self._where, error)
        self._retry_or_raise(final, isinstance(error, _TRANSIENT_ERRORS), error)

    def _handle_refusal(self, response: httpx.Response) -> None:
        """Handle a response with an error status.

        Raises:
            ChatRequestError: The server refused the request, or there are no attempts left.
        """
        error = _status_error(self._where, response)
        self._retry_or_raise(error, response.status_code in _TRANSIENT_STATUSES)

    def _retry_or_raise(
        self, error: ChatRequestError, transient: bool = True, cause: Exception | None = None
    ) -> None:
        retries = transient and self._repeatable
        pause = self._backoff.next(error.retry_after) if retries else None
        if pause is None:
            raise error from cause
        self._pause = pause


class RequestAttempts(Attempts, Generic[_T]):
    """Attempts at a request with one response.

    Args:
        exchange: The request.
        url: URL of the request.
        backoff: The pauses between attempts.
    """

    def __init__(self, exchange: Exchange[_T], url: str, backoff: Backoff) -> None:
        super().__init__(f"POST {url}", backoff, repeatable=exchange.repeatable)
        self.url = url
        self._read = exchange.read
        self._result: list[_T] = []

    @property
    def result(self) -> _T:
        """Parsed response, once the request is done."""
        return self._result[0]

    def handle_response(self, response: httpx.Response) -> None:
        """Handle a response.

        Raises:
            ChatRequestError: The server refused the request, or its response is invalid.
        """
        status = response.status_code
        if not 200 <= status < 300:
            self._handle_refusal(response)
            return
        try:
            self._result.append(self._read(json.loads(response.content)))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise invalid_response(self._where, status) from error
        self.done = True


def _status_error(where: str, response: httpx.Response) -> ChatRequestError:
    """Return the error for a response with an error status."""
    code, message = _code_and_message(response.content)
    detail = ": ".join(part for part in (code, message) if part)
    after = response.headers.get("retry-after", "")
    return ChatRequestError(
        f"{where} failed with status {response.status_code}{f': {detail}' if detail else ''}",
        response.status_code,
        code or "refused",
        float(after[:9]) if after.isascii() and after.isdigit() else None,
    )


def invalid_response(where: str, status: int) -> ChatRequestError:
    """Return the error for a response that violates the protocol."""
    return ChatRequestError(
        f"{where} returned an invalid response with status {status}", status, "unreadable"
    )


def connection_error(where: str, error: Exception | None) -> ChatRequestError:
    """Return the error for a connection that failed or broke off."""
    detail = "the stream ended early" if error is None else str(error) or type(error).__name__
    return ChatRequestError(f"{where} failed: {detail}", None, "unreachable")


def _code_and_message(content: bytes) -> tuple[str | None, str | None]:
    try:
        parsed: object = json.loads(content)
    except (ValueError, RecursionError):
        return None, None
    if not isinstance(parsed, dict):
        return None, None
    body = cast("dict[str, object]", parsed)
    if isinstance(outcome := body.get("outcome"), str):
        return outcome, None
    error = body.get("error")
    if not isinstance(error, dict):
        return None, None
    fields = cast("dict[str, object]", error)
    code, message = fields.get("code"), fields.get("message")
    return (
        code if isinstance(code, str) else None,
        message if isinstance(message, str) else None,
    )
