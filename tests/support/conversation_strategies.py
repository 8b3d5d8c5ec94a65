"""Random messages and conversations."""

from __future__ import annotations

from hypothesis import strategies as st

from toolweave import (
    Conversation,
    Cost,
    Message,
    ReasoningMessage,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallMessage,
    ToolResult,
    ToolResultMessage,
    UnknownMessage,
    UsageMessage,
)
from toolweave.conversations import Interaction

texts = st.text(max_size=10)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
objects = st.dictionaries(texts, values, max_size=3)
names = st.text("abc_", min_size=1, max_size=5)
calls = st.lists(st.builds(ToolCall, names, names, objects), max_size=3, unique_by=lambda c: c.id)
results = st.lists(
    st.builds(ToolResult, names, names, texts), max_size=3, unique_by=lambda r: r.tool_call_id
)
roles = st.sampled_from(["user", "assistant", "system"])


@st.composite
def aggregates(draw: st.DrawFn) -> ToolAggregateMessage:
    made = draw(calls)
    answered = [ToolResult(c.id, c.name, draw(texts)) for c in made if draw(st.booleans())]
    return ToolAggregateMessage(made, answered)


messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(lambda text, role: TextMessage(text, role=role), texts, roles),
    st.builds(ReasoningMessage, texts),
    st.builds(ToolCallMessage, calls),
    st.builds(ToolResultMessage, results),
    aggregates(),
    st.builds(UsageMessage, st.integers(0, 2**40), st.integers(0, 2**40)),
    st.builds(UnknownMessage, st.just("image"), st.just({"url": "data:image/png;base64,AA"})),
)
counts = st.integers(0, 2**40)
costs = st.builds(
    Cost,
    st.decimals(0, 1_000, places=12),
    st.sampled_from(["USD", "EUR"]),
    counts,
    counts,
    counts,
    counts,
    st.booleans(),
    st.lists(names, max_size=3).map(tuple),
)
pending = st.lists(st.builds(Interaction, texts, texts, texts, texts, objects), max_size=3)
conversations = st.builds(
    Conversation,
    texts,
    st.lists(messages, max_size=5),
    st.none() | texts,
    costs,
    pending,
    st.none() | texts,
    objects,
)
