"""Estimates of tokens: approximately right, for everything that a model reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave import (
    ReasoningMessage,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolResult,
    UnknownMessage,
    UsageMessage,
    UsageUpdate,
)
from toolweave.costs import estimate_tokens, estimate_usage

texts = st.text(max_size=200)


@given(texts, texts)
def test_a_longer_text_is_no_fewer_tokens(one: str, other: str) -> None:
    assert estimate_tokens(one + other) >= max(estimate_tokens(one), estimate_tokens(other))
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


@given(st.lists(texts, max_size=8))
def test_a_conversation_is_the_sum_of_its_messages(texts: list[str]) -> None:
    messages = [TextMessage(text) for text in texts]
    assert estimate_tokens(messages) == sum(estimate_tokens([message]) for message in messages)


# About what common tokenizers make of them.
COUNTED = {
    "The quick brown fox jumps over the lazy dog.": 10,
    "Hello, world!": 4,
    '{"city": "Oslo", "unit": "celsius", "days": 3}': 18,
    "a b c d e f g h": 8,
}


@pytest.mark.parametrize("text", COUNTED)
def test_an_estimate_is_of_the_right_size(text: str) -> None:
    assert COUNTED[text] / 2 <= estimate_tokens(text) <= COUNTED[text] * 1.5


def test_nothing_is_no_tokens() -> None:
    assert estimate_tokens("") == estimate_tokens([]) == 0


def test_characters_outside_of_ascii_count_for_more() -> None:
    assert estimate_tokens("天気はどうですか") > 2 * estimate_tokens("weather?")
    assert estimate_tokens("\ud800") == 1


CALL = ToolCall("c1", "search", {"query": "x" * 400})
RESULT = ToolResult("c1", "search", "y" * 4_000)


def test_calls_and_results_count_with_what_they_hold() -> None:
    alone = estimate_tokens([ToolAggregateMessage([CALL], [])])
    assert alone > 100
    assert estimate_tokens([ToolAggregateMessage([CALL], [RESULT])]) == alone + 1_000


def test_unread_content_does_not_count() -> None:
    thought, other = ReasoningMessage("z" * 40), UnknownMessage("image", {"data": "q" * 400})
    assert estimate_tokens([UsageMessage(5, 5)]) == 0
    assert estimate_tokens([thought]) == 14
    assert estimate_tokens([other]) > 100


def test_the_usage_of_a_request_counts_prompt_and_reply() -> None:
    prompt, reply = [TextMessage("w" * 40)], [TextMessage("v" * 20, role="assistant")]
    assert estimate_usage(prompt, reply) == UsageUpdate(14, 5)
    assert estimate_usage("w" * 40, reply) == UsageUpdate(14, 5)
