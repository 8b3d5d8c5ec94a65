"""Requests of AG-UI clients (`RunAgentInput`) and of `useChat` (`DefaultChatTransport`).

The client sends its whole conversation. The server has its own history, so it uses only the new
content: the last message, or the answers to what the last run asked. Tools, state and context of
the client are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from ...exceptions import MessageError
from .._bodies import json_type
from ._ai_sdk import AI_SDK_VERSIONS
from ._events import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._ai_sdk import AiSdkVersion

VERSION_HEADER = "x-ai-sdk-version"
"""Name of the optional header with the client's major version of `ai`."""

_MAX_ID_LENGTH = 200
# A client sends the whole conversation each time; real conversations have fewer items.
_MAX_ITEMS = 20_000
# Parts of a message that only clients of the AI SDK use.
_CLIENT_ONLY_PARTS = ("data-", "step-start")


@dataclass(frozen=True)
class SubmittedAnswer:
    """An answer of the user that a call waits for."""

    key: str
    """Key of the approval or question, from the stream."""
    approved: bool | None = None
    """True if the call is approved, False if it is denied; None if the answer is not a decision."""
    reason: str | None = None
    """Reason for the decision."""
    value: object = None
    """The answer as JSON, for questions other than approvals."""


@dataclass(frozen=True)
class ClientRequest:
    """The new content of a request."""

    chat_id: str
    """Id of the chat that the client chose."""
    message_id: str | None = None
    """Id of the user's message, or of the assistant's message to continue."""
    text: str | None = None
    """Text of the user's message; None if the request has only answers. With answers, it may be an
    earlier message."""
    answers: tuple[SubmittedAnswer, ...] = ()
    """Decisions about approval requests, and answers to interrupts."""


@dataclass(frozen=True)
class AiSdkRequest(ClientRequest):
    """The new content of a request of `useChat`."""

    known_calls: tuple[str, ...] = ()
    """Ids of the calls in the message to continue."""


@dataclass(frozen=True, kw_only=True)
class AgUiRequest(ClientRequest):
    """The new content of a request of AG-UI. The chat is its thread."""

    run_id: str
    """Id of the run that the client chose."""
    messages: tuple[Mapping[str, object], ...] = field(default=(), repr=False)
    """All messages of the client, for `AgUiEncoder(history=...)`."""
    protocol_version: str | None = None
    """Protocol version of the client; None before 1.0, which does not send it."""


def read_ai_sdk_request(body: Mapping[str, object]) -> AiSdkRequest:
    """Parse a request of `useChat`.

    Raises:
        MessageError: The request is invalid, or asks to edit a message or to regenerate a reply,
            which is not possible with the history on the server.

    Example:
        >>> parts = [{"type": "text", "text": "Hi"}]
        >>> message = {"id": "m", "role": "user", "parts": parts}
        >>> body = {"id": "c", "messages": [message], "trigger": "submit-message"}
        >>> read_ai_sdk_request(body)
        AiSdkRequest(chat_id='c', message_id='m', text='Hi', answers=(), known_calls=())
    """
    chat_id = id_at(body, "id", "")
    trigger = body.get("trigger", "submit-message")
    if trigger == "regenerate-message":
        raise invalid_request(
            "replies cannot be regenerated, since the server keeps the history; send a new message",
            "/trigger",
        )
    if trigger != "submit-message":
        raise invalid_request("expected 'submit-message'", "/trigger")
    messages = items_at(body, "messages", "")
    if not messages:
        raise invalid_request("expected a message, found none", "/messages")
    path = f"/messages/{len(messages) - 1}"
    last = object_at(messages[-1], path)
    role = text_at(last, "role", path)
    if role == "user":
        if body.get("messageId") is not None:
            raise invalid_request(
                "messages cannot be edited, since the server keeps the history; send a new message",
                "/messageId",
            )
        parts = items_at(last, "parts", path)
        text = message_text(parts, f"{path}/parts", known=_CLIENT_ONLY_PARTS)
        return AiSdkRequest(chat_id, id_at(last, "id", path), text)
    if role != "assistant":
        raise invalid_request("expected 'user' or 'assistant'", f"{path}/role")
    parts = items_at(last, "parts", path)
    answers = tuple(_approval_answers(parts, f"{path}/parts"))
    if not answers:
        raise invalid_request(
            "the request has no new content: the last message is the assistant's", path
        )
    calls = [text_of(object_at(each, path), "toolCallId") for each in parts]
    return AiSdkRequest(
        chat_id,
        id_at(last, "id", path),
        answers=answers,
        known_calls=tuple(each for each in calls if each is not None),
    )


def read_ai_sdk_version(header: str | None) -> AiSdkVersion:
    """Parse the header `VERSION_HEADER`.

    Args:
        header: Value of the header; None if it is absent, which selects the oldest version.

    Raises:
        MessageError: The version is not supported.

    Example:
        >>> read_ai_sdk_version("7"), read_ai_sdk_version(None)
        (7, 5)
    """
    for version in AI_SDK_VERSIONS:
        if header == str(version):
            return version
    if header is not None:
        raise MessageError(f"{VERSION_HEADER} must be 5, 6 or 7, got {header!r}")
    return AI_SDK_VERSIONS[0]


def _approval_answers(parts: list[object], path: str) -> list[SubmittedAnswer]:
    answers: list[SubmittedAnswer] = []
    for index, each in enumerate(parts):
        part_path = f"{path}/{index}"
        part = object_at(each, part_path)
        # Approvals that were processed have another state.
        if part.get("state") != "approval-responded":
            continue
        approval = object_at(part.get("approval"), f"{part_path}/approval")
        key = id_at(approval, "id", f"{part_path}/approval")
        approved = approval.get("approved")
        if not isinstance(approved, bool):
            raise invalid_request("expected true or false", f"{part_path}/approval/approved")
        reason = approval.get("reason")
        answers.append(SubmittedAnswer(key, approved, reason if isinstance(reason, str) else None))
    return answers


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
    chat_id = id_at(body, "threadId", "")
    run_id = id_at(body, "runId", "")
    version = body.get("protocolVersion")
    messages: list[Mapping[str, object]] = []
    for index, each in enumerate(items_at(body, "messages", "")):
        path = f"/messages/{index}"
        message = object_at(each, path)
        id_at(message, "id", path)
        text_at(message, "role", path)
        messages.append({name: value for name, value in message.items() if value is not None})
    answers = () if body.get("resume") is None else _resume_answers(body)
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
        chat_id,
        message_id,
        text,
        answers,
        run_id=run_id,
        messages=tuple(messages),
        protocol_version=version if isinstance(version, str) else None,
    )


def _content_text(message: Mapping[str, object], path: str) -> str:
    content = message.get("content")
    if isinstance(content, str):
        if not content.strip():
            raise invalid_request("expected some text, found none", f"{path}/content")
        return content
    return message_text(items_at(message, "content", path), f"{path}/content")


def _resume_answers(body: Mapping[str, object]) -> tuple[SubmittedAnswer, ...]:
    answers: list[SubmittedAnswer] = []
    for index, each in enumerate(items_at(body, "resume", "")):
        path = f"/resume/{index}"
        entry = object_at(each, path)
        key = id_at(entry, "interruptId", path)
        status = text_at(entry, "status", path)
        if status not in ("resolved", "cancelled"):
            raise invalid_request("expected 'resolved' or 'cancelled'", f"{path}/status")
        answers.append(_resume_answer(key, entry.get("payload"), cancelled=status == "cancelled"))
    return tuple(answers)


def _resume_answer(key: str, payload: object, *, cancelled: bool) -> SubmittedAnswer:
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


def invalid_request(problem: str, path: str) -> MessageError:
    """Return the error for an invalid request."""
    return MessageError(f"{problem}, at {path!r}" if path else problem, path=path)


def object_at(value: object, path: str) -> Mapping[str, object]:
    """Return a value if it is an object.

    Raises:
        MessageError: The value is not an object.
    """
    if not isinstance(value, dict):
        raise _wrong_type("an object", value, path)
    return cast("dict[str, object]", value)


def items_at(fields: Mapping[str, object], name: str, path: str) -> list[object]:
    """Return an array field.

    Raises:
        MessageError: The field is not an array, or is too long.
    """
    value = fields.get(name)
    if not isinstance(value, list):
        raise _wrong_type("an array", value, f"{path}/{name}")
    items = cast("list[object]", value)
    if len(items) > _MAX_ITEMS:
        raise invalid_request(
            f"expected at most {_MAX_ITEMS} items, found {len(items)}", f"{path}/{name}"
        )
    return items


def text_at(fields: Mapping[str, object], name: str, path: str) -> str:
    """Return a string field.

    Raises:
        MessageError: The field is not a string.
    """
    value = fields.get(name)
    if not isinstance(value, str):
        raise _wrong_type("a string", value, f"{path}/{name}")
    return value


def id_at(fields: Mapping[str, object], name: str, path: str) -> str:
    """Return a field with an id.

    Raises:
        MessageError: The field is not a string, or is empty or too long.
    """
    value = text_at(fields, name, path)
    if not 1 <= len(value) <= _MAX_ID_LENGTH:
        raise invalid_request(
            f"expected 1 to {_MAX_ID_LENGTH} characters, found {len(value)}", f"{path}/{name}"
        )
    return value


def message_text(parts: list[object], path: str, *, known: tuple[str, ...] = ()) -> str:
    """Return the text parts of a message, separated by empty lines.

    Args:
        parts: The parts of the message.
        path: JSON pointer of the parts.
        known: Types of parts to ignore, or prefixes of types.

    Raises:
        MessageError: A part is not text, or the message has no text.
    """
    texts: list[str] = []
    for index, each in enumerate(parts):
        part = object_at(each, f"{path}/{index}")
        type_ = text_at(part, "type", f"{path}/{index}")
        if type_ == "text":
            texts.append(text_at(part, "text", f"{path}/{index}"))
        elif not type_.startswith(known or ("\0",)):
            # Ignoring the part would suggest to the user that the model has seen it.
            raise invalid_request(
                f"only text parts are supported, got {type_[:50]!r}", f"{path}/{index}/type"
            )
    text = "\n\n".join(each for each in texts if each.strip())
    if not text:
        raise invalid_request("expected some text, found none", path)
    return text


def _wrong_type(expected: str, value: object, path: str) -> MessageError:
    found = "nothing" if value is None else json_type(value)
    return invalid_request(f"expected {expected}, found {found}", path)
