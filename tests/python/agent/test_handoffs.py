"""Handing a run over to another agent."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import toolweave as tw
from coroutine_tests import collect, of_kind, on_a_loop
from toolweave.agent import Agent, AgentResult, Handoff, HandoffEvent
from toolweave.exceptions import ContractError, MessageError
from toolweave.kinds import StopReason
from toolweave.lifecycle import StreamEventMapper
from toolweave.protocols import ModelOptions
from toolweave.testing import ScriptedModel

TO_BILLING = "<transfer_to_billing/>"


def look_up(invoice: int) -> str:
    return f"Invoice {invoice} is paid."


@on_a_loop
async def test_the_run_goes_on_with_the_other_agent() -> None:
    model = ScriptedModel('<look_up>{"invoice": 7}</look_up>', "It is paid.", "You are welcome.")
    options = ModelOptions(temperature=0.5)
    billing = Agent(model, [look_up], name="billing", instructions="You bill.", options=options)
    triage = Agent(ScriptedModel(TO_BILLING), name="triage", handoffs=[billing])
    events = await collect(triage.stream("Is invoice 7 paid?"))
    [handoff] = of_kind(HandoffEvent, events)
    assert (handoff.from_agent, handoff.to_agent) == ("triage", "billing")
    result = events[-1]
    assert (result.text, result.iterations) == ("It is paid.", 3)
    assert [each.from_agent for each in result.messages] == [None, "triage", "billing", "billing"]
    assert handoff.tool_call_id == result.messages[1].tool_calls[0].id
    assert result.messages[1].tool_results[0].result == "Transferred to billing."
    first = model.requests[0]
    assert first.messages[0].text.startswith("You bill.")
    assert first.options is not None
    assert first.options.temperature == 0.5
    assert "transfer_to_billing" not in first.messages[0].text
    # The next turn.
    assert result.last_agent is billing
    thanks = await result.last_agent.run("Thanks!", history=result.messages)
    assert (thanks.text, thanks.last_agent) == ("You are welcome.", billing)


def test_a_pickled_result_has_no_agent() -> None:
    result = Agent(ScriptedModel("Hi.")).run_sync("Hi!")
    copied: AgentResult[str] = pickle.loads(pickle.dumps(result))
    assert copied == result
    with pytest.raises(RuntimeError, match=r"history=result\.messages"):
        _ = copied.last_agent


@on_a_loop
async def test_the_filter_decides_what_is_sent_and_not_what_is_stored() -> None:
    model = ScriptedModel('<look_up>{"invoice": 7}</look_up>', "It is paid.")
    billing = Agent(model, [look_up], name="billing")
    only_user = Handoff(
        billing, input_filter=lambda messages: [m for m in messages if m.role is tw.Role.USER]
    )
    triage = Agent(ScriptedModel(f"One moment. {TO_BILLING}"), handoffs=[only_user])
    result = await triage.run("Is it paid?", history=["Hi!"])
    [_, user] = model.requests[0].messages
    assert user.text == "Hi!\nIs it paid?"
    # The messages of the other agent follow the filtered ones.
    assert model.requests[1].messages[1] == user
    assert len(model.requests[1].messages) == 4
    assert len(result.messages) == 6


@on_a_loop
async def test_a_filter_must_keep_calls_with_their_results() -> None:
    billing = Agent(ScriptedModel(), name="billing")

    def cut(messages: list[tw.Message]) -> list[tw.Message]:
        called = messages[-1]
        assert isinstance(called, tw.ToolAggregateMessage)
        return [*messages[:-1], tw.ToolCallMessage(called.tool_calls)]

    triage = Agent(ScriptedModel(TO_BILLING), handoffs=[Handoff(billing, input_filter=cut)])
    with pytest.raises(
        MessageError, match=r"^input filter 'cut' must keep calls .* got the call of 'transfer_to"
    ):
        await triage.run("Hi!")


@on_a_loop
async def test_agents_that_hand_over_in_a_circle_stop() -> None:
    one = Agent(ScriptedModel(*["<transfer_to_two/>"] * 9), name="one", max_iterations=5)
    two = Agent(ScriptedModel(*["<transfer_to_one/>"] * 9), name="two", max_repeats=None)
    one.add_handoff(two)
    two.add_handoff(one)
    result = await one.run("Hi!")
    assert result.stop_reason in (StopReason.MAX_ITERATIONS, StopReason.LOOP)
    assert result.iterations <= 5


@on_a_loop
async def test_the_first_of_several_handoffs_of_a_reply_counts() -> None:
    billing = Agent(ScriptedModel("Billing here."), name="billing")
    sales = Agent(ScriptedModel(), name="sales")
    model = ScriptedModel("<transfer_to_billing/><transfer_to_sales/>")
    result = await Agent(model, handoffs=[billing, sales]).run("Hi!")
    assert result.last_agent is billing
    message = result.messages[1]
    assert isinstance(message, tw.ToolAggregateMessage)
    assert [each.is_error for each in message.tool_results] == [False, True]


@on_a_loop
async def test_stream_events_name_the_agent_that_answers() -> None:
    billing = Agent(ScriptedModel("Hello."), name="billing")
    mapper = StreamEventMapper("chat", "run", from_agent="triage")
    shown: list[Any] = []
    async with Agent(ScriptedModel(TO_BILLING), name="triage", handoffs=[billing]).open("?") as run:
        async for event in run:
            shown += mapper.map(event, generation_id=run.generation_id)
    assert {each["fromAgent"] for each in shown if each["kind"] == "text"} == {"billing"}
    assert {each["fromAgent"] for each in shown if each["kind"] == "tools_call"} == {"triage"}


def test_invalid_handoffs_are_refused() -> None:
    with pytest.raises(ValueError, match="must have a name to be handed over to"):
        Agent(ScriptedModel(), handoffs=[Agent(ScriptedModel())])
    billing = Agent(ScriptedModel(), name="billing")
    with pytest.raises(ContractError, match="'transfer_to_billing' is given more than once"):
        Agent(ScriptedModel(), handoffs=[billing, billing])
    with pytest.raises(ValueError, match="must have tools of its own"):
        Agent(ScriptedModel(), tw.Toolset([look_up]), handoffs=[billing])
    with pytest.raises(TypeError, match="input_filter must be a function"):
        Handoff(billing, input_filter=7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="handoffs must be a list of agents"):
        Agent(ScriptedModel(), handoffs=[7])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("name", "tool"), [("Ann Lee", "Ann_Lee"), ("?!", "agent")])
def test_the_tool_has_a_name_that_providers_accept(name: str, tool: str) -> None:
    assert Handoff(Agent(ScriptedModel(), name=name)).tool_name == f"transfer_to_{tool}"
