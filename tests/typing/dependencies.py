"""Types of dependencies: read by mypy and pyright, never run."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from typing_extensions import assert_type

from toolweave import (
    Agent,
    FunctionCalling,
    Message,
    NaturalToolUse,
    RunContext,
    Scene,
    SceneContext,
    SceneManager,
    SceneRequest,
    SceneResult,
    SceneStep,
    Tool,
    ToolContext,
    Toolset,
    tool,
)
from toolweave.agent import AgentEvent, AgentResult, AgentRun
from toolweave.natural import ReplyRun, ToolUseEvent
from toolweave.web import AgentResponder, SceneResponder, Turn


class Trip: ...


class Cruise(Trip): ...


class Other: ...


async def model(messages: Sequence[Message]) -> str:
    return f"{len(messages)}"


def of_any(context: RunContext) -> str:
    assert_type(context.deps, object)
    return str(context.run_id)


def of_trip(context: RunContext[Trip]) -> str:
    assert_type(context.deps, Trip)
    return str(context.chat_id)


async def of_trip_async(context: RunContext[Trip]) -> str | None:
    return None if context.iterations else ""


def of_other(context: RunContext[Other]) -> str:
    return str(context.deps)


@tool
def add(a: int, b: int) -> int:
    return a + b


@tool
async def book(context: ToolContext[Trip], nights: int) -> str:
    assert_type(context.deps, Trip)
    assert_type(context.run, RunContext[Trip])
    return str(nights)


@tool(timeout=3)
def rebook(context: ToolContext[Trip], nights: int) -> str:
    return f"{context.deps} {nights}"


@tool
def report(context: ToolContext, progress: int) -> None:
    assert_type(context.deps, object)
    context.progress(progress)


@tool
def other(context: ToolContext[Other], name: str) -> str:
    return f"{context.deps} {name}"


@tool("dump")
def dump(value: Any, indent: int = 2) -> str:
    return f"{value} {indent}"


class Desk:
    def find(self, name: str) -> str:
        return name

    @tool
    def book(self, context: ToolContext[Trip], nights: int) -> str:
        return f"{context.deps} {nights}"


class Clerk:
    def act(self, context: SceneContext[Trip]) -> str:
        return str(context.deps)


def of_scene(context: SceneContext[Other]) -> str:
    return str(context.deps)


async def scenes() -> None:
    manager = SceneManager(model, deps_type=Trip)
    assert_type(manager, SceneManager[Trip])
    scene = manager.actor(Clerk()).scene("Desk").tool(book).actor("Be brief.").actor(Clerk())
    assert_type(scene, Scene[Trip])

    @manager.authorize
    def check(request: SceneRequest[Trip]) -> bool:
        assert_type(request.deps, Trip)
        return True

    @manager.before
    def any_request(request: SceneRequest) -> bool:
        return request.user is not None

    del check, any_request
    assert_type(await manager.run("Hi!", deps=Trip(), user="ada"), SceneResult)
    assert_type(await manager.run(SceneRequest("Hi!", deps=Cruise())), SceneResult)
    assert_type(manager.stream("Hi!", deps=Trip()), AsyncGenerator[SceneStep, None])
    request = SceneRequest("Hi!")
    await SceneManager(model).run(request)

    await manager.run("Hi!")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    await manager.run("Hi!", deps=3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    manager.actor(of_scene)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    scene.actor(of_scene)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def web(trip: Callable[[Turn], Trip]) -> None:
    AgentResponder(Agent[Trip](model), deps=trip)
    AgentResponder(lambda turn: Agent[Trip](model, name=turn.user_id), deps=trip)
    AgentResponder(Agent(model))
    SceneResponder(SceneManager(model, deps_type=Trip), deps=trip)

    AgentResponder(Agent[Trip](model))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    AgentResponder(Agent[Other](model), deps=trip)  # type: ignore[misc]  # pyright: ignore[reportCallIssue, reportArgumentType]


async def one_reply() -> None:
    calling = FunctionCalling[Trip](model, [add, book])
    use = NaturalToolUse[Trip](model, [add, book])
    async with calling.open("Hi!", deps=Trip(), chat_id="c") as reply:
        assert_type(reply, ReplyRun)
    use.open("Hi!", run_context=RunContext(Trip()))
    assert_type(await use.complete("Hi!", deps=Cruise()), list[Message])
    assert_type(use.stream("Hi!", deps=Trip()), AsyncGenerator[ToolUseEvent, None])
    assert_type(await NaturalToolUse(model, [add]).complete("Hi!"), list[Message])

    await use.complete("Hi!")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    use.stream("Hi!", deps=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    calling.open("Hi!")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    use.open("Hi!", run_context=RunContext(3))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    NaturalToolUse[Trip](model, [other])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def tools(context: ToolContext[Trip]) -> None:
    rebook.replace(timeout=4)(context, 3)
    rebook(context, 3)
    dump(3, indent=4)
    dump({"a": 1})
    Desk().book(context, 3)

    rebook(context, "3")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def running() -> None:
    agent = Agent[Trip](model, [add, book, rebook, report, dump, Desk().book, Desk().find])
    assert_type(await agent.run("Hi!", deps=Trip()), AgentResult[str])
    assert_type(agent.run_sync("Hi!", deps=Cruise(), history=[]), AgentResult[str])
    assert_type(agent.stream("Hi!", deps=Trip()), AsyncGenerator[AgentEvent[str], None])
    assert_type(agent.open("Hi!", deps=Trip(), run_id="r"), AgentRun[Trip, str])
    assert_type(await agent.resume("Hi!", deps=Trip()), AgentResult[str])

    await agent.run("Hi!")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await agent.run("Hi!", deps=3)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    await agent.run("Hi!", deps=None)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    agent.run_sync("Hi!")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    agent.stream("Hi!")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    agent.open("Hi!")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await agent.resume("Hi!")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await agent.run("Hi!", deps=Trip(), histroy=[])  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


async def without() -> None:
    agent = Agent(model)
    assert_type(agent, Agent[None, str])
    assert_type(await agent.run("Hi!", history=[]), AgentResult[str])
    assert_type(await Agent(model, [add, report]).run("Hi!"), AgentResult[str])
    assert_type(await Agent(model, instructions=of_any).run("Hi!"), AgentResult[str])
    assert_type(await Agent[Trip | None](model).run("Hi!"), AgentResult[str])

    await agent.run("Hi!", deps=3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]


def inferring() -> None:
    assert_type(Agent(model, deps_type=Trip), Agent[Trip, str])
    assert_type(Agent(model, deps_type=Trip, instructions=of_any), Agent[Trip, str])
    assert_type(Agent(model, instructions=of_trip), Agent[Trip, str])
    expected: Agent[Trip] = Agent(model, [book, add])
    del expected
    # What takes any trip takes a cruise.
    narrower: Agent[Cruise] = Agent[Trip](model, [book], instructions=of_trip)
    del narrower

    Agent[Trip](model, instructions=[of_trip, "Be brief.", of_trip_async, of_any])
    Agent[Trip](model, instructions=of_other)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Agent(model, deps_type=Other, instructions=of_trip)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Agent[Cruise](model, instructions=of_trip)
    Agent[Trip](model, prepare_tools=lambda context, tools: tools if context.deps else [])


def giving(function: Callable[[int], str], made: Tool[..., Any]) -> None:
    Agent[Trip](model, [function, made, functools.partial(function, 3), max, lambda: 3, "f"])
    Agent[Trip](model, Toolset([other]))
    Agent[Trip](model, [tool(function, name="f")])

    Agent[Trip](model, [other])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    Agent[Trip](model, [add, other])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    Agent[Other](model, [rebook])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    Agent(model, [book], deps_type=Other)  # type: ignore[misc]  # pyright: ignore[reportArgumentType]
