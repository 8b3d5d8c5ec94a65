"""Laws of empty replies in scenes: each is requested once more, within limits and budget."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

import toolweave as tw
from calculator_scenes import ENTER, call, manager_of, model_of, result_of, statuses_of, steps_of
from coroutine_tests import of_kind, on_a_loop
from effort import effort
from toolweave.costs import Price

NOTE = "Your last reply was empty."

EMPTY: dict[str, list[Any]] = {
    "nothing": [],
    "thoughts": [tw.ReasoningDelta("Hm.")],
    "a made-up result": ['<tool_response name="Add">1</tool_response>'],
}

kinds = st.sampled_from([*EMPTY, *EMPTY, "call", "call", "answer"])
sequences = st.lists(kinds, min_size=1, max_size=7).map(lambda sequence: [*sequence, "answer"])


def script(sequence: list[str]) -> list[list[Any]]:
    """Return a reply for each kind, which uses one more token than the previous one."""
    makers = {
        "call": lambda number: [call("Add", f'{{"a": {number}, "b": 1}}')],
        "answer": lambda number: [f"Answer {number}."],
    }
    return [
        [*(EMPTY[kind] if kind in EMPTY else makers[kind](number)), tw.UsageUpdate(100, number)]
        for number, kind in enumerate(sequence, 1)
    ]


def expected(sequence: list[str], limit: int) -> tuple[int, str, str | None]:
    """Return the number of requests, the stop reason and the error."""
    empty_before = False
    for number, kind in enumerate(sequence, 1):
        if kind == "answer":
            return number, "completed", None
        if kind in EMPTY:
            if empty_before or number == limit:
                return number, "error", "No response from LLM"
            empty_before = True
            continue
        empty_before = False
        if number == limit:
            return number, "max_iterations", f"Maximum tool call iterations ({limit}) reached"
    raise AssertionError("each script ends with an answer")


@settings(max_examples=effort(60))
@given(sequence=sequences, limit=st.integers(1, 6))
@example(sequence=["nothing", "call", "thoughts", "call", "answer"], limit=6)
@example(sequence=["call", "nothing", "answer"], limit=2)
def test_each_empty_reply_of_a_scene_is_asked_for_once_more(
    sequence: list[str], limit: int
) -> None:
    request_count, reason, error = expected(sequence, limit)
    manager = manager_of(
        *script(sequence), max_iterations=limit, prices={"m1": Price(1_000_000, 1_000_000)}
    )
    result = asyncio.run(result_of(manager, "Go!", scene="Calculator"))
    model = model_of(manager)
    assert (len(model.requests), result.stop_reason, result.error) == (request_count, reason, error)

    # Nothing is lost, and all is counted and paid for.
    received = sequence[:request_count]
    assert result.iterations == request_count
    assert (result.input_tokens, result.output_tokens) == (
        100 * request_count,
        sum(range(request_count + 1)),
    )
    assert result.total_cost == 100 * request_count + sum(range(request_count + 1))
    assert len(of_kind(tw.UsageMessage, result.messages)) == request_count
    assert len(of_kind(tw.ReasoningMessage, result.messages)) == received.count("thoughts")
    assert len(result.executed) == received.count("call")

    reminded = [NOTE in request.messages[-1].text for request in model.requests]
    assert reminded == [False, *(kind in EMPTY for kind in received[:-1])]
    assert not any(NOTE in getattr(message, "text", "") for message in result.messages)


@on_a_loop
async def test_an_empty_reply_that_has_spent_the_budget_is_not_asked_for_again() -> None:
    prices = {"m1": Price(1_000_000, 1_000_000)}
    for budget, request_count in ((50, 1), (150, 2)):
        manager = manager_of(*script(["nothing", "answer"]), prices=prices, budget=budget)
        result = await result_of(manager, "Go!", scene="Calculator")
        assert result.stop_reason != "completed"
        assert len(model_of(manager).requests) == request_count


@on_a_loop
async def test_choosing_a_scene_and_concluding_a_plan_ask_once_more() -> None:
    steps = await steps_of(manager_of([], ENTER, "42."), "15 + 27?")
    assert statuses_of(steps) == [
        ("ExecutingScene", "Entering scene: Calculator"),
        ("Running", "42."),
        ("Completed", "42."),
    ]
    step = {"id": 1, "scene": "Calculator", "purpose": "Add", "depends_on": []}
    plan = json.dumps({"answer": None, "steps": [step]})
    manager = manager_of(plan, "It is 42.", [], "In all: 42.", mode="planning")
    steps = await steps_of(manager, "15 + 27?")
    assert statuses_of(steps)[-1] == ("Completed", "In all: 42.")
    assert NOTE in model_of(manager).requests[-1].messages[-1].text


@on_a_loop
async def test_the_answer_at_the_limit_is_asked_for_once_more() -> None:
    manager = manager_of(
        *script(["call", "nothing", "answer"]), max_iterations=1, answer_at_limit=True
    )
    result = await result_of(manager, "Go!", scene="Calculator")
    assert (result.stop_reason, result.text) == ("max_iterations", "Answer 3.")
