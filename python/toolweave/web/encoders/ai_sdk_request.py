"""What `useChat` asks for: the body that `DefaultChatTransport` posts.

The client sends its whole conversation; the server has its own, so that only what is new counts:
the message at the end.
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
"""The header in which a client may say which major version of `ai` it is."""

# Parts of a message that are for the client alone.
_CLIENT_ONLY_PARTS = ("data-", "step-start")


@dataclass(frozen=True)
class AiSdkRequest:
    """What is new in a chat."""

    chat_id: str
    """The chat, as the client names it."""
    message_id: str | None = None
    """The id of what the user says; where that is nothing, of the message that is to go on."""
    text: str | None = None
    """What the user says; None where approvals are all that is new."""
    answers: tuple[SubmittedAnswer, ...] = ()
    """The approvals that were given or refused; each holds the key it was asked under."""
    known_calls: tuple[str, ...] = ()
    """The ids of the calls in the message that is to go on."""


def read_ai_sdk_request(body: Mapping[str, object]) -> AiSdkRequest:
    """Reads a request of `useChat`.

    Raises:
        MessageError: It cannot be understood, or wants what a chat with a history on the server
            does not do: to edit what was said, or to have an answer written again.

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
            "an answer is not written again, since the chat keeps what was said; ask in a new"
            " message",
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
                "a message is not edited, since the chat keeps what was said; say it in a new one",
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
        raise invalid_request("nothing new is said: the last message is the assistant's", path)
    calls = [text_of(object_at(each, path), "toolCallId") for each in parts]
    return AiSdkRequest(
        chat_id,
        id_at(last, "id", path),
        answers=answers,
        known_calls=tuple(each for each in calls if each is not None),
    )


def read_ai_sdk_version(header: str | None) -> AiSdkVersion:
    """Reads the header `VERSION_HEADER`, for the encoder.

    Args:
        header: What it holds; None if it is not there, which means that the client may be any.

    Raises:
        MessageError: There is no such version.

    Example:
        >>> read_ai_sdk_version("7"), read_ai_sdk_version(None)
        (7, 5)
    """
    for version in AI_SDK_VERSIONS:
        if header == str(version):
            return version
    if header is not None:
        raise MessageError(f"the header {VERSION_HEADER} has to be 5, 6 or 7")
    return AI_SDK_VERSIONS[0]


def _answers(parts: list[object], path: str) -> list[SubmittedAnswer]:
    answers: list[SubmittedAnswer] = []
    for index, each in enumerate(parts):
        part_path = f"{path}/{index}"
        part = object_at(each, part_path)
        # Those that were carried out, or refused, have another state since.
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
