"""Laws of trees of agents: usage adds up, limits hold, histories stay valid, every run ends."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

import toolweave as tw
from coroutine_tests import TEST_TIMEOUT
from toolweave.agent import Agent, AgentResult, Handoff, UsageLimits
from toolweave.costs import Budget, Price
from toolweave.scenes import SceneManager, SceneResult, SceneStep
from toolweave.testing import ScriptedModel

LIMITS = st.builds(
    UsageLimits,
    requests=st.none() | st.integers(0, 12),
    tool_calls=st.none() | st.integers(0, 6),
    input_tokens=st.none() | st.integers(0, 60),
    output_tokens=st.none() | st.integers(0, 12),
    total_tokens=st.none() | st.integers(0, 70),
)


@dataclass
class Spent:
    """Usage that the models of all agents have reported."""

    requests: int = 0
    inputs: int = 0
    outputs: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    largest: int = 0


@dataclass
class World:
    """A random tree of agents, whose replies come from one seed."""

    seed: int
    spent: Spent = field(default_factory=Spent)
    histories: list[list[str]] = field(default_factory=list)
    agents: list[Agent[Any, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def agent(self, name: str, depth: int) -> Agent[Any, Any]:
        """Return an agent with agents as tools and handoffs, which are trees as well."""
        chance = self.random.random
        width = self.random.randrange(3) if depth else 0
        tools: list[Any] = [self.agent(f"{name}t{n}", depth - 1).as_tool() for n in range(width)]
        if depth and chance() < 0.4:
            tools.append(self.scenes_tool(f"{name}ts", depth - 1))
        handoffs = [
            Handoff(self.agent(f"{name}h{n}", depth - 1), input_filter=self.processor())
            for n in range(self.random.randrange(2) if depth else 0)
        ]
        made: Agent[Any, Any] = Agent(
            ScriptedModel(*[self.reply] * 200, name="m"),
            [*tools, self.fail, self.ping],
            name=name,
            handoffs=handoffs,
            history_processors=[self.processor()] if chance() < 0.3 else [],
            max_iterations=4,
            answer_at_limit=chance() < 0.3,
        )
        self.agents.append(made)
        if self.agents and chance() < 0.3:
            made.add_handoff(Handoff(self.random.choice(self.agents), name=f"back_{name}"))
        return made

    def scenes(self, name: str, depth: int, **options: Any) -> SceneManager[Any]:
        """Return scenes with trees of agents as tools."""
        manager = SceneManager(
            ScriptedModel(*[self.reply] * 200, name="m"),
            max_iterations=4,
            max_scenes=2,
            answer_at_limit=self.random.random() < 0.3,
            **options,
        )
        for number in range(self.random.randrange(1, 3)):
            scene = manager.scene(f"s_{name}{number}", "Does things.").tools([self.fail, self.ping])
            if depth:
                scene.tool(self.agent(f"{name}t{number}", depth - 1).as_tool())
        return manager

    def scenes_tool(self, name: str, depth: int) -> tw.Tool[..., Any]:
        """Return a tool that runs scenes."""
        manager = self.scenes(name, depth)

        async def run(input: str) -> str:  # noqa: A002 - the name of the argument
            result = await manager.run(input)
            check_history(result.messages)
            return result.text

        return tw.tool(run, name=name)

    async def fail(self) -> None:
        raise tw.ToolError("It failed.")

    async def ping(self) -> str:
        await asyncio.sleep(0)
        return "pong"

    def processor(self) -> Callable[[list[tw.Message]], list[tw.Message]]:
        kept = self.random.randrange(1, 4)
        return lambda messages: messages[-kept:]

    async def reply(self, messages: Sequence[tw.Message]) -> list[str | tw.UsageUpdate]:
        spent = self.spent
        prompt = messages[0].text if isinstance(messages[0], tw.TextMessage) else ""
        names = [line.removeprefix("## ") for line in prompt.split("\n") if line[:3] == "## "]
        called = [each for each in names if self.random.random() < 0.35]
        text = "".join(
            f'<{each}>{{"input": "go"}}</{each}>'
            if "t" in each and "_" not in each
            else f"<{each}/>"
            for each in called
        )
        inputs, outputs = self.random.randrange(1, 12), self.random.randrange(1, 4)
        spent.in_flight += 1
        spent.most_in_flight = max(spent.most_in_flight, spent.in_flight)
        try:
            for _ in range(self.random.randrange(3)):
                await asyncio.sleep(0)
        finally:
            spent.in_flight -= 1
        spent.requests += 1
        spent.inputs += inputs
        spent.outputs += outputs
        spent.largest = max(spent.largest, inputs + outputs)
        return [text or "Done.", tw.UsageUpdate(inputs, outputs)]


def check_history(messages: Sequence[tw.Message]) -> None:
    """Check that every call has exactly one result, and that the next request can send it."""
    for message in messages:
        if isinstance(message, tw.ToolAggregateMessage):
            assert [each.tool_call_id for each in message.tool_results] == [
                each.id for each in message.tool_calls
            ]
    if any(isinstance(each, tw.TextMessage) for each in messages):
        assert tw.to_openai(messages)


async def run_tree(world: World, limits: UsageLimits, stop_after: int | None) -> AgentResult[Any]:
    run = world.agent("root", 2).open("Go!", usage_limits=limits)

    async def read() -> None:
        seen = 0
        async for _ in run:
            seen += 1
            if seen == stop_after:
                await run.cancel()

    async with run:
        await asyncio.wait_for(read(), TEST_TIMEOUT)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left
    assert run.result is not None
    return run.result


@given(seed=st.integers(0, 2**32), limits=LIMITS, stop_after=st.none() | st.integers(1, 40))
def test_the_laws_of_every_tree(seed: int, limits: UsageLimits, stop_after: int | None) -> None:
    world = World(seed)
    result = asyncio.run(run_tree(world, limits, stop_after))
    spent, stop = world.spent, result.stop_reason
    event(stop.value)
    event(f"agents: {min(len(world.agents), 9)}, requests: {min(spent.requests, 20)}")
    check_history(result.messages)
    # Usage adds up exactly, unless a reply was cut off before its usage was reported.
    if stop is not tw.StopReason.CANCELLED:
        assert (result.usage.input_tokens, result.usage.output_tokens) == (
            spent.inputs,
            spent.outputs,
        )
        assert (result.cost.input_tokens, result.cost.output_tokens, result.cost.requests) == (
            spent.inputs,
            spent.outputs,
            spent.requests,
        )
    # Requests and calls never exceed their limits, tokens not by more than what was in flight.
    assert limits.requests is None or result.cost.requests <= limits.requests
    assert limits.tool_calls is None or result.tool_calls <= limits.tool_calls
    slack = max(1, spent.most_in_flight) * spent.largest
    total = result.cost.input_tokens + result.cost.output_tokens
    for limit, used in (
        (limits.input_tokens, result.cost.input_tokens),
        (limits.output_tokens, result.cost.output_tokens),
        (limits.total_tokens, total),
    ):
        if stop is not tw.StopReason.CANCELLED and limit is not None:
            assert used <= max(0, limit - 1) + slack
    assert (result.error is not None) == (stop is tw.StopReason.USAGE_LIMIT)
    assert result.last_agent in world.agents


async def run_scenes(world: World, budget: float) -> tuple[SceneResult[Any], SceneStep]:
    # One unit for each token.
    prices = {"m": Price("1000000", "1000000")}
    allowed = Budget(budget, unpriced="allow")
    run = world.scenes("root", 2, prices=prices, budget=allowed).open("Go!")

    async def read() -> list[SceneStep]:
        return [step async for step in run]

    async with run:
        steps = await asyncio.wait_for(read(), TEST_TIMEOUT)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert run.result is not None
    return run.result, steps[-1]


@given(seed=st.integers(0, 2**32), budget=st.integers(1, 150))
def test_agents_in_scenes_count_in_the_budget_of_the_scenes(seed: int, budget: int) -> None:
    world = World(seed)
    result, last = asyncio.run(run_scenes(world, budget))
    spent = world.spent
    event(result.stop_reason.value)
    event(f"agents: {min(len(world.agents), 9)}, requests: {min(spent.requests, 20)}")
    check_history(result.messages)
    used = (spent.inputs, spent.outputs)
    assert (result.input_tokens, result.output_tokens) == used
    assert (last.total_input_tokens, last.total_output_tokens) == used
    assert result.total_cost == sum(used)
    # No request is sent once the budget is exceeded, so what was in flight is all that can be more.
    assert result.total_cost <= budget + max(1, spent.most_in_flight) * spent.largest
