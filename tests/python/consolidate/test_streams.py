"""Consolidation of streaming replies, with the same text as for complete ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
from effort import effort
from toolweave.executor import ToolQuestion

STOP = tw.FinishUpdate("stop")
FORMS = ["single", "turn", "split"]


def text_of(consolidator: tw.Consolidator, pieces: Sequence[Any]) -> str:
    return "".join([consolidator.push(piece) for piece in pieces]) + consolidator.finish()


def texts(messages: Sequence[tw.TextMessage]) -> list[tuple[str, str]]:
    return [(message.role.value, message.text) for message in messages]


hostile = st.lists(
    st.sampled_from(
        ["<f>", "</f>", "<", "f", ">", "&lt;", "&", "amp;", "lt;", "---", "\n", "---\n", " ", "ü",
         "tool_call", "</tool_response>", '<tool_call name="f">{}</tool_call>']
    ),
    min_size=1,
    max_size=6,
).map("".join)  # fmt: skip
replies = st.lists(
    hostile | st.tuples(st.dictionaries(hostile, hostile, max_size=2), st.none() | hostile),
    max_size=6,
)


@settings(max_examples=effort(150))
@given(replies, st.sampled_from(FORMS), st.integers(1, 7), st.booleans())
def test_streaming_gives_the_same_text(
    reply: list[Any], form: Any, size: int, native: bool
) -> None:
    history: list[Any] = []
    pieces: list[Any] = []
    results: list[tw.ToolResult] = []
    for at, part in enumerate(reply):
        if isinstance(part, str):
            pieces += [tw.TextDelta(part[cut : cut + size]) for cut in range(0, len(part), size)]
            if history and isinstance(history[-1], str):
                part = history.pop() + part
            history.append(part)
            continue
        # White space between calls is moved behind them.
        blank = history[1:] and isinstance(history[-1], str) and history[-1].isspace()
        behind = [history.pop()] if blank and not isinstance(history[-2], str) else []
        arguments, answer = part
        call = tw.ToolCall(str(at), "f", arguments)
        if native:
            pieces.append(tw.ToolCallUpdate(call.id, at, "f", ""))
            written = tw.ToolAggregateMessage([call], []).to_json()
            start = written.index('"arguments":') + len('"arguments":')
            literal = written[start : written.index(',"index"', start)]
            pieces += [
                tw.ToolCallUpdate(None, at, None, literal[cut : cut + size])
                for cut in range(0, len(literal), size)
            ]
        else:
            pieces += [tw.ToolCallStart(at, call.id, "f"), tw.ToolCallDelta(at, "{}"), call]
        answers = [] if answer is None else [tw.ToolResult(call.id, "f", answer)]
        results += answers
        calls: list[Any] = [call]
        if history and not isinstance(history[-1], str):
            before = history.pop()
            calls = [*before.tool_calls, call]
            answers = [*before.tool_results, *answers]
        history += [tw.ToolAggregateMessage(calls, answers, generation_id="g"), *behind]
    messages = [
        tw.TextMessage(part, role="assistant", generation_id="g") if isinstance(part, str) else part
        for part in history
    ]
    whole = tw.consolidate(messages, tools=["f"], form=form)
    consolidator = tw.Consolidator(tools=["f"], form=form)
    text = text_of(consolidator, [*pieces, STOP, *reversed(results)])
    assert text == "".join(message.text for message in whole)
    assert texts(consolidator.messages) == texts(whole)


def test_text_is_written_immediately_and_calls_once_they_are_complete() -> None:
    consolidator = tw.Consolidator(tools=["f"], form="turn", tag="name")
    steps = [
        (tw.TextDelta("I look"), "I look"),
        (tw.TextDelta(" it <"), " it "),
        (tw.TextDelta("b>up</b>"), "<b>up</b>"),
        (tw.ToolCallUpdate("a", 0, "f", '{"x"'), ""),
        (tw.TextDelta(" Now."), ""),
        (tw.ToolCallUpdate(None, 0, None, ": 1}"), ""),
        (tw.ToolResult("a", "f", "one"), ""),
        (
            tw.FinishUpdate("tool_calls"),
            '\n<f>\n{\n  "x": 1\n}\n</f>\n Now.<tool_response name="f">\none\n</tool_response>',
        ),
        (tw.TextDelta("One."), "One."),
        (STOP, ""),
    ]
    for piece, expected in steps:
        assert consolidator.push(piece) == expected  # type: ignore[arg-type]
    assert consolidator.finish() == ""
    assert [message.role.value for message in consolidator.messages] == [
        "assistant",
        "user",
        "assistant",
    ]


def test_an_incomplete_call_is_not_written() -> None:
    consolidator = tw.Consolidator(form="turn")
    pieces = [
        tw.TextDelta("A"),
        tw.ToolCallUpdate("a", 0, "f", '{"x": '),
        tw.TextDelta("B"),
        tw.ToolCallUpdate("b", 1, "", "{}"),
        tw.ToolCallUpdate("c", 2, "f", '{"x": '),
        tw.FinishUpdate("length"),
    ]
    assert text_of(consolidator, pieces) == "A\nB"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def model(messages: Sequence[tw.Message]) -> AsyncIterator[str]:
    if "5" in getattr(messages[-1], "text", ""):
        yield "It is 5."
        return
    for piece in ("Let me see. <a", 'dd>{"a": 2, ', '"b": 3}</add>', '\n<add>{"a": "no"}</add>'):
        yield piece


@pytest.mark.parametrize("form", FORMS)
def test_events_of_an_agent_are_consolidated_like_its_history(form: Any) -> None:
    async def main() -> None:
        consolidator = tw.Consolidator(tools=["add"], form=form)
        written = ""
        result = None
        async for event in tw.Agent(model, [add]).stream("What is 2 + 3?"):
            written += consolidator.push(event)
            if isinstance(event, tw.AgentResult):
                result = event
        written += consolidator.finish()
        assert result is not None
        whole = tw.consolidate(result.messages[1:], tools=["add"], form=form)
        assert written == "".join(message.text for message in whole)
        assert texts(consolidator.messages) == texts(whole)
        assert written.count("<tool_call ") == 2

    asyncio.run(main())


def test_a_huge_reply_in_small_pieces_takes_linear_time() -> None:
    consolidator = tw.Consolidator(form="turn")
    for piece in [tw.TextDelta("<"), *[tw.TextDelta(" ")] * 20_000]:
        assert consolidator.push(piece) == ""
    assert consolidator.push(tw.TextDelta("tool_call>")) == f"&lt;{' ' * 20_000}tool_call>"
    for piece in [tw.TextDelta("&"), *[tw.TextDelta("amp;")] * 20_000, tw.TextDelta("lt;f>")]:
        consolidator.push(piece)
    consolidator.push(tw.ToolCallUpdate("a", 0, "f", '{"x": "'))
    for _ in range(20_000):
        consolidator.push(tw.ToolCallUpdate(None, 0, None, "y"))
    consolidator.push(tw.ToolCallUpdate(None, 0, None, '"}'))
    assert "y" * 20_000 in consolidator.push(STOP)


def test_events_of_the_executor_are_not_part_of_the_history() -> None:
    consolidator = tw.Consolidator()
    events: list[Any] = [
        tw.ToolStarted("a", "f", {}),
        tw.ToolProgress("a", 1),
        ToolQuestion("a", "key", "Sure?", None),
        tw.Discarded("</f>", "orphan"),
        tw.FabricatedResult("f", "<tool_response>x</tool_response>"),
        tw.UsageUpdate(1, 2),
    ]
    assert text_of(consolidator, events) == ""
    assert consolidator.messages == []


def test_invalid_pieces_are_rejected() -> None:
    with pytest.raises(TypeError):
        tw.Consolidator().push(3)  # type: ignore[arg-type]
    consolidator = tw.Consolidator()
    consolidator.finish()
    with pytest.raises(tw.ConsolidationError, match="finished"):
        consolidator.push(tw.TextDelta("x"))
