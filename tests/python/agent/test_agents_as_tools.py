"""Agents as tools of other agents."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest

import toolweave as tw
from agent_results import tool_results
from coroutine_tests import collect, of_kind, on_a_loop
from toolweave.agent import Agent
from toolweave.exceptions import ModelError
from toolweave.executor import ToolProgress, ToolQuestion
from toolweave.testing import ScriptedModel


def ask(name: str, task: str = "Go.") -> str:
    return f'<{name}>{{"input": "{task}"}}</{name}>'


@on_a_loop
async def test_the_answer_is_the_result_and_the_work_is_progress() -> None:
    async def look(place: str) -> str:
        return f"{place}: rain"

    inner = Agent(ScriptedModel('<look>{"place": "Oslo"}</look>', "Rain."), [look], name="weather")
    outer = Agent(ScriptedModel(ask("weather", "Oslo?"), "It rains."), [inner.as_tool()])
    events = await collect(outer.stream("Oslo?"))
    assert [each.value for each in of_kind(ToolProgress, events)] == ["Calling look"]
    assert [each.result for each in of_kind(tw.ToolResult, events)] == ["Rain."]
    assert isinstance(inner.executor.toolset, tw.Toolset)
    # The messages of the inner run are its own.
    assert len(events[-1].messages) == 3


def test_the_contract_has_the_task() -> None:
    tool = Agent(ScriptedModel(), name="Math Wiz").as_tool(description="Does sums.")
    assert (tool.name, tool.contract.description) == ("Math_Wiz", "Does sums.")
    assert tool.contract.parameters is not None
    assert tool.contract.parameters["required"] == ["input"]
    assert Agent(ScriptedModel()).as_tool("sums").name == "sums"
    with pytest.raises(ValueError, match=r"as_tool\(name=...\)"):
        Agent(ScriptedModel()).as_tool()


@dataclass
class Trip:
    place: str
    days: int


@on_a_loop
async def test_a_typed_task_is_read_as_json() -> None:
    model = ScriptedModel("Packed.")
    tool = Agent(model, name="packer").as_tool(input_type=Trip)
    call = '<packer>{"input": {"place": "Oslo", "days": 2}}</packer>'
    result = await Agent(ScriptedModel(call, "Done."), [tool]).run("Pack!")
    assert result.text == "Done."
    assert json.loads(model.requests[0].messages[-1].text) == {"place": "Oslo", "days": 2}


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (ModelError("no connection", "acme"), "no connection"),
        (["", tw.FinishUpdate("length")], "'inner' did not finish (length)"),
        ("", "'inner' did not finish (empty)"),
    ],
)
@on_a_loop
async def test_a_run_without_an_answer_is_an_error_of_the_call(reply: Any, error: str) -> None:
    inner = Agent(ScriptedModel(reply, reply), name="inner")
    outer = Agent(ScriptedModel(ask("inner"), "Sorry."), [inner.as_tool()])
    result = await outer.run("Go!")
    [failed] = tool_results(result)
    assert failed.is_error
    assert error in failed.result
    assert result.text == "Sorry."


@on_a_loop
async def test_the_inner_run_is_cancelled_with_the_call() -> None:
    stopped = asyncio.Event()
    started = asyncio.Event()

    async def hang() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    inner = Agent(ScriptedModel("<hang/>"), [hang], name="inner")
    run = Agent(ScriptedModel(ask("inner")), [inner.as_tool()]).open("Go!")
    waiting = asyncio.create_task(run.wait())
    await started.wait()
    await run.cancel()
    assert stopped.is_set()
    result = await waiting
    assert result.stop_reason is tw.StopReason.CANCELLED
    assert tool_results(result)[0].error_code is tw.ErrorCode.INTERRUPTED


@pytest.mark.parametrize(("is_error", "expected"), [(False, "Oslo it is"), (True, "no time")])
@on_a_loop
async def test_questions_of_inner_tools_are_asked_in_the_outer_run(
    is_error: bool, expected: str
) -> None:
    schema = {"type": "string"}

    async def choose(context: tw.ToolContext, question: str) -> str:
        return f"{await context.ask(question, schema)} it is"

    calls = '<choose>{"question": "Where?"}</choose><choose>{"question": "To?"}</choose>'
    model = ScriptedModel(calls, "Done.")
    # Two agents deep.
    inner = Agent(model, [choose], name="inner")
    middle = Agent(ScriptedModel(ask("inner"), "Yes."), [inner.as_tool()], name="middle")
    outer = Agent(ScriptedModel(ask("middle"), "Bye."), [middle.as_tool()])
    asked: list[ToolQuestion] = []
    run = outer.open("Go!")

    async def read() -> None:
        async for event in run:
            if isinstance(event, ToolQuestion):
                asked.append(event)
                assert event.schema == schema
                answer = "no time" if is_error else "Oslo"
                run.deferred.resolve(event.key, answer, is_error=is_error)

    async with run:
        await asyncio.wait_for(read(), 30)
    assert sorted(each.question for each in asked) == ["To?", "Where?"]
    assert run.result is not None
    assert run.result.text == "Bye."
    assert str(model.requests[-1].messages).count(expected) == 2
    assert not run.deferred.pending
    assert not inner.executor.deferred.pending


@on_a_loop
async def test_agents_that_call_each_other_stop_at_the_depth() -> None:
    depth = 3
    model = ScriptedModel(*[ask("loop")] * (depth + 1), *["Enough."] * (depth + 1))
    agent = Agent(model, name="loop", max_call_depth=depth)
    agent.toolset.add(agent.as_tool())
    result = await agent.run("Go!")
    assert result.text == "Enough."
    assert result.cost.requests == 2 * (depth + 1)
    last = model.requests[depth + 1].messages[-1].text
    assert "agents call agents at most 3 deep" in last


@on_a_loop
async def test_an_agent_that_a_tool_runs_by_itself_counts_as_well() -> None:
    inner = Agent(ScriptedModel(["Rain.", tw.UsageUpdate(5, 1)]))

    async def look() -> str:
        return (await inner.run("Oslo?")).text

    def look_in_a_thread() -> str:
        return Agent(ScriptedModel(["Sun.", tw.UsageUpdate(50, 10)])).run_sync("Nice?").text

    model = ScriptedModel("<look/><look_in_a_thread/>", "Rain and sun.")
    result = await Agent(model, [look, look_in_a_thread]).run("Weather?")
    assert [each.result for each in tool_results(result)] == ["Rain.", "Sun."]
    assert (result.usage.input_tokens, result.usage.output_tokens) == (55, 11)
