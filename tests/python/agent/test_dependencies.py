"""Dependencies reach the tools of a run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from toolweave import (
    Agent,
    NaturalToolUse,
    RunContext,
    ToolAggregateMessage,
    ToolCall,
    ToolContext,
    ToolExecutor,
    ToolResult,
)
from toolweave.testing import ScriptedModel


@dataclass(frozen=True)
class Trip:
    city: str


async def book(context: ToolContext[Trip], nights: int) -> str:
    return f"{nights} nights in {context.deps.city}, run {context.run.run_id}"


def where(*, context: ToolContext[Trip]) -> str:
    return context.deps.city


def agent() -> Agent[Trip, str]:
    model = ScriptedModel('<book>{"nights": 2}</book><where>{}</where>', "Done.")
    return Agent[Trip](model, [book, where])


def test_every_way_to_start_a_run_brings_its_dependencies_to_the_tools() -> None:
    async def results(way: str) -> list[str]:
        oslo = Trip("Oslo")
        if way == "run":
            ended = await agent().run("Book.", deps=oslo)
        elif way == "open":
            ended = await agent().open("Book.", deps=oslo).wait()
        elif way == "resume":
            ended = await agent().resume("Book.", deps=oslo)
        else:
            *_, ended = [event async for event in agent().stream("Book.", deps=oslo)]
        found = [
            each for message in ended.messages for each in getattr(message, "tool_results", ())
        ]
        return [each.result.partition(",")[0] for each in found]

    for way in ("run", "open", "resume", "stream"):
        assert asyncio.run(results(way)) == ["2 nights in Oslo", "Oslo"], way
    assert agent().run_sync("Book.", deps=Trip("Rome")).output == "Done."


def test_runs_of_one_agent_do_not_share_dependencies() -> None:
    async def run(executor: ToolExecutor, city: str) -> str:
        call = ToolCall("1", "where", {})
        done = await executor.execute([call], deps=Trip(city))
        return done.tool_results[0].result

    async def main() -> list[str]:
        executor = ToolExecutor([where])
        cities = [f"City {number}" for number in range(20)]
        found = await asyncio.gather(*(run(executor, city) for city in cities))
        assert found == cities
        return found

    asyncio.run(main())


def test_dependencies_of_another_type_are_refused_before_the_first_request() -> None:
    model = ScriptedModel()
    with pytest.raises(TypeError, match="deps must be Trip for the agent, got int"):
        Agent(model, deps_type=Trip).open("Hi!", deps=3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="deps must be Trip for desk, got None"):
        Agent(model, deps_type=Trip, name="desk").open("Hi!")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="deps_type must be a type, got 3"):
        Agent(model, deps_type=3)  # type: ignore[arg-type]
    assert model.requests == []


def test_a_context_shows_neither_its_dependencies_nor_its_messages() -> None:
    assert repr(RunContext("secret", run_id="r")) == (
        "RunContext(run_id='r', chat_id=None, iterations=0)"
    )


def test_a_run_of_one_reply_brings_its_dependencies_too() -> None:
    async def main(way: str) -> list[str]:
        model = ScriptedModel("", '<book>{"nights": 2}</book><where>{}</where>')
        use = NaturalToolUse[Trip](model, [book, where])
        if way == "stream":
            events = [event async for event in use.stream("Book.", deps=Trip("Oslo"))]
            return [each.result for each in events if isinstance(each, ToolResult)]
        if way == "complete":
            messages = await use.complete("Book.", deps=Trip("Oslo"))
        else:
            await use.open("Book.", deps=Trip("Bergen")).wait()
            context = RunContext(Trip("Oslo"), run_id="r")
            messages = list(await use.open("Book.", run_context=context).wait())
        (aggregate,) = (each for each in messages if isinstance(each, ToolAggregateMessage))
        return [each.result for each in aggregate.tool_results]

    for way in ("stream", "complete", "open"):
        run_id = "r" if way == "open" else None
        assert asyncio.run(main(way)) == [f"2 nights in Oslo, run {run_id}", "Oslo"], way


def test_nested_calls_share_the_context_of_the_run() -> None:
    async def ask(context: ToolContext[Trip]) -> str:
        found: str = await context.call("where", {})
        return f"It is {found}."

    async def main() -> str:
        done = await ToolExecutor([ask, where]).execute(
            [ToolCall("1", "ask", {})], deps=Trip("Oslo")
        )
        return done.tool_results[0].result

    assert asyncio.run(main()) == "It is Oslo."
