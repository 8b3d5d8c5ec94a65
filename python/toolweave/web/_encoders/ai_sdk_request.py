"""Requests of `useChat`: the body that `DefaultChatTransport` posts.

The client sends its whole conversation. The server has its own history, so it uses only the last
message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...exceptions import MessageError
from .ai_sdk import AI_SDK_VERSIONS
from .json_fields import text_of
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

    from .ai_sdk import AiSdkVersion

VERSION_HEADER = "x-ai-sdk-version"
"""Name of the optional header with the client's major version of `ai`."""

# Parts of a message that only the client uses.
_CLIENT_ONLY_PARTS = ("data-", "step-start")


@dataclass(frozen=True)
class AiSdkRequest:
    """The new content of a request."""

    chat_id: str
    """Id of the chat that the client chose."""
    message_id: str | None = None
    """Id of the user's message, or of the assistant's message to continue."""
    text: str | None = None
    """Text of the user's message; None if the request has only approvals."""
    answers: tuple[SubmittedAnswer, ...] = ()
    """Decisions about approval requests."""
    known_calls: tuple[str, ...] = ()
    """Ids of the calls in the message to continue."""


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
    answers = tuple(_answers(parts, f"{path}/parts"))
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


def _answers(parts: list[object], path: str) -> list[SubmittedAnswer]:
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
