"""Estimates of token counts, for providers that do not report them.

Tokenizers differ by model and are large, so a token is taken as four bytes of UTF-8, and a word as
at least one token. That is close for English prose, somewhat low for code and JSON, and inaccurate
in either direction for other scripts.
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

    from .._messages import Message
    from ..protocols import Messages

_BYTES_PER_TOKEN = 4
_MESSAGE_OVERHEAD = 4
"""Tokens of a message besides its content: its role and delimiters."""


def estimate_tokens(text: str | Messages) -> int:
    """Return the estimated number of tokens. Mark values derived from it as estimates.

    Example:
        >>> estimate_tokens("The quick brown fox jumps over the lazy dog.")
        11

    Args:
        text: A text, or a conversation in any other form. Each message counts for a few tokens
            besides its content. Calls count with their arguments, results with their text.
    """
    if isinstance(text, str):
        return _text_tokens(text)
    return sum(_message_tokens(message) for message in as_messages(text))


def estimate_usage(
    prompt: Messages, reply: Messages, *, tools: Iterable[FunctionContract] = ()
) -> UsageUpdate:
    """Return the estimated usage of a request.

    Args:
        prompt: The messages of the request.
        reply: The messages of the reply.
        tools: The native tools of the request; tools in the text of the prompt count there.
    """
    tools_tokens = sum(
        _text_tokens(json.dumps(contract.to_dict(), ensure_ascii=False))
        for contract in check_items("tools", tools, FunctionContract, "an iterable of contracts")
    )
    return UsageUpdate(
        estimate_tokens(as_messages(prompt, "prompt")) + tools_tokens,
        sum(map(_content_tokens, as_messages(reply, "reply"))),
    )


def _text_tokens(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return max(-(-size // _BYTES_PER_TOKEN), len(text.split()))


def _message_tokens(message: Message) -> int:
    return 0 if isinstance(message, UsageMessage) else _MESSAGE_OVERHEAD + _content_tokens(message)


def _content_tokens(message: Message) -> int:
    return sum(map(_text_tokens, _texts(message)))


def _texts(message: Message) -> Iterable[str]:
    """Yield the texts of a message that a model reads or writes."""
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
