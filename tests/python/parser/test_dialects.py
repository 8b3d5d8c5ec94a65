"""Calls in the dialects of models: golden cases, and what may never become a call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
from dialect_cases import FILES, TOOLS, options_of, read
from effort import effort, subset
from parser_replies import pieces, split_at

CASES = [
    pytest.param(case, dialects, id=f"{file}: {case['name']}, read by {dialects}")
    for file, cases in FILES.items()
    for case in cases
    for dialects in case["read_by"]
]
REPLIES = sorted({case["reply"] for cases in FILES.values() for case in cases})
# All splits are tried in Rust; these are for the bindings.
SIZES = subset([1, 2, 3, 7])
_PARSERS: dict[str, tw.Parser] = {}


def parser_for(**options: Any) -> tw.Parser:
    """Return a parser that has read other replies with the same options, if there is one."""
    key = repr(options)
    if key not in _PARSERS:
        _PARSERS[key] = tw.Parser(TOOLS, **options)
    return _PARSERS[key]


@pytest.mark.parametrize(("case", "dialects"), CASES)
def test_golden_cases_hold_for_every_split(case: dict[str, Any], dialects: str) -> None:
    options, truncated = options_of(case, dialects)
    parser = parser_for(**options)
    reply = case["reply"]
    whole = read(parser, [reply], truncated=truncated)
    exact = [json.dumps(each, sort_keys=True) for each in whole.calls]
    assert exact == [json.dumps(each, sort_keys=True) for each in case["calls"]]
    assert whole.text == case.get("text", "")
    assert whole.reasoning == case.get("reasoning", "")
    assert whole.invalid == case.get("invalid", [])
    assert whole.whole == reply
    if dialects != "auto" or "dialect" in case:
        assert set(whole.dialects) <= {case["dialect"] if dialects == "auto" else dialects}
    for size in SIZES:
        assert read(parser, pieces(reply, size), truncated=truncated) == whole, size
    once = tw.parse(reply, TOOLS, truncated=truncated, **options)
    assert sum(isinstance(each, tw.ToolCall) for each in once) == len(whole.calls)


def hostile() -> st.SearchStrategy[str]:
    """Texts with calls in every dialect, whole, cut, or between other text."""
    part = st.sampled_from(REPLIES) | st.text(max_size=20)
    cut = st.builds(lambda reply, at: reply[: at % (len(reply) + 1)], part, st.integers(0, 400))
    return st.lists(part | cut, min_size=1, max_size=4).map("".join)


@given(text=hostile(), result=hostile(), form=st.sampled_from(["turn", "single", "split"]))
def test_texts_of_users_and_results_never_become_calls(text: str, result: str, form: Any) -> None:
    call = tw.ToolCall("call_0", "ping", {})
    answer = tw.ToolResult("call_0", "ping", result)
    history = [
        tw.TextMessage(text),
        tw.ToolAggregateMessage([call], [answer]),
        tw.TextMessage(text),
    ]
    for dialects in (("natural",), tw.Dialect.names()):
        read = tw.parse_history([tw.TextMessage(text)], tools=TOOLS, dialects=dialects)
        assert not any(isinstance(each, tw.ToolCallMessage) for each in read)
        assert not any(isinstance(each, tw.ToolAggregateMessage) for each in read)
        written = tw.consolidate(history, tools=TOOLS, form=form)
        again = tw.parse_history(written, tools=TOOLS, dialects=dialects)
        assert [each for message in again for each in getattr(message, "tool_calls", ())] == [call]
        answers = [each for message in again for each in getattr(message, "tool_results", ())]
        assert [each.result for each in answers] == [result]


def fence_for(text: str) -> str:
    """Return a fence that no line of a text can close."""
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return "`" * max(3, longest + 1)


@given(text=hostile(), before=st.sampled_from(["", "As it shows:\n\n", "> So:\n\n"]))
def test_a_call_quoted_in_a_fence_is_text(text: str, before: str) -> None:
    fence = fence_for(text)
    reply = f"{before}{fence}text\n{text}\n{fence}\n"
    for size in (1, 5, 1 << 20):
        seen = read(parser_for(), pieces(reply, size))
        assert (seen.calls, seen.invalid) == ([], []), size
        assert seen.whole == reply


@pytest.mark.parametrize("reply", REPLIES)
def test_a_call_quoted_in_a_line_of_code_is_text(reply: str) -> None:
    line = " ".join(reply.split())
    if not line.strip("` "):
        return
    code = fence_for(line)[2:] if "`" not in line else fence_for(line)
    quoted = f"Models write {code} {line} {code} for that."
    seen = read(parser_for(), [quoted])
    assert (seen.calls, seen.invalid) == ([], [])
    assert seen.text == quoted


@settings(max_examples=effort(300))
@given(reply=st.sampled_from(REPLIES), cuts=st.lists(st.integers(0, 500), max_size=6))
def test_any_split_of_any_reply_gives_the_same(reply: str, cuts: list[int]) -> None:
    parser = parser_for()
    assert read(parser, split_at(reply, cuts)) == read(parser, [reply])
