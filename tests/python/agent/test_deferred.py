"""Runs that pause for deferred results, also across a restart."""

from __future__ import annotations

import json
from typing import Any

import pytest

import toolweave as tw
from coroutine_tests import collect, of_kind, on_a_loop
from toolweave.agent import Agent, AgentResult
from toolweave.executor import Deferred, DeferredResults, ToolDeferred
from toolweave.kinds import Outcome, StopReason
from toolweave.testing import ScriptedModel


def book(table: int) -> Deferred:
    return Deferred(f"booking-{table}")


def ping() -> str:
    return "pong"


def booking(table: int) -> str:
    return f'<book>{{"table": {table}}}</book>'


def agent_of(*replies: Any, **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(*replies)
    return Agent(model, [book, ping], **options), model


@on_a_loop
async def test_a_run_pauses_for_a_deferred_result_and_resumes_with_it() -> None:
    agent, model = agent_of(["One moment. ", booking(4), "<ping/>"], "It is booked.")
    paused = await agent.run("A table, please.")
    assert paused.stop_reason is StopReason.DEFERRED
    assert paused.text == "One moment."
    (pending,) = paused.deferred
    assert (pending.name, pending.key) == ("book", "booking-4")
    assert len(model.requests) == 1

    assert agent.resolve(pending.key, {"confirmed": True}) is Outcome.RESOLVED
    result = await agent.resume(paused)
    assert (result.text, result.stop_reason) == ("It is booked.", "completed")
    assert result.deferred == ()
    aggregate = result.messages[2]
    assert isinstance(aggregate, tw.ToolAggregateMessage)
    assert [r.result for r in aggregate.tool_results] == ['{"confirmed":true}', "pong"]
    assert "confirmed" in model.requests[1].messages[-1].text


@on_a_loop
async def test_while_one_result_is_awaited_the_model_is_not_asked() -> None:
    agent, model = agent_of([booking(4), booking(5)], "Both are booked.")
    paused = await agent.run("Two tables, please.")
    assert [each.key for each in paused.deferred] == ["booking-4", "booking-5"]
    agent.resolve("booking-5", "yes")
    still = await agent.resume(paused)
    assert still.stop_reason is StopReason.DEFERRED
    assert [each.key for each in still.deferred] == ["booking-4"]
    assert len(model.requests) == 1
    agent.resolve("booking-4", "no", is_error=True)
    result = await agent.resume(still)
    assert result.text == "Both are booked."
    aggregate = result.messages[1]
    assert isinstance(aggregate, tw.ToolAggregateMessage)
    assert [(r.result, r.is_error) for r in aggregate.tool_results] == [
        ("no", True),
        ("yes", False),
    ]


@on_a_loop
@pytest.mark.parametrize("written", [True, False])
async def test_another_process_can_continue(written: bool) -> None:
    first, _ = agent_of(booking(4))
    paused = await first.run("A table, please.")
    messages = [message.to_json() for message in paused.messages]
    awaited = json.dumps(first.executor.deferred.to_dict())

    deferred = DeferredResults.from_dict(json.loads(awaited))
    second, model = agent_of("It is booked.", deferred=deferred)
    assert second.resolve("booking-4", "yes") is Outcome.RESOLVED
    history: Any = [
        tw.message_from_json(text) if written else json.loads(text) for text in messages
    ]
    result = await second.resume(history)
    assert result.text == "It is booked."
    assert "yes" in model.requests[0].messages[-1].text


@on_a_loop
async def test_a_stream_yields_the_deferral_and_then_the_result() -> None:
    agent, _ = agent_of(booking(4), "It is booked.")
    *events, paused = await collect(agent.stream("A table, please."))
    assert [event.key for event in of_kind(ToolDeferred, events)] == ["booking-4"]
    assert isinstance(paused, AgentResult)
    agent.resolve("booking-4", "yes")
    *events, result = await collect(agent.stream(None, history=paused.messages))
    late, aggregate = events[:2]
    assert isinstance(late, tw.ToolResult)
    assert (late.name, late.result) == ("book", "yes")
    assert aggregate == result.messages[1]


@on_a_loop
async def test_new_input_is_answered_while_a_result_is_pending() -> None:
    agent, model = agent_of(booking(4), "It takes a while.", "It is booked.")
    paused = await agent.run("A table, please.")
    result = await agent.run("How long does it take?", history=paused.messages)
    assert result.text == "It takes a while."
    assert 'status="pending"' in model.requests[1].messages[-1].text
    assert [each.key for each in result.deferred] == ["booking-4"]
    agent.resolve("booking-4", "yes")
    final = await agent.run("And now?", history=result.messages)
    assert "pending" not in "".join(m.text for m in model.requests[2].messages)
    assert final.deferred == ()


@on_a_loop
async def test_late_results_are_truncated_like_others() -> None:
    agent, _ = agent_of(booking(4), "It is booked.", max_result_chars=200)
    paused = await agent.run("A table, please.")
    agent.resolve("booking-4", "y" * 5000)
    result = await agent.resume(paused)
    aggregate = result.messages[1]
    assert isinstance(aggregate, tw.ToolAggregateMessage)
    assert len(aggregate.tool_results[0].result) <= 400
