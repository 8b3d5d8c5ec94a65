"""Unions of the classes of messages and of updates, and the message of answered calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def with_results(
    message: Message,
    calls: Sequence[ToolCall],
    results: Sequence[ToolResult],
    metadata: Mapping[str, Any],
) -> ToolAggregateMessage:
    """Return the aggregate of calls and results that takes the place of a message."""
    return ToolAggregateMessage(
        calls,
        results,
        role=message.role,
        id=message.id,
        from_agent=message.from_agent,
        generation_id=message.generation_id,
        run_id=message.run_id,
        chat_id=message.chat_id,
        metadata=metadata,
        extra=message.extra,
    )
