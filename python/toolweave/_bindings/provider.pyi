"""Conversion of messages to and from the formats of providers."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

from .._messages import Message

class _Dumpable(Protocol):
    """A response object of a provider's client."""

    def model_dump(self) -> dict[str, Any]: ...

_Dangling: TypeAlias = Literal["answer", "omit", "raise"]

Messages: TypeAlias = str | Message | Iterable[str | Message | Mapping[str, Any] | _Dumpable]

def to_openai(
    messages: Messages, *, dangling: _Dangling = "answer", reasoning: bool = False
) -> list[Any]:
    """Convert messages to dicts for ``chat.completions.create`` of OpenAI's client.

    Each reply becomes one message, directly followed by the results of its calls. Messages with the
    same `generation_id` are one reply; without an id, reasoning, text and calls that follow one
    another in this order are. Usage is omitted, and so is the error flag of results, which that API
    does not have. Its format has one text and one list of calls for each reply, so the order of
    text and calls is lost: texts are concatenated in order, and so are calls.

    Args:
        messages: A conversation.
        dangling: The treatment of a call without a result, which the API rejects: ``answer`` it
            with an error result that says so, ``omit`` it, or ``raise``. A result without a call
            is dropped by ``omit`` and an error otherwise.
        reasoning: True to send reasoning, as ``reasoning_content``; only some servers accept it.

    Raises:
        MessageError: A message cannot be expressed in OpenAI's format; the error names the message.
    """

def from_openai(messages: Iterable[Mapping[str, Any] | _Dumpable]) -> list[Message]:
    """Convert dicts and response messages of OpenAI's client to messages.

    Calls and their results become aggregates. Content that is a list of parts becomes its
    concatenated texts; the list, and everything else that only that API knows, is kept in
    ``metadata["openai"]``.

    Raises:
        MessageError: A part is missing, invalid or unknown; the error names the message and the
            place.
    """

def to_anthropic(
    messages: Messages, *, dangling: _Dangling = "answer"
) -> tuple[str | list[Any] | None, list[Any]]:
    """Convert messages for ``messages.create`` of Anthropic's client.

    Conversion works as in `to_openai`, but reasoning, texts and calls of a reply keep their order,
    and the results of its calls are one user message directly after it. All system texts become
    part of the system prompt. Blank texts, and reasoning without a signature in its metadata, are
    omitted, because the API rejects them. Call ids are made unique and conform to the API's format.

    Args:
        messages: A conversation.
        dangling: The treatment of a call without a result, as in `to_openai`.

    Returns:
        The system prompt and the messages, as dicts.

    Raises:
        MessageError: A message cannot be expressed in Anthropic's format; the error names the
            message.
    """

def from_anthropic(
    messages: Iterable[Mapping[str, Any] | _Dumpable],
    *,
    system: str | list[dict[str, Any]] | None = None,
) -> list[Message]:
    """Convert dicts and responses of Anthropic's client to messages.

    Reasoning, texts and calls of a reply keep their order; adjacent calls share a message.
    `generation_id` is the id of the reply; for a reply without an id that continues after its
    calls, it is derived from the id of the first call. Everything that only that API knows is kept
    in ``metadata["anthropic"]``.

    Args:
        messages: Messages and responses as that client has them.
        system: The system prompt of the request, which becomes the first message.

    Raises:
        MessageError: A part is missing, invalid or unknown; the error names the message and the
            place.
    """
