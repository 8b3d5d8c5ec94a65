"""Requests of AG-UI clients: `RunAgentInput`.

The client sends its whole conversation. The server has its own history, so it uses only the new
content: the last message, or the answers to the interrupts of the last run. Tools, state and
context of the client are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from .requests import (
    SubmittedAnswer,
    id_at,
    invalid_request,
    items_at,
    message_text,
    object_at,
    text_at,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class AgUiRequest:
    """The new content of a request."""

    thread_id: str
    """Id of the thread, which is the chat."""
    run_id: str
    """Id of the run that the client chose."""
    message_id: str | None = None
    """Id of the user's message."""
    text: str | None = None
    """Text of the user's message; None if the request has only answers. With answers, it may be an
    earlier message."""
    answers: tuple[SubmittedAnswer, ...] = ()
    """Answers to interrupts."""
    messages: tuple[Mapping[str, object], ...] = field(default=(), repr=False)
    """All messages of the client, for `AgUiEncoder(history=...)`."""
    protocol_version: str | None = None
    """Protocol version of the client; None before 1.0, which does not send it."""


def read_ag_ui_request(body: Mapping[str, object]) -> AgUiRequest:
    """Parse a `RunAgentInput`.

    Raises:
        MessageError: The input is invalid, or has no new content.

    Example:
        >>> message = {"id": "m", "role": "user", "content": "Hi"}
        >>> request = read_ag_ui_request({"threadId": "t", "runId": "r", "messages": [message]})
        >>> request.text
        'Hi'
    """
    thread_id = id_at(body, "threadId", "")
    run_id = id_at(body, "runId", "")
    version = body.get("protocolVersion")
    messages: list[Mapping[str, object]] = []
    for index, each in enumerate(items_at(body, "messages", "")):
        path = f"/messages/{index}"
        message = object_at(each, path)
        id_at(message, "id", path)
        text_at(message, "role", path)
        messages.append({name: value for name, value in message.items() if value is not None})
    answers = () if body.get("resume") is None else tuple(_answers(items_at(body, "resume", "")))
    text = message_id = None
    if messages and messages[-1]["role"] == "user":
        path = f"/messages/{len(messages) - 1}"
        message_id = id_at(messages[-1], "id", path)
        text = _content_text(messages[-1], path)
    if text is None and not answers:
        raise invalid_request(
            "the request has no new content: the last message is not the user's", "/messages"
        )
    return AgUiRequest(
        thread_id,
        run_id,
        message_id,
        text,
        answers,
        tuple(messages),
        version if isinstance(version, str) else None,
    )


def _content_text(message: Mapping[str, object], path: str) -> str:
    content = message.get("content")
    if isinstance(content, str):
        if not content.strip():
            raise invalid_request("expected some text, found none", f"{path}/content")
        return content
    return message_text(items_at(message, "content", path), f"{path}/content")


def _answers(entries: list[object]) -> list[SubmittedAnswer]:
    answers: list[SubmittedAnswer] = []
    for index, each in enumerate(entries):
        path = f"/resume/{index}"
        entry = object_at(each, path)
        key = id_at(entry, "interruptId", path)
        status = text_at(entry, "status", path)
        if status not in ("resolved", "cancelled"):
            raise invalid_request("expected 'resolved' or 'cancelled'", f"{path}/status")
        answers.append(_answer(key, entry.get("payload"), cancelled=status == "cancelled"))
    return answers


def _answer(key: str, payload: object, *, cancelled: bool) -> SubmittedAnswer:
    if cancelled:
        return SubmittedAnswer(key, approved=False)
    if isinstance(payload, bool):
        return SubmittedAnswer(key, approved=payload, value=payload)
    if not isinstance(payload, dict):
        return SubmittedAnswer(key, value=payload)
    fields = cast("dict[str, object]", payload)
    approved, reason = fields.get("approved"), fields.get("reason")
    return SubmittedAnswer(
        key,
        approved=approved if isinstance(approved, bool) else None,
        reason=reason if isinstance(reason, str) else None,
        value=fields,
    )
