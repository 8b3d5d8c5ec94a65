"""Strategies for stored messages that no provider accepts unrepaired."""

from __future__ import annotations

from hypothesis import strategies as st

from conversation_strategies import messages as any_messages
from toolweave import TextMessage, ToolCall, ToolCallMessage, ToolResult, ToolResultMessage

names = st.sampled_from(["a", "b", "c"])
calls = st.lists(st.builds(ToolCall, names, names, st.just({})), max_size=4)
results = st.lists(st.builds(ToolResult, names, names, names), max_size=4)
damaged = st.lists(
    any_messages
    | st.builds(TextMessage, names, role=st.sampled_from(["user", "assistant", "tool", "system"]))
    | st.builds(ToolCallMessage, calls)
    | st.builds(ToolResultMessage, results),
    max_size=8,
)
