"""What clients of AG-UI ask for: a `RunAgentInput`.

The client sends its whole conversation; the server has its own, so that only what is new counts:
the message at the end, or the answers to what the last run has asked. Tools, state and context of
the client are not for the model of the server.
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
    """What is new in a thread."""

    thread_id: str
    """The thread, which is a chat here."""
    run_id: str
    """The run, as the client names it."""
    message_id: str | None = None
    """The id of what the user says."""
    text: str | None = None
    """What the user says; None where answers are all that is new. With answers, it may be what was
    said before."""
    answers: tuple[SubmittedAnswer, ...] = ()
    """What was asked for and is decided; each holds the key it was asked under."""
    messages: tuple[Mapping[str, object], ...] = field(default=(), repr=False)
    """All messages that the client has, for `AgUiEncoder(history=...)`."""
    protocol_version: str | None = None
    """What the client says that it speaks; those before 1.0 do not say."""


def read_ag_ui_request(body: Mapping[str, object]) -> AgUiRequest:
    """Reads a `RunAgentInput`.

    Raises:
        MessageError: It cannot be understood, or nothing new is said in it.

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
            "nothing new is said: the last message is not the user's", "/messages"
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
