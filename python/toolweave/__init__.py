"""Inline tool calls for language models."""

from __future__ import annotations

from typing import Union

from ._core import (
    FinishUpdate,
    Joined,
    Joiner,
    JoinProblem,
    MessageBase,
    ReasoningDelta,
    ReasoningMessage,
    Repair,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallMessage,
    ToolCallUpdate,
    ToolResult,
    ToolResultMessage,
    UnknownMessage,
    UsageMessage,
    UsageUpdate,
    __version__,
    from_anthropic,
    from_openai,
    message_from_dict,
    message_from_json,
    to_anthropic,
    to_openai,
)
from .exceptions import ContractError, MessageError, ToolweaveError
from .kinds import ErrorCode, FinishReason, MessageKind, Role

Message = Union[
    TextMessage,
    ReasoningMessage,
    ToolCallMessage,
    ToolResultMessage,
    ToolAggregateMessage,
    UsageMessage,
    UnknownMessage,
]
"""One entry of a conversation."""

Update = Union[
    TextDelta,
    ReasoningDelta,
    ToolCallUpdate,
    ToolCall,
    ToolResult,
    UsageUpdate,
    FinishUpdate,
]
"""One piece of a reply, or a result of one of its calls: what a `Joiner` takes."""
import logging as _logging

from ._core import Repair, __version__
from .exceptions import ContractError, ToolweaveError

__all__ = [
    "ContractError",
    "ErrorCode",
    "FinishReason",
    "FinishUpdate",
    "JoinProblem",
    "Joined",
    "Joiner",
    "Message",
    "MessageBase",
    "MessageError",
    "MessageKind",
    "ReasoningDelta",
    "ReasoningMessage",
    "Repair",
    "Role",
    "TextDelta",
    "TextMessage",
    "ToolAggregateMessage",
    "ToolCall",
    "ToolCallMessage",
    "ToolCallUpdate",
    "ToolResult",
    "ToolResultMessage",
    "ToolweaveError",
    "UnknownMessage",
    "Update",
    "UsageMessage",
    "UsageUpdate",
    "__version__",
    "from_anthropic",
    "from_openai",
    "message_from_dict",
    "message_from_json",
    "to_anthropic",
    "to_openai",
]

# Records go to `toolweave.<area>`; who hears them is the application's choice.
_logging.getLogger(__name__).addHandler(_logging.NullHandler())
