"""Readers of the results of agents."""

from __future__ import annotations

from typing import Any

from toolweave import ToolAggregateMessage, ToolResult
from toolweave.agent import AgentResult


def tool_results(result: AgentResult[Any]) -> list[ToolResult]:
    """Return the results of all calls of a conversation, in order."""
    return [
        each
        for message in result.messages
        if isinstance(message, ToolAggregateMessage)
        for each in message.tool_results
    ]
