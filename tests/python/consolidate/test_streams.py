"""Replies that stream: natural text is written while they come, as the whole would be."""

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


def told(messages: Sequence[tw.TextMessage]) -> list[tuple[str, str]]:
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
def test_pieces_are_the_whole(reply: list[Any], form: Any, size: int, native: bool) -> None:
    history: list[Any] = []
    pieces: list[Any] = []
    results: list[tw.ToolResult] = []
    for at, said in enumerate(reply):
        if isinstance(said, str):
            pieces += [tw.TextDelta(said[cut : cut + size]) for cut in range(0, len(said), size)]
            if history and isinstance(history[-1], str):
                said = history.pop() + said
            history.append(said)
            continue
        # White space alone between calls stands behind them.
        blank = history[1:] and isinstance(history[-1], str) and history[-1].isspace()
        behind = [history.pop()] if blank and not isinstance(history[-2], str) else []
        arguments, answer = said
        call = tw.ToolCall(str(at), "f", arguments)
        if native:
            pieces.append(tw.ToolCallUpdate(call.id, at, "f", ""))
            written = tw.ToolAggregateMessage([call], []).to_json()
            start = written.index('"arguments":') + len('"arguments":')
            spelled = written[start : written.index(',"index"', start)]
            pieces += [
                tw.ToolCallUpdate(None, at, None, spelled[cut : cut + size])
                for cut in range(0, len(spelled), size)
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
        tw.TextMessage(said, role="assistant", generation_id="g") if isinstance(said, str) else said
        for said in history
    ]
    whole = tw.consolidate(messages, tools=["f"], form=form)
    consolidator = tw.Consolidator(tools=["f"], form=form)
    text = text_of(consolidator, [*pieces, STOP, *reversed(results)])
    assert text == "".join(message.text for message in whole)
    assert told(consolidator.messages) == told(whole)


def test_text_is_written_while_it_comes_and_calls_when_they_are_whole() -> None:
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
    for piece, wanted in steps:
        assert consolidator.push(piece) == wanted  # type: ignore[arg-type]
    assert consolidator.finish() == ""
    assert [message.role.value for message in consolidator.messages] == [
        "assistant",
        "user",
        "assistant",
    ]


def test_a_call_that_never_becomes_whole_is_not_written() -> None:
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
    """Adds."""
    return a + b


async def model(messages: Sequence[tw.Message]) -> AsyncIterator[str]:
    if "5" in getattr(messages[-1], "text", ""):
        yield "It is 5."
        return
    for piece in ("Let me see. <a", 'dd>{"a": 2, ', '"b": 3}</add>', '\n<add>{"a": "no"}</add>'):
        yield piece


@pytest.mark.parametrize("form", FORMS)
def test_what_an_agent_yields_is_written_as_its_history(form: Any) -> None:
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
        assert told(consolidator.messages) == told(whole)
        assert written.count("<tool_call ") == 2

    asyncio.run(main())


def test_a_huge_reply_in_small_pieces_takes_time_in_proportion() -> None:
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


def test_reports_of_the_executor_are_no_part_of_the_history() -> None:
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


def test_what_is_no_piece_is_refused() -> None:
    with pytest.raises(TypeError):
        tw.Consolidator().push(3)  # type: ignore[arg-type]
    consolidator = tw.Consolidator()
    consolidator.finish()
    with pytest.raises(tw.ConsolidationError, match="finished"):
        consolidator.push(tw.TextDelta("x"))
