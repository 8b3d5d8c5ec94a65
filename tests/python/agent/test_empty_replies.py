"""Laws of empty replies: each is requested once more, and none of its usage is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import toolweave as tw
from coroutine_tests import collect, of_kind, on_a_loop
from effort import effort
from toolweave.agent import Agent
from toolweave.exceptions import MaxIterationsError
from toolweave.natural import FunctionCalling, NaturalToolUse
from toolweave.testing import ScriptedModel

NOTE = "Your last reply was empty."

EMPTY: dict[str, Any] = {
    "nothing": [],
    "blanks": [" \n"],
    "thoughts": [tw.ReasoningDelta("Hm.")],
    "a made-up result": ['<tool_response name="step">1</tool_response>'],
}
"""Replies without text and calls."""

kinds = st.sampled_from([*EMPTY, *EMPTY, "call", "call", "answer", "cut"])
sequences = st.lists(kinds, min_size=1, max_size=8).map(lambda sequence: [*sequence, "answer"])


def step(n: int) -> int:
    return n


def script(sequence: list[str]) -> list[list[Any]]:
    """Return a reply for each kind, which uses one more token than the previous one."""
    replies: list[list[Any]] = []
    for number, kind in enumerate(sequence, 1):
        more: list[Any] = [tw.UsageUpdate(100, number)]
        if kind == "call":
            more.insert(0, f'So. <step>{{"n": {number}}}</step>')
        elif kind == "answer":
            more.insert(0, f"Answer {number}.")
        elif kind == "cut":
            more.append(tw.FinishUpdate("length"))
        else:
            more = [*EMPTY[kind], *more]
        replies.append(more)
    return replies


def expected(sequence: list[str], limit: int, *, answers: bool) -> tuple[int, str]:
    """Return the number of requests and the stop reason."""
    empty_before = False
    for number, kind in enumerate(sequence, 1):
        if kind == "answer":
            return number, "completed"
        if kind == "cut":
            return number, "length"
        if kind in EMPTY:
            if empty_before or number == limit:
                return number, "empty"
            empty_before = True
            continue
        empty_before = False
        if number == limit:
            if not answers:
                return number, "max_iterations"
            at_limit = sequence[number : number + 2]
            return number + 1 + (at_limit[0] in EMPTY and len(at_limit) > 1), "max_iterations"
    raise AssertionError("each script ends with an answer")


@settings(max_examples=effort(100))
@given(sequence=sequences, limit=st.integers(1, 7), answers=st.booleans())
@example(sequence=["nothing", "answer"], limit=2, answers=False)
@example(sequence=["nothing", "call", "blanks", "call", "answer"], limit=7, answers=False)
@example(sequence=["call", "nothing", "answer"], limit=1, answers=True)
@example(sequence=["call", "call", "answer"], limit=1, answers=True)
def test_each_empty_reply_is_asked_for_once_more(
    sequence: list[str], limit: int, answers: bool
) -> None:
    request_count, reason = expected(sequence, limit, answers=answers)
    model = ScriptedModel(*script(sequence))
    agent = Agent(model, [step], max_iterations=limit, answer_at_limit=answers, tool_mode="natural")
    events = asyncio.run(collect(agent.stream("Go!")))
    result = events[-1]
    assert (len(model.requests), result.stop_reason, result.iterations) == (
        request_count,
        reason,
        request_count,
    )

    # Nothing is lost, and all is counted.
    received = sequence[:request_count]
    assert result.usage.input_tokens == 100 * request_count
    assert result.usage.output_tokens == sum(range(1, request_count + 1))
    assert len(of_kind(tw.UsageMessage, result.messages)) == request_count
    assert len(of_kind(tw.FinishUpdate, events)) == request_count
    thoughts = received.count("thoughts")
    assert len(of_kind(tw.ReasoningMessage, result.messages)) == thoughts
    calls = [call.arguments["n"] for call in of_kind(tw.ToolCall, events)]
    # The answer at the limit is asked for without tools: a call in it is text.
    assert calls == [n for n, kind in enumerate(received, 1) if kind == "call" and n <= limit]
    assert len({message.generation_id for message in result.new_messages[1:]}) == request_count

    # Each further request says that the reply was empty, and no other; the history never does.
    reminded = [NOTE in request.messages[-1].text for request in model.requests]
    assert reminded == [False, *(kind in EMPTY for kind in received[:-1])]
    assert not any(NOTE in getattr(message, "text", "") for message in result.messages)


@on_a_loop
async def test_two_empty_replies_in_a_row_end_the_run_as_empty() -> None:
    model = ScriptedModel(*EMPTY.values())
    result = await Agent(model, [step]).run("Hi!")
    assert (result.stop_reason, result.iterations, result.text) == ("empty", 2, "")
    again = await Agent(ScriptedModel("Hello."), [step]).run(None, history=result.messages)
    assert again.text == "Hello."


@on_a_loop
async def test_in_strict_mode_the_limit_counts_the_empty_replies() -> None:
    model = ScriptedModel(*script(["call", "nothing", "call", "call"]))
    with pytest.raises(MaxIterationsError):
        await Agent(model, [step], max_iterations=3, strict=True).run("Go!")
    assert len(model.requests) == 3


@on_a_loop
async def test_the_reminder_of_a_native_model_follows_the_results() -> None:
    call = tw.ToolCall("c1", "step", {"n": 1})
    model = ScriptedModel([call], [], "Done.", native_tools=True)
    result = await Agent(model, [step]).run("Go!")
    assert (result.text, result.iterations) == ("Done.", 3)
    last = model.requests[2].messages
    assert isinstance(last[-2], tw.ToolAggregateMessage)
    assert NOTE in last[-1].text
    assert last[-1].role is tw.Role.USER


@on_a_loop
@pytest.mark.parametrize("sequence", [["nothing", "answer"], ["call", "nothing", "answer"]])
async def test_a_cancelled_run_sends_no_more_requests(sequence: list[str]) -> None:
    model = ScriptedModel(*script(sequence))
    limit = 2 if len(sequence) == 2 else 1
    run = Agent(model, [step], max_iterations=limit, answer_at_limit=True).open("Hi!")
    async for event in run:
        if isinstance(event, tw.FinishUpdate) and len(model.requests) == len(sequence) - 1:
            await run.cancel()
    assert run.result is not None
    assert (run.result.stop_reason, len(model.requests)) == ("cancelled", len(sequence) - 1)


@on_a_loop
async def test_a_failed_second_request_keeps_the_first_reply() -> None:
    model = ScriptedModel([tw.UsageUpdate(5, 1)], tw.ModelError("gone"))
    run = Agent(model, [step]).open("Hi!")
    with pytest.raises(tw.ModelError, match="gone"):
        await run.wait()
    assert run.usage.input_tokens == 5


# One reply, without an agent.


@pytest.mark.parametrize("make", [NaturalToolUse, FunctionCalling])
@settings(max_examples=effort(30))
@given(sequence=st.lists(kinds, min_size=2, max_size=3))
def test_one_reply_is_asked_for_once_more_if_it_is_empty(make: Any, sequence: list[str]) -> None:
    # To a model with native calls a made-up result is text.
    other = {"call": "answer", "a made-up result": "blanks"}
    sequence = [other.get(kind, kind) for kind in sequence]
    request_count = 2 if sequence[0] in EMPTY else 1
    model = ScriptedModel(*script(sequence))
    events = asyncio.run(collect(make(model, [step]).stream("Go!")))
    assert len(model.requests) == request_count
    assert isinstance(events[-1], tw.FinishUpdate)
    assert len(of_kind(tw.FinishUpdate, events)) == 1
    used = [usage.output_tokens for usage in of_kind(tw.UsageMessage, events)]
    assert used == list(range(1, request_count + 1))

    model = ScriptedModel(*script(sequence))
    messages = asyncio.run(make(model, [step]).complete("Go!"))
    assert len(model.requests) == request_count
    assert [usage.output_tokens for usage in of_kind(tw.UsageMessage, messages)] == used
    texts = [text for text in of_kind(tw.TextMessage, messages) if text.text.startswith("Answer")]
    assert len(texts) == (sequence[request_count - 1] == "answer")


@on_a_loop
async def test_open_sends_one_request() -> None:
    model = ScriptedModel([], "Hello.")
    async with NaturalToolUse(model, [step]).open("Hi!") as reply:
        _ = [event async for event in reply]
    assert reply.is_empty
    assert len(model.requests) == 1
