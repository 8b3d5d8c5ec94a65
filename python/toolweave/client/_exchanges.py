"""Requests of a client, the parsing of their responses, and retries, without I/O."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, cast
from urllib.parse import quote
from uuid import uuid4

from ..exceptions import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_T = TypeVar("_T")

AnswerOutcome: TypeAlias = Literal["resolved", "duplicate"]
"""Outcome of an answer: it was accepted, or the same answer had been given before."""

_MAX_PAUSE = 30.0
# HTTP statuses after which a retry may succeed.
_TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class MessageReceipt:
    """The server's receipt for a message."""

    chat_id: str
    """Id of the chat."""
    run_id: str
    """Id of the run that answers the message, for `stop`."""
    sequence_number: int
    """Sequence number of the last event before the run."""
    message_id: str | None
    """Id of the message; None if the chat continued without one."""


@dataclass(frozen=True)
class Exchange(Generic[_T]):
    """A request, and the function that parses its response."""

    method: str
    path: str
    read: Callable[[Mapping[str, Any]], _T]
    body: Mapping[str, Any] | None = None
    repeatable: bool = False
    """True if the request may be repeated after a failure, although it may have been received."""


def start(chat_id: str | None, metadata: Mapping[str, Any] | None) -> Exchange[str]:
    """Create a request that starts a chat and returns its id."""
    given = {"chatId": chat_id, "metadata": metadata}
    body = {name: value for name, value in given.items() if value is not None}
    return Exchange("POST", "/chats", lambda answer: str(answer["chatId"]), body)


def send(chat_id: str, text: str | None, message_id: str | None) -> Exchange[MessageReceipt]:
    """Create a request that sends a message, with an id that makes it safe to repeat."""
    if text is None:
        if message_id is not None:
            raise ValueError(f"message_id must be None if text is None, got {message_id!r}")
        return Exchange("POST", f"{path_of(chat_id)}/messages", _receipt, {})
    body = {"text": text, "messageId": message_id or uuid4().hex}
    return Exchange("POST", f"{path_of(chat_id)}/messages", _receipt, body, repeatable=True)


def stop(chat_id: str, run_id: str) -> Exchange[bool]:
    """Create a request that stops a run and returns True if it was still running."""
    path = f"{path_of(chat_id)}/runs/{_segment(run_id, 'run_id')}/stop"
    return Exchange("POST", path, lambda answer: bool(answer["stopping"]), {}, repeatable=True)


def approve(chat_id: str, key: str, approved: bool, reason: str | None) -> Exchange[AnswerOutcome]:
    """Create a request that approves or denies a call."""
    body = {"approved": approved, **({} if reason is None else {"reason": reason})}
    return _answer(chat_id, key, body)


def answer(chat_id: str, key: str, result: object, is_error: bool) -> Exchange[AnswerOutcome]:
    """Create a request that answers a question or delivers a deferred result."""
    return _answer(chat_id, key, {"result": result, **({"isError": True} if is_error else {})})


def _answer(chat_id: str, key: str, body: Mapping[str, Any]) -> Exchange[AnswerOutcome]:
    path = f"{path_of(chat_id)}/answers/{_segment(key, 'key')}"
    return Exchange("POST", path, _outcome, body, repeatable=True)


def path_of(chat_id: str) -> str:
    """Return the path of a chat, relative to the base URL."""
    return f"/chats/{_segment(chat_id, 'chat_id')}"


def _segment(text: str, name: str) -> str:
    if text in ("", ".", ".."):
        raise ValueError(f"{name} must not be empty, '.' or '..', got {text!r}")
    return quote(text, safe="")


def _receipt(answer: Mapping[str, Any]) -> MessageReceipt:
    return MessageReceipt(
        str(answer["chatId"]),
        str(answer["runId"]),
        int(answer["sequenceNumber"]),
        answer.get("messageId"),
    )


def _outcome(answer: Mapping[str, Any]) -> AnswerOutcome:
    return "duplicate" if answer["outcome"] == "duplicate" else "resolved"


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


class RequestAttempts(Generic[_T]):
    """The state of a request and its retries.

    Args:
        exchange: The request.
        url: URL of the request, for errors.
        backoff: The pauses between attempts.
    """

    def __init__(self, exchange: Exchange[_T], url: str, backoff: Backoff) -> None:
        self.done = False
        self.pause = 0.0
        """Seconds to wait before the next attempt."""
        self._exchange = exchange
        self._where = f"{exchange.method} {url}"
        self._backoff = backoff
        self._result: list[_T] = []

    @property
    def result(self) -> _T:
        """Parsed response, once the request is done."""
        return self._result[0]

    def handle_response(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        """Handle a response.

        Raises:
            ChatRequestError: The server refused the request, or its response is invalid.
        """
        if 200 <= status < 300:
            try:
                self._result.append(self._exchange.read(json.loads(content)))
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise invalid_response(self._where, status) from error
            self.done = True
            return
        refused = status_error(self._where, status, headers, content)
        self._retry_or_raise(refused, transient=status in _TRANSIENT_STATUSES)

    def handle_error(self, error: Exception, *, transient: bool) -> None:
        """Handle a connection error.

        Raises:
            ChatRequestError: There are no attempts left.
        """
        try:
            self._retry_or_raise(connection_error(self._where, error), transient=transient)
        except ChatRequestError as final:
            raise final from error

    def _retry_or_raise(self, error: ChatRequestError, *, transient: bool) -> None:
        pause = None
        if transient and self._exchange.repeatable:
            pause = self._backoff.next(error.retry_after)
        if pause is None:
            raise error
        self.pause = pause


def is_transient(status: int) -> bool:
    """Return True if a request that failed with this status may succeed when retried."""
    return status in _TRANSIENT_STATUSES


def status_error(
    where: str, status: int, headers: Mapping[str, str], content: bytes
) -> ChatRequestError:
    """Return the error for a response with an error status."""
    code, message = _code_and_message(content)
    detail = ": ".join(part for part in (code, message) if part)
    after = headers.get("retry-after", "")
    return ChatRequestError(
        f"{where} failed with status {status}{f': {detail}' if detail else ''}",
        status,
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
