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
from .requests import SubmittedAnswer, id_at, items_at, object_at, said, text_at, wrong

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .ai_sdk import AiSdkVersion

VERSION_HEADER = "x-ai-sdk-version"
"""The header in which a client may say which major version of `ai` it is."""

# Parts of a message that are for the client alone.
_SILENT_PARTS = ("data-", "step-start")


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
        raise wrong(
            "an answer is not written again, since the chat keeps what was said; ask in a new"
            " message",
            "/trigger",
        )
    if trigger != "submit-message":
        raise wrong("expected 'submit-message'", "/trigger")
    messages = items_at(body, "messages", "")
    if not messages:
        raise wrong("expected a message, found none", "/messages")
    place = f"/messages/{len(messages) - 1}"
    last = object_at(messages[-1], place)
    role = text_at(last, "role", place)
    if role == "user":
        if body.get("messageId") is not None:
            raise wrong(
                "a message is not edited, since the chat keeps what was said; say it in a new one",
                "/messageId",
            )
        parts = items_at(last, "parts", place)
        text = said(parts, f"{place}/parts", known=_SILENT_PARTS)
        return AiSdkRequest(chat_id, id_at(last, "id", place), text)
    if role != "assistant":
        raise wrong("expected 'user' or 'assistant'", f"{place}/role")
    parts = items_at(last, "parts", place)
    answers = tuple(_answers(parts, f"{place}/parts"))
    if not answers:
        raise wrong("nothing new is said: the last message is the assistant's", place)
    calls = [text_of(object_at(each, place), "toolCallId") for each in parts]
    return AiSdkRequest(
        chat_id,
        id_at(last, "id", place),
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


def _answers(parts: list[object], place: str) -> list[SubmittedAnswer]:
    found: list[SubmittedAnswer] = []
    for position, each in enumerate(parts):
        where = f"{place}/{position}"
        part = object_at(each, where)
        # Those that were carried out, or refused, have another state since.
        if part.get("state") != "approval-responded":
            continue
        approval = object_at(part.get("approval"), f"{where}/approval")
        key = id_at(approval, "id", f"{where}/approval")
        approved = approval.get("approved")
        if not isinstance(approved, bool):
            raise wrong("expected true or false", f"{where}/approval/approved")
        reason = approval.get("reason")
        found.append(SubmittedAnswer(key, approved, reason if isinstance(reason, str) else None))
    return found
