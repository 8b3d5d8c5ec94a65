"""Costs of runs, budgets and rate limits."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from typing import Any

import pytest

import toolweave as tw
from calculator_scenes import (
    ADD,
    ENTER,
    RecordingStore,
    call,
    manager_of,
    model_of,
    native,
    result_of,
    statuses_of,
    steps_of,
)
from coroutine_tests import on_a_loop
from toolweave import RateLimit, RetryPolicy, SceneManager, SceneStatus, SceneStep, SceneStopReason
from toolweave.costs import Budget, Cost, Price, PriceTable, estimate_tokens
from toolweave.limits import RateLimiter
from toolweave.models.fallback import FallbackModel
from toolweave.summary import Summarizer
from toolweave.testing import ScriptedModel

# Per million: a dollar for a token of either kind is easy to add up.
PRICES = {"m1": Price(1_000_000, 1_000_000, cached_input=500_000)}


def usage_reply(text: Any, inputs: int, outputs: int, cached: int = 0) -> list[Any]:
    return [text, tw.UsageUpdate(inputs, outputs, cached)]


def priced_manager(*replies: Any, **options: Any) -> SceneManager:
    return manager_of(*replies, **{"prices": PRICES, **options})


def costs(steps: list[SceneStep]) -> list[tuple[str, Decimal | None, Decimal]]:
    return [(step.status.value, step.cost, step.total_cost) for step in steps]


@on_a_loop
async def test_the_cost_of_a_reply_is_on_the_next_step_only() -> None:
    manager = priced_manager(
        usage_reply(ENTER, 1, 2), usage_reply(ADD, 10, 20), usage_reply("42.", 100, 200)
    )
    steps = await steps_of(manager, "15 + 27?")
    assert costs(steps) == [
        ("ExecutingScene", Decimal(3), Decimal(3)),
        ("FunctionRequest", Decimal(30), Decimal(33)),
        ("FunctionCompleted", None, Decimal(33)),
        ("Running", Decimal(300), Decimal(333)),
        ("Completed", None, Decimal(333)),
    ]
    assert [(s.input_tokens, s.output_tokens) for s in steps] == [
        (1, 2),
        (10, 20),
        (0, 0),
        (100, 200),
        (0, 0),
    ]
    assert (steps[-1].total_input_tokens, steps[-1].total_output_tokens) == (111, 222)
    assert not any(step.estimated for step in steps)


@on_a_loop
async def test_cached_tokens_are_charged_once_at_their_own_price() -> None:
    result = await result_of(priced_manager(usage_reply("Hello!", 10, 1, cached=4)), "Hi!")
    assert result.total_cost == Decimal(6 + 2 + 1)


@on_a_loop
async def test_tokens_are_estimated_and_marked_without_usage_of_the_provider() -> None:
    steps = await steps_of(priced_manager("Hello!"), "Hi!")
    running, last = steps
    assert running.estimated
    assert running.input_tokens > 0
    assert running.output_tokens > 0
    assert running.cost == running.input_tokens + running.output_tokens == last.total_cost
    assert (await result_of(priced_manager("Hello!"), "Hi!")).estimated


@on_a_loop
@pytest.mark.parametrize("is_native", [False, True])
async def test_estimates_count_everything_sent_and_written_including_calls_and_tools(
    is_native: bool,
) -> None:
    replies = [native("Calculator"), native("Add", a=15, b=27)] if is_native else [ENTER, ADD]
    manager = priced_manager(*replies, "42.", is_native=is_native)
    _, requested, _, running, _ = await steps_of(manager, "15 + 27?")
    requests = model_of(manager).requests[1:]
    for step, request in zip((requested, running), requests, strict=True):
        tools = sum(estimate_tokens(json.dumps(each.to_dict())) for each in request.tools)
        assert step.estimated
        assert step.input_tokens == estimate_tokens(request.messages) + tools
    assert requested.output_tokens >= estimate_tokens('{"a": 15, "b": 27}')


@on_a_loop
async def test_an_empty_reply_is_charged() -> None:
    empty = [tw.FinishUpdate("stop")]
    result = await result_of(priced_manager(empty, empty), "Hi!")
    assert result.error == "No response from LLM"
    assert result.total_cost == result.input_tokens > 0
    refused = await result_of(priced_manager(tw.ModelError("full", "m1", 429)), "Hi!")
    assert (refused.total_cost, refused.input_tokens) == (0, 0)


@on_a_loop
async def test_a_budget_applies_to_estimates_of_calls() -> None:
    manager = priced_manager(ENTER, ADD, budget=1)
    result = await result_of(manager, "15 + 27?")
    assert (result.stop_reason.value, result.executed) == ("budget", ())
    assert result.estimated


@on_a_loop
async def test_streaming_steps_have_no_cost() -> None:
    manager = priced_manager(
        usage_reply(ENTER, 1, 1), ["It ", "is ", *usage_reply("42.", 2, 3)], streaming=True
    )
    steps = await steps_of(manager, "15 + 27?")
    pieces = [step for step in steps if step.status is SceneStatus.STREAMING]
    assert len(pieces) == 3
    assert all((step.cost, step.total_cost) == (None, Decimal(2)) for step in pieces)
    assert sum(step.cost or 0 for step in steps) == steps[-1].total_cost == Decimal(7)


@on_a_loop
async def test_a_piece_of_text_has_no_cost_of_earlier_requests() -> None:
    more = '{"continue": true, "reason": ""}'
    replies = [
        usage_reply(ENTER, 1, 1),
        usage_reply("1.", 1, 1),
        usage_reply(more, 4, 4),
        usage_reply("Done.", 1, 1),
    ]
    steps = await steps_of(priced_manager(*replies, mode="chaining", streaming=True), "Count!")
    assert costs(steps)[-3:] == [
        ("Streaming", None, Decimal(4)),
        ("Running", Decimal(10), Decimal(14)),
        ("Completed", None, Decimal(14)),
    ]


@on_a_loop
async def test_the_usage_of_a_broken_reply_is_charged() -> None:
    pieces = ["Let me", tw.UsageUpdate(5, 2), tw.ModelError("gone")]
    result = await result_of(priced_manager(pieces), "Hi!")
    assert result.total_cost == Decimal(7)


@on_a_loop
async def test_the_model_of_a_chain_that_has_answered_is_charged() -> None:
    chain = FallbackModel(
        ScriptedModel(tw.ModelError("full", "one", 400), name="m0"),
        ScriptedModel(usage_reply("Hello!", 1, 1), name="m1"),
    )
    manager = SceneManager(chain, prices={"m0": Price(10**9, 10**9), **PRICES})
    manager.scene("S")
    assert (await result_of(manager, "Hi!")).total_cost == Decimal(2)


@on_a_loop
async def test_a_stream_that_fails_before_its_first_piece_is_tried_again() -> None:
    async def at_once(_: float) -> None:
        await asyncio.sleep(0)

    full = tw.ModelError("full", "acme", 503)
    model = ScriptedModel(full, usage_reply(ENTER, 1, 1), full, usage_reply("42.", 2, 2), name="m1")
    chain = FallbackModel(model, retry=RetryPolicy(2), sleep=at_once)
    manager = SceneManager(chain, prices=PRICES, streaming=True)
    manager.scene("Calculator")
    steps = await steps_of(manager, "15 + 27?")
    assert statuses_of(steps) == [
        ("ExecutingScene", "Entering scene: Calculator"),
        ("Streaming", "42."),
        ("Running", "42."),
        ("Completed", "42."),
    ]
    assert steps[-1].total_cost == Decimal(6)


@on_a_loop
async def test_plans_decisions_and_summaries_are_charged() -> None:
    planned = priced_manager(
        usage_reply('{"answer": "Hello!", "steps": []}', 3, 4), mode="planning", budget=7
    )
    result = await result_of(planned, "Hi!")
    assert (result.total_cost, result.stop_reason.value) == (Decimal(7), "completed")
    expensive = priced_manager(
        usage_reply('{"answer": "Hello!", "steps": []}', 3, 4), mode="planning", budget=6
    )
    result = await result_of(expensive, "Hi!")
    assert (result.text, result.stop_reason.value) == ("", "budget")
    chained = priced_manager(
        usage_reply(ENTER, 1, 0),
        usage_reply("42.", 1, 0),
        usage_reply('{"continue": false, "reason": ""}', 1, 0),
        mode="chaining",
    )
    assert (await result_of(chained, "15 + 27?")).total_cost == Decimal(3)


# Budgets.


@on_a_loop
async def test_the_budget_is_checked_after_each_reply_before_its_tools() -> None:
    manager = priced_manager(usage_reply(ENTER, 1, 1), usage_reply(ADD, 5, 5), budget=Budget(9))
    steps = await steps_of(manager, "15 + 27?")
    verbose = priced_manager(
        usage_reply(ENTER, 1, 1), usage_reply(ADD, 5, 5), budget=9, verbose=True
    )
    (skipped,) = [s for s in await steps_of(verbose, "?") if s.status == "ToolSkipped"]
    assert (skipped.function, skipped.arguments) == ("Add", {"a": 15, "b": 27})
    sentence = "Budget of 9 USD exceeded: 12 USD spent by the request"
    assert statuses_of(steps) == [
        ("ExecutingScene", "Entering scene: Calculator"),
        ("Error", sentence),
        ("Completed", ""),
    ]
    assert steps[1].fatal
    assert steps[1].cost == Decimal(10)
    assert steps[2].stop_reason is SceneStopReason.BUDGET


@on_a_loop
async def test_a_call_over_budget_has_a_result_that_says_so() -> None:
    store = RecordingStore()
    manager = priced_manager(usage_reply(ADD, 5, 5), budget=9, conversations=store)
    result = await result_of(manager, "15 + 27?", scene="Calculator")
    assert result.stop_reason is SceneStopReason.BUDGET
    (aggregate,) = [m for m in result.messages if isinstance(m, tw.ToolAggregateMessage)]
    assert aggregate.tool_results[0].error_code is tw.ErrorCode.INTERRUPTED
    assert "before it started" in aggregate.tool_results[0].result
    assert store.saved[0].messages == list(result.messages)


@on_a_loop
async def test_an_answer_over_budget_is_still_an_answer() -> None:
    steps = await steps_of(priced_manager(usage_reply("Hello!", 5, 5), budget="9.99"), "Hi!")
    assert statuses_of(steps) == [
        ("Running", "Hello!"),
        ("Error", "Budget of 9.99 USD exceeded: 10 USD spent by the request"),
        ("Completed", "Hello!"),
    ]
    assert steps[-1].stop_reason is SceneStopReason.BUDGET


@on_a_loop
async def test_spending_exactly_the_budget_does_not_exceed_it() -> None:
    assert (
        await result_of(priced_manager(usage_reply("Hello!", 5, 5), budget=10), "Hi!")
    ).text == "Hello!"


@pytest.mark.parametrize(
    ("scope", "reason"), [("request", "completed"), ("conversation", "budget")]
)
@on_a_loop
async def test_a_budget_is_for_a_request_or_for_a_conversation(scope: Any, reason: str) -> None:
    store = RecordingStore()
    manager = priced_manager(
        usage_reply("One.", 3, 3),
        usage_reply("Two.", 3, 3),
        budget=Budget(10, scope),
        conversations=store,
    )
    await result_of(manager, "One?", conversation="c")
    result = await result_of(manager, "Two?", conversation="c")
    assert result.stop_reason.value == reason
    assert result.total_cost == Decimal(6)
    assert store.saved[-1].cost.amount == Decimal(12)


@on_a_loop
async def test_a_conversation_over_budget_sends_no_request() -> None:
    manager = priced_manager(usage_reply("One.", 3, 3), budget=Budget(5, "conversation"))
    assert (await result_of(manager, "One?", conversation="c")).text == "One."
    result = await result_of(manager, "Two?", conversation="c")
    assert (result.stop_reason.value, result.iterations, result.total_cost) == ("budget", 0, 0)
    assert len(model_of(manager).requests) == 1


@on_a_loop
async def test_a_request_may_have_a_budget_of_its_own() -> None:
    manager = priced_manager(usage_reply("One.", 3, 3), usage_reply("Two.", 3, 3), budget=1)
    assert (await result_of(manager, "One?", budget=6)).stop_reason is SceneStopReason.COMPLETED
    assert (await result_of(manager, "Two?")).stop_reason is SceneStopReason.BUDGET


def test_a_step_is_written_as_json_has_it() -> None:
    step = SceneStep(
        SceneStatus.COMPLETED,
        "S",
        call_id="c1",
        cost=Decimal("0.10"),
        total_cost=Decimal("0.30"),
        stop_reason=SceneStopReason.COMPLETED,
        arguments={"a": [1]},
    )
    assert step.to_dict() == {
        "status": "Completed",
        "scene": "S",
        "callId": "c1",
        "arguments": {"a": [1]},
        "inputTokens": 0,
        "outputTokens": 0,
        "cost": "0.10",
        "totalCost": "0.30",
        "fatal": False,
        "stopReason": "completed",
        "totalInputTokens": 0,
        "totalOutputTokens": 0,
        "estimated": False,
    }


# Rates.


@on_a_loop
async def test_a_rate_limited_request_loads_and_saves_nothing() -> None:
    store = RecordingStore()
    limiter = RateLimiter(RateLimit(1, per=60, on_limit="refuse"))
    manager = manager_of("Hello!", "Hello!", rate_limiter=limiter, conversations=store)
    assert (await result_of(manager, "Hi!", user="ann")).text == "Hello!"
    store.saved.clear()
    store.loaded.clear()
    steps = await steps_of(manager, "Hi!", user="ann")
    assert [step.status.value for step in steps] == ["Error", "Completed"]
    assert steps[0].message is not None
    assert steps[0].message.startswith("Rate limit exceeded: the rate limit is 1")
    assert steps[0].fatal
    assert steps[1].stop_reason is SceneStopReason.RATE_LIMITED
    assert (store.saved, store.loaded) == ([], [])
    assert (await result_of(manager, "Hi!", user="bob")).text == "Hello!"
    assert len(model_of(manager).requests) == 2


@on_a_loop
async def test_the_application_chooses_the_key_of_a_rate_limit() -> None:
    manager = manager_of(
        "Hello!",
        rate_limiter=RateLimit(1, per=60, on_limit="refuse"),
        rate_key=lambda request: str(request.metadata["tenant"]),
    )
    await result_of(manager, "Hi!", user="ann", metadata={"tenant": 1})
    result = await result_of(manager, "Hi!", user="bob", metadata={"tenant": 1})
    assert result.stop_reason is SceneStopReason.RATE_LIMITED


# Conversations.


@on_a_loop
async def test_a_conversation_continues_and_can_start_with_a_history() -> None:
    manager = manager_of("Ann.", "Still Ann.")
    first = await result_of(manager, "And I?", conversation="c", history=["I am Ann."])
    again = await result_of(manager, "And now?", conversation="c", history=["I am Bob."])
    assert [m.text for m in again.messages] == [
        "I am Ann.",
        "And I?",
        "Ann.",
        "And now?",
        "Still Ann.",
    ]
    assert [m.text for m in again.new_messages] == ["And now?", "Still Ann."]
    assert first.conversation == again.conversation == "c"


@on_a_loop
async def test_runs_of_one_conversation_are_serialized() -> None:
    asked: list[str] = []
    begun, go = asyncio.Event(), asyncio.Event()

    async def slowly(messages: Any) -> str:
        asked.append(messages[-1].text)
        if messages[-1].text == "One?":
            begun.set()
            await go.wait()
        return "Hello!"

    manager = SceneManager(slowly)
    manager.scene("S")
    first = asyncio.ensure_future(result_of(manager, "One?", conversation="c"))
    await begun.wait()
    second = asyncio.ensure_future(result_of(manager, "Two?", conversation="c"))
    other = await result_of(manager, "Hi!", conversation="d")
    assert other.text == "Hello!"
    go.set()
    await asyncio.gather(first, second)
    assert len((await second).messages) == 4
    assert asked == ["One?", "Hi!", "Two?"]


@on_a_loop
async def test_long_conversations_are_summarized_with_their_calls() -> None:
    summing = ScriptedModel(usage_reply("Ann adds numbers.", 4, 4), name="m1")
    manager = priced_manager(
        ENTER,
        ADD,
        "42.",
        "As before: 42.",
        summarizer=Summarizer(summing, max_messages=3, keep=1),
        verbose=True,
    )
    await result_of(manager, "15 + 27?", conversation="c")
    steps = await steps_of(manager, "And again?", conversation="c")
    assert ("Summarizing", "Summarizing cached conversation") in statuses_of(steps)
    assert sum(step.cost or 0 for step in steps) == steps[-1].total_cost >= Decimal(8)
    (request,) = summing.requests
    assert 'Add: {"a": 15, "b": 27}' in request.messages[-1].text
    assert "The tool Add answered: 42.0" in request.messages[-1].text
    read = model_of(manager).requests[-1].messages
    assert any("Ann adds numbers." in message.text for message in read)
    result = await result_of(manager_of("Hi!"), "Hi!")
    assert result.text == "Hi!"


@on_a_loop
async def test_a_failed_summary_leaves_the_conversation_unchanged() -> None:
    manager = manager_of(
        "One.",
        "Two.",
        summarizer=Summarizer(
            ScriptedModel(tw.ModelError("down", "openai", 503)), max_messages=1, keep=0
        ),
    )
    await result_of(manager, "One?", conversation="c")
    steps = await steps_of(manager, "Two?", conversation="c")
    assert statuses_of(steps) == [
        ("Error", "OpenAI API error: 503 Service Unavailable"),
        ("Running", "Two."),
        ("Completed", "Two."),
    ]
    assert not steps[0].fatal
    assert len(model_of(manager).requests[1].messages) == 4


def test_prices_are_a_table_or_a_mapping() -> None:
    assert manager_of(prices=PriceTable({})).model.name == "m1"
    assert Cost().amount == 0
    assert call("Add").startswith("<tool_call")
