"""Requests of a client, and the parsing of their responses, without I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar
from urllib.parse import quote
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_T = TypeVar("_T")

AnswerOutcome: TypeAlias = Literal["resolved", "duplicate"]
"""Outcome of an answer: it was accepted, or the same answer had been given before."""


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
    """A POST request, and the function that parses its response."""

    path: str
    read: Callable[[Mapping[str, Any]], _T]
    body: Mapping[str, Any] | None = None
    repeatable: bool = False
    """True if the request may be repeated after a failure, although it may have been received."""


def start(chat_id: str | None, metadata: Mapping[str, Any] | None) -> Exchange[str]:
    """Create a request that starts a chat and returns its id."""
    given = {"chatId": chat_id, "metadata": metadata}
    body = {name: value for name, value in given.items() if value is not None}
    return Exchange("/chats", lambda answer: str(answer["chatId"]), body)


def send(chat_id: str, text: str | None, message_id: str | None) -> Exchange[MessageReceipt]:
    """Create a request that sends a message, with an id that makes it safe to repeat."""
    if text is None:
        if message_id is not None:
            raise ValueError(f"message_id must be None if text is None, got {message_id!r}")
        return Exchange(f"{path_of(chat_id)}/messages", _receipt, {})
    body = {"text": text, "messageId": message_id or uuid4().hex}
    return Exchange(f"{path_of(chat_id)}/messages", _receipt, body, repeatable=True)


def stop(chat_id: str, run_id: str) -> Exchange[bool]:
    """Create a request that stops a run and returns True if it was still running."""
    path = f"{path_of(chat_id)}/runs/{_segment(run_id, 'run_id')}/stop"
    return Exchange(path, lambda answer: bool(answer["stopping"]), {}, repeatable=True)


def approve(chat_id: str, key: str, approved: bool, reason: str | None) -> Exchange[AnswerOutcome]:
    """Create a request that approves or denies a call."""
    body = {"approved": approved, **({} if reason is None else {"reason": reason})}
    return _answer(chat_id, key, body)


def answer(chat_id: str, key: str, result: object, is_error: bool) -> Exchange[AnswerOutcome]:
    """Create a request that answers a question or delivers a deferred result."""
    return _answer(chat_id, key, {"result": result, **({"isError": True} if is_error else {})})


def _answer(chat_id: str, key: str, body: Mapping[str, Any]) -> Exchange[AnswerOutcome]:
    path = f"{path_of(chat_id)}/answers/{_segment(key, 'key')}"
    return Exchange(path, _outcome, body, repeatable=True)


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
