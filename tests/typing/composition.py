"""Types of agents of agents: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import assert_type

from toolweave import Agent, Handoff, HandoffEvent, Message, Summarizer, Tool, UsageLimits
from toolweave.agent import AgentEvent, AgentResult, RunnableAgent
from toolweave.tools import RunContext


@dataclass
class Trip:
    city: str


async def model(messages: Sequence[Message]) -> str:
    return f"{len(messages)}"


def newest(messages: list[Message]) -> list[Message]:
    return messages[-3:]


async def for_city(context: RunContext[Trip], messages: list[Message]) -> list[Message]:
    return messages if context.deps.city else []


def wrong(messages: list[Message]) -> int:
    return len(messages)


async def composing() -> None:
    inner = Agent(model, name="inner")
    assert_type(inner.as_tool("ask", "Asks.", timeout=3), Tool[..., Any])
    outer = Agent(
        model,
        [inner.as_tool()],
        handoffs=[inner, Handoff(inner, input_filter=newest)],
        history_processors=[newest, for_city, Summarizer(model)],
        usage_limits=UsageLimits(requests=3),
    )
    result = await outer.run("Hi!", conversation="ann-1", usage_limits=UsageLimits(tool_calls=2))
    assert_type(result.last_agent, RunnableAgent)
    assert_type(await result.last_agent.run("And?", history=result.messages), AgentResult[Any])
    # A variable for the agent of the next turn needs no cast.
    agent: Agent[None, str] | RunnableAgent = outer
    agent = (await agent.run("Hi!")).last_agent
    assert_type(await agent.run("And?"), AgentResult[Any])
    assert_type(outer.run_stream_sync("Hi!"), Generator[AgentEvent, None, None])
    for event in outer.run_stream_sync("Hi!"):
        if isinstance(event, HandoffEvent):
            assert_type(event.to_agent, str)

    Agent(model, history_processors=[wrong])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    Agent(model, handoffs=["inner"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    inner.as_tool(time_out=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    UsageLimits(3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def with_dependencies() -> None:
    guide = Agent(model, name="guide", deps_type=Trip)
    traveller = Agent(model, deps_type=Trip, handoffs=[guide, Handoff(guide)])
    result = traveller.run_sync("Hi!", deps=Trip("Oslo"))
    result.last_agent.run_sync("And?", deps=Trip("Rome"))
    # An agent without dependencies has none to hand over.
    Agent(model, deps_type=int, handoffs=[guide])  # type: ignore[misc]  # pyright: ignore[reportArgumentType]
