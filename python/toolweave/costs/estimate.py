"""How many tokens a text may be, where nobody has counted them.

An estimate: tokenizers differ by model, and are large. A token is taken as four bytes of UTF-8, and
a word as no less than one token. That is close for English prose, somewhat low for code and JSON,
and off either way for other scripts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .._checks import check_items
from .._core import (
    FunctionContract,
    ReasoningMessage,
    TextMessage,
    ToolAggregateMessage,
    ToolCallMessage,
    ToolResultMessage,
    UnknownMessage,
    UsageMessage,
    UsageUpdate,
)
from ..models import as_messages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .. import Message
    from ..protocols import Messages

_BYTES = 4
_AROUND = 4
"""Tokens that a message takes besides its content: who speaks, where it begins and ends."""


def estimate_tokens(text: str | Messages) -> int:
    """How many tokens this may be. An estimate: mark what is made of it as one.

    Example:
        >>> estimate_tokens("The quick brown fox jumps over the lazy dog.")
        11

    Args:
        text: A text; or a conversation in any other form, whose messages count for a few tokens
            each, besides what they say. Calls count with their arguments, results with their text.
    """
    if isinstance(text, str):
        return _of_text(text)
    return sum(_of_message(message) for message in as_messages(text))


def estimate_usage(
    asked: Messages, answered: Messages, *, tools: Iterable[FunctionContract] = ()
) -> UsageUpdate:
    """What a request may have used, where the provider does not say.

    Args:
        asked: The conversation that was sent.
        answered: What came back.
        tools: The tools that were sent with it, other than as text.
    """
    described = sum(
        _of_text(json.dumps(contract.to_dict(), ensure_ascii=False))
        for contract in check_items("tools", tools, FunctionContract, "an iterable of contracts")
    )
    return UsageUpdate(
        estimate_tokens(as_messages(asked, "asked")) + described,
        sum(map(_of_content, as_messages(answered, "answered"))),
    )


def _of_text(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return max(-(-size // _BYTES), len(text.split()))


def _of_message(message: Message) -> int:
    return 0 if isinstance(message, UsageMessage) else _AROUND + _of_content(message)


def _of_content(message: Message) -> int:
    return sum(map(_of_text, _said(message)))


def _said(message: Message) -> Iterable[str]:
    """The texts of a message that a model reads or writes."""
    if isinstance(message, (TextMessage, ReasoningMessage)):
        yield message.text
        return
    if isinstance(message, (ToolCallMessage, ToolAggregateMessage)):
        for call in message.tool_calls:
            yield call.name
            yield json.dumps(call.arguments, ensure_ascii=False)
    if isinstance(message, (ToolResultMessage, ToolAggregateMessage)):
        for result in message.tool_results:
            yield result.result
    elif isinstance(message, UnknownMessage):
        yield json.dumps(message.fields, ensure_ascii=False)
