"""A reply is kept in the order of writing."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
import virtual_time
from effort import effort
from order_of_writing import (
    Piece,
    check_neighbours,
    check_results,
    events_of,
    note,
    of_messages,
    order,
    script,
    written_replies,
)
from toolweave import Agent
from toolweave.natural import NaturalToolUse, NaturalToolUseParser, ReplyRun
from toolweave.natural._parts import MAX_SEPARATE_CALLS
from toolweave.testing import ScriptedModel


async def replied(pieces: list[Piece], *, is_native: bool) -> ReplyRun:
    model = ScriptedModel(script(pieces, is_native=is_native), native_tools=is_native)
    use = NaturalToolUse(model, [note], tool_mode="auto", generation_ids=lambda: "g")
    reply = use.open("Hi!")
    await reply.wait()
    return reply


@settings(max_examples=effort(100))
@given(pieces=written_replies(), is_native=st.booleans())
def test_messages_stand_in_the_order_of_writing(pieces: list[Piece], is_native: bool) -> None:
    messages = virtual_time.run(replied(pieces, is_native=is_native)).messages
    assert order(of_messages(messages)) == order(pieces)
    assert {message.generation_id for message in messages} <= {"g"}
    ids = [message.id for message in messages]
    assert len(set(ids)) == len(ids)
    check_results(messages)
    check_neighbours(messages)
    # No text is lost, except white space that would be a separate message.
    text_of_reply = "".join(text for kind, text in of_messages(messages) if kind == "text")
    assert "".join(text_of_reply.split()) == "".join(
        "".join(t for k, t in pieces if k == "text").split()
    )


@settings(max_examples=effort(50))
@given(pieces=written_replies(), is_native=st.booleans())
def test_events_have_each_message_with_calls_in_that_order(
    pieces: list[Piece], is_native: bool
) -> None:
    async def main() -> tuple[list[object], ReplyRun]:
        model = ScriptedModel(script(pieces, is_native=is_native), native_tools=is_native)
        use = NaturalToolUse(model, [note], tool_mode="auto")
        reply = use.open("Hi!")
        return [event async for event in reply], reply

    events, reply = virtual_time.run(main())
    emitted = [event for event in events if isinstance(event, tw.ToolAggregateMessage)]
    kept = [each for each in reply.messages if isinstance(each, tw.ToolAggregateMessage)]
    assert emitted == kept
    calls = [call for message in kept for call in message.tool_calls]
    whole = reply.aggregate
    assert calls == ([] if whole is None else list(whole.tool_calls))
    count = sum(kind == "call" for kind, _ in pieces)
    assert sum(isinstance(event, tw.ToolResult) for event in events) == count


@settings(max_examples=effort(30))
@given(pieces=written_replies(), is_native=st.booleans())
def test_a_parsed_reply_stands_in_the_order_of_writing(
    pieces: list[Piece], is_native: bool
) -> None:
    model = ScriptedModel(script(pieces, is_native=is_native), native_tools=is_native)
    parser = NaturalToolUseParser(model, [note], tool_mode="auto")
    parsed = asyncio.run(parser.complete("Hi!"))
    assert order(of_messages(parsed.messages)) == order(pieces)


@settings(max_examples=effort(50))
@given(pieces=written_replies(), is_native=st.booleans())
def test_blocks_for_anthropic_stand_in_the_order_of_writing(
    pieces: list[Piece], is_native: bool
) -> None:
    messages = virtual_time.run(replied(pieces, is_native=is_native)).messages
    _, sent = tw.to_anthropic([*messages, tw.TextMessage("Well?")])
    blocks = [block for each in sent for block in each["content"] if each["role"] == "assistant"]
    seen: list[Piece] = [
        ("call", str(block["input"]["n"]))
        if block["type"] == "tool_use"
        else ("text", block["text"])
        for block in blocks
    ]
    # Reasoning without a signature is not sent.
    assert order(seen) == order(piece for piece in pieces if piece[0] != "reasoning")


@pytest.mark.growth
@pytest.mark.parametrize("is_native", [True, False])
def test_calls_behind_the_first_thousand_share_the_last_message(is_native: bool) -> None:
    numbers = range(MAX_SEPARATE_CALLS + 100)
    pieces: list[Piece] = []
    for number in numbers:
        pieces += [("text", "A"), ("call", str(number))]
    messages = virtual_time.run(replied(pieces, is_native=is_native)).messages
    *calls, last = [each for each in messages if isinstance(each, tw.ToolAggregateMessage)]
    assert [len(each.tool_calls) for each in calls] == [1] * (MAX_SEPARATE_CALLS - 1)
    results = [result.tool_call_id for result in last.tool_results]
    assert results == [call.id for call in last.tool_calls]
    assert len(results) == len(numbers) - MAX_SEPARATE_CALLS + 1
    *_, text = [each.text for each in messages if isinstance(each, tw.TextMessage)]
    assert text == "A" * 100

    events = virtual_time.run(events_of(pieces, is_native=is_native))
    reducer = tw.StreamReducer()
    for event in events:
        reducer.push(event)
    shown = [each for each in reducer.snapshot()["messages"] if each["messageId"].startswith("g.")]
    assert [each["messageId"] for each in shown] == [each.id for each in messages]


def test_text_after_calls_is_not_an_answer_to_their_results() -> None:
    written: list[Piece] = [("text", "Let me see. "), ("call", "1"), ("text", " One moment.")]
    model = ScriptedModel(script(written, is_native=True), "It is noted.", native_tools=True)

    async def main() -> tuple[tw.Message, ...]:
        run = Agent(model, [note], tool_mode="native").open("Note 1.")
        await run.wait()
        return run.messages

    messages = virtual_time.run(main())
    kinds = [message.kind for message in messages]
    assert kinds == ["text", "text", "tools_aggregate", "text", "text"]
    first, second = (tw.to_openai(messages), tw.to_anthropic(messages)[1])
    assert [each["role"] for each in first] == ["user", "assistant", "tool", "assistant"]
    assert [each["role"] for each in second] == ["user", "assistant", "user", "assistant"]
    # The conversation that it answered ended with the result.
    request = model.requests[1].messages
    assert tw.to_openai(request)[-1]["role"] == "tool"
    assert tw.to_anthropic(request)[1][-1]["role"] == "user"
