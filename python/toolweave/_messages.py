"""Unions of the classes of messages and of updates."""

from __future__ import annotations

from typing import TypeAlias

from ._core import (
    FinishUpdate,
    ReasoningDelta,
    ReasoningMessage,
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
)

Message: TypeAlias = (
    TextMessage
    | ReasoningMessage
    | ToolCallMessage
    | ToolResultMessage
    | ToolAggregateMessage
    | UsageMessage
    | UnknownMessage
)
"""One entry of a conversation."""

Update: TypeAlias = (
    TextDelta | ReasoningDelta | ToolCallUpdate | ToolCall | ToolResult | UsageUpdate | FinishUpdate
)
"""A piece of a reply, or the result of one of its calls. A `Joiner` joins them into messages."""
