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
        handoffs = [
            Handoff(self.agent(f"{name}h{n}", depth - 1), input_filter=self.processor())
            for n in range(self.random.randrange(2) if depth else 0)
        ]
        made: Agent[Any, Any] = Agent(
            ScriptedModel(*[self.reply] * 200),
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
