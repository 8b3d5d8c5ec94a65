"""Limits of use and budgets: checked before requests and calls, over all runs inside a run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

import toolweave as tw
from agent_results import tool_results
from coroutine_tests import on_a_loop
from toolweave.agent import Agent, UsageLimits
from toolweave.agent._limits import RunUsage
from toolweave.costs import Budget, Price, estimate_usage
from toolweave.costs._spending import current_meter
from toolweave.exceptions import UnpricedModelError
from toolweave.kinds import StopReason
from toolweave.models.fallback import FallbackModel
from toolweave.natural import _usage
from toolweave.testing import ScriptedModel

ADD = '<add>{"a": 2, "b": 3}</add>'
PRICES = {"scripted": Price("1", "1", per=1)}


def add(a: int, b: int) -> int:
    return a + b


def used(inputs: int, outputs: int, text: str) -> list[str | tw.UsageUpdate]:
    return [text, tw.UsageUpdate(inputs, outputs)]


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        (UsageLimits(requests=1), "Limit of requests reached: 1 of 1 made"),
        (UsageLimits(input_tokens=10), "Limit of input tokens reached: 10 of 10 used"),
        (UsageLimits(output_tokens=3), "Limit of output tokens reached: 3 of 3 used"),
        (UsageLimits(total_tokens=13), "Limit of total tokens reached: 13 of 13 used"),
    ],
)
@on_a_loop
async def test_no_request_is_sent_once_a_limit_is_reached(limits: UsageLimits, error: str) -> None:
    model = ScriptedModel(used(10, 3, f"Let me see. {ADD}"))
    result = await Agent(model, [add], usage_limits=limits).run("2 + 3?")
    assert result.stop_reason is StopReason.USAGE_LIMIT
    assert result.error == error
    assert (result.text, result.iterations, len(model.requests)) == ("Let me see.", 1, 1)
    # The calls have run, so the history can be continued.
    assert [each.result for each in tool_results(result)] == ["5"]
    answer = await Agent(ScriptedModel("It is 5."), [add]).run("And?", history=result.messages)
    assert answer.text == "It is 5."


@pytest.mark.parametrize(
    "limits",
    [UsageLimits(tool_calls=1), UsageLimits(input_tokens=9), UsageLimits(output_tokens=2)],
)
@on_a_loop
async def test_no_call_of_a_reply_that_exceeds_a_limit_runs(limits: UsageLimits) -> None:
    ran: list[int] = []

    def note(n: int) -> None:
        ran.append(n)

    model = ScriptedModel(used(10, 3, '<note>{"n": 1}</note><note>{"n": 2}</note>'))
    result = await Agent(model, [note], usage_limits=limits).run("Note it.")
    assert ran == []
    assert result.stop_reason is StopReason.USAGE_LIMIT
    assert result.tool_calls == 0
    assert [each.error_code for each in tool_results(result)] == [tw.ErrorCode.INTERRUPTED] * 2


@on_a_loop
async def test_an_answer_that_exceeds_a_limit_is_still_the_answer() -> None:
    result = await Agent(ScriptedModel(used(10, 3, "Hello."))).run(
        "Hi!", usage_limits=UsageLimits(total_tokens=5)
    )
    assert (result.text, result.stop_reason) == ("Hello.", StopReason.COMPLETED)


@on_a_loop
async def test_the_limits_of_a_run_replace_those_of_the_agent() -> None:
    agent = Agent(ScriptedModel(ADD, "5", "Hi!"), [add], usage_limits=UsageLimits(requests=0))
    assert (await agent.run("Hi!")).iterations == 0
    assert (await agent.run("2 + 3?", usage_limits=UsageLimits(requests=2))).text == "5"


@on_a_loop
async def test_tokens_that_are_not_reported_are_estimated() -> None:
    model = ScriptedModel(ADD)
    result = await Agent(model, [add], usage_limits=UsageLimits(output_tokens=1)).run("2 + 3?")
    assert result.stop_reason is StopReason.USAGE_LIMIT
    assert result.usage.output_tokens == 0
    assert result.cost.estimated
    assert result.cost.output_tokens > 1


@pytest.mark.parametrize("limits", [None, UsageLimits(total_tokens=10**6)])
@on_a_loop
async def test_a_run_that_is_cancelled_while_tokens_are_estimated_counts_them(
    monkeypatch: pytest.MonkeyPatch, limits: UsageLimits | None
) -> None:
    estimating, cancelled = threading.Event(), threading.Event()

    def estimate(*args: Any, **options: Any) -> tw.UsageUpdate:
        estimating.set()
        assert cancelled.wait(10)
        return estimate_usage(*args, **options)

    monkeypatch.setattr(_usage, "estimate_usage", estimate)
    around = RunUsage()
    token = current_meter.set(around)
    run = Agent(ScriptedModel(ADD * 2000), [add], usage_limits=limits).open("2 + 3?")
    current_meter.reset(token)
    running = asyncio.ensure_future(run.wait())
    await asyncio.to_thread(estimating.wait, 10)
    running.cancel()
    await asyncio.sleep(0)
    assert not running.done()
    cancelled.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (around.cost.requests, around.cost.estimated) == (1, True)
    assert around.cost.output_tokens >= 2000
    [aggregate] = [m for m in run.messages if isinstance(m, tw.ToolAggregateMessage)]
    assert len(aggregate.tool_calls) == len(aggregate.tool_results) == 2000


@on_a_loop
async def test_limits_count_the_runs_inside() -> None:
    inner = Agent(ScriptedModel(used(5, 1, ADD), used(5, 1, "five")), [add], name="maths")
    model = ScriptedModel(used(3, 1, '<maths>{"input": "2 + 3"}</maths>'), used(3, 1, "It is 5."))
    outer = Agent(model, [inner.as_tool()], prices=PRICES)
    result = await outer.run("2 + 3?")
    assert (result.usage.input_tokens, result.usage.output_tokens) == (16, 4)
    assert (result.cost.requests, result.cost.amount) == (4, Decimal(20))
    assert (result.iterations, result.tool_calls) == (2, 2)


@on_a_loop
async def test_a_limit_of_the_outer_run_stops_the_inner_one() -> None:
    inner = Agent(ScriptedModel(used(5, 1, ADD), used(5, 1, "five")), [add], name="maths")
    model = ScriptedModel(used(3, 1, '<maths>{"input": "2 + 3"}</maths>'))
    result = await Agent(model, [inner.as_tool()]).run("?", usage_limits=UsageLimits(requests=2))
    assert result.stop_reason is StopReason.USAGE_LIMIT
    text = tool_results(result)[0].result
    assert "'maths' did not finish (usage_limit): Limit of requests reached: 2 of 2 made" in text
    assert result.cost.requests == 2


@pytest.mark.parametrize(
    "limits", [UsageLimits(requests=2), UsageLimits(output_tokens=2), UsageLimits(total_tokens=43)]
)
@on_a_loop
async def test_of_two_concurrent_requests_for_the_rest_one_is_refused(limits: UsageLimits) -> None:
    async def reply(_: Sequence[tw.Message]) -> list[str | tw.UsageUpdate]:
        await asyncio.sleep(0.01)
        return used(40, 1, "done")

    one, two = (
        Agent(ScriptedModel(reply, reply), name="one"),
        Agent(ScriptedModel(reply, reply), name="two"),
    )
    task = "x" * 200
    calls = f'<one>{{"input": "{task}"}}</one><two>{{"input": "{task}"}}</two>'
    outer = Agent(ScriptedModel(used(1, 1, calls)), [one.as_tool(), two.as_tool()])
    result = await outer.run("Do it.", usage_limits=limits)
    assert result.stop_reason is StopReason.USAGE_LIMIT
    assert sorted(each.is_error for each in tool_results(result)) == [False, True]


@on_a_loop
async def test_a_budget_stops_a_run_before_its_calls() -> None:
    model = ScriptedModel(used(10, 3, ADD))
    result = await Agent(model, [add], prices=PRICES, budget=12).run("2 + 3?")
    assert result.stop_reason is StopReason.BUDGET
    assert result.error == "Budget of 12 USD exceeded: 13 USD spent by the request"
    assert result.cost.amount == 13


def test_a_model_without_a_price_is_refused_with_a_budget() -> None:
    priced, unpriced = ScriptedModel(), ScriptedModel(name="other")
    for make in (
        lambda: Agent(unpriced, prices=PRICES, budget=1),
        lambda: Agent(priced, prices=PRICES, budget=1, fallback=unpriced),
        lambda: Agent(FallbackModel(priced, unpriced), prices=PRICES, budget=1),
        lambda: Agent(priced, prices=PRICES, budget=1, summarizer=tw.Summarizer(unpriced)),
        lambda: Agent(
            priced, prices=PRICES, budget=1, history_processors=[tw.Summarizer(unpriced)]
        ),
        lambda: Agent(priced, prices=PRICES, budget=1, handoffs=[Agent(unpriced, name="b")]),
    ):
        with pytest.raises(UnpricedModelError, match="'other' has no price"):
            make()
    Agent(unpriced, budget=Budget(1, unpriced="allow"))


@on_a_loop
async def test_repairs_and_summaries_are_part_of_the_usage() -> None:
    fallback = ScriptedModel(used(7, 2, '{"a": 2, "b": 3}'), name="fallback")
    summarizer = ScriptedModel(used(100, 10, "They add."), name="summarizer")
    model = ScriptedModel(used(1, 1, '<add>{"a": "two", "b": 3}</add>'), used(1, 1, "It is 5."))
    agent = Agent(
        model,
        [add],
        fallback=fallback,
        history_processors=[tw.Summarizer(summarizer, max_messages=2, keep=1)],
    )
    history = [tw.TextMessage(f"Number {n}") for n in range(3)]
    result = await agent.run("2 + 3?", history=history)
    assert result.text == "It is 5."
    assert (result.usage.input_tokens, result.usage.output_tokens) == (109, 14)
    assert result.cost.requests == 4
    # Sent, not stored.
    assert result.messages[:3] == tuple(history)


@on_a_loop
async def test_a_refused_repair_leaves_the_call_invalid() -> None:
    fallback = ScriptedModel()
    model = ScriptedModel('<add>{"a": "two", "b": 3}</add>')
    result = await Agent(model, [add], fallback=fallback).run(
        "?", usage_limits=UsageLimits(requests=1)
    )
    assert result.stop_reason is StopReason.USAGE_LIMIT
    assert not fallback.requests


@pytest.mark.parametrize("value", [-1, 1.5, True, "5"])
def test_a_limit_is_a_count(value: object) -> None:
    with pytest.raises((TypeError, ValueError), match="tool_calls must be an integer of at least"):
        UsageLimits(tool_calls=value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
