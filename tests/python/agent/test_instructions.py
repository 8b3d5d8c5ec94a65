"""Instructions and tools that depend on the run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest

from toolweave import (
    Agent,
    ErrorCode,
    FinishReason,
    FinishUpdate,
    RunContext,
    Tool,
    ToolCallUpdate,
    ToolContext,
    ToolDefinitionError,
    tool,
)
from toolweave.kinds import Role, StopReason
from toolweave.testing import ScriptedModel


@dataclass(frozen=True)
class Desk:
    clerk: str
    is_admin: bool = False


def system_prompts(model: ScriptedModel) -> list[str]:
    return [
        "".join(message.text for message in request.messages if message.role is Role.SYSTEM)
        for request in model.requests
    ]


def test_instructions_are_made_anew_for_each_request() -> None:
    def clerk(context: RunContext[Desk]) -> str:
        return f"You are {context.deps.clerk}."

    async def state(context: RunContext[Desk]) -> str | None:
        assert context.run_id == "r"
        assert context.chat_id == "c"
        return None if context.iterations == 1 else f"{len(context.messages)} messages so far."

    def ping() -> str:
        return "pong"

    model = ScriptedModel("<ping>{}</ping>", "Done.")
    agent = Agent[Desk](model, [ping], instructions=[clerk, "", "Be brief.", state])

    async def main() -> None:
        await agent.open("Hi!", deps=Desk("Ada"), run_id="r", chat_id="c").wait()

    asyncio.run(main())
    first, second = system_prompts(model)
    assert first.startswith("You are Ada.\n\nBe brief.\n\n")
    assert second.startswith("You are Ada.\n\nBe brief.\n\n2 messages so far.\n\n")
    assert "so far" not in first


def test_an_error_in_instructions_ends_the_run() -> None:
    def broken(_: RunContext[object]) -> str:
        raise LookupError("no such user")

    def wrong(_: RunContext[object]) -> Any:
        return 3

    model = ScriptedModel()
    with pytest.raises(LookupError, match="no such user") as raised:
        asyncio.run(Agent(model, instructions=broken).run("Hi!"))
    notes = getattr(raised.value, "__notes__", ["raised by instructions function 'broken'"])
    assert notes == ["raised by instructions function 'broken'"]
    with pytest.raises(TypeError, match="function 'wrong' must return a string or None, got 3"):
        asyncio.run(Agent(model, instructions=["Hi.", wrong]).run("Hi!"))
    with pytest.raises(TypeError, match="instructions must be a string, a function of"):
        Agent(model, instructions=[3])  # type: ignore[list-item]
    assert model.requests == []


def test_a_run_that_is_cancelled_in_its_instructions_ends_as_cancelled() -> None:
    async def main() -> None:
        entered = asyncio.Event()

        async def slow(_: RunContext[object]) -> str:
            entered.set()
            await asyncio.sleep(3600)
            return ""

        run = Agent(ScriptedModel(), instructions=slow).open("Hi!")
        waiting = asyncio.ensure_future(run.wait())
        await entered.wait()
        await run.cancel()
        assert (await waiting).stop_reason is StopReason.CANCELLED

    asyncio.run(asyncio.wait_for(main(), 20))


def is_admin(context: RunContext[Desk]) -> bool:
    return context.deps.is_admin


@tool(prepare=is_admin)
def delete(context: ToolContext[Desk], name: str) -> str:
    """Delete a booking."""
    return f"{context.deps.clerk} deleted {name}"


@tool
def find(name: str) -> str:
    """Find a booking."""
    return f"found {name}"


CALLS = '<find>{"name": "a"}</find><delete>{"name": "b"}</delete>'


def results(agent: Agent[Desk, str], desk: Desk) -> list[tuple[str, ErrorCode | None]]:
    ended = asyncio.run(agent.run("Go.", deps=desk))
    return [
        (result.result, result.error_code)
        for message in ended.messages
        for result in getattr(message, "tool_results", ())
    ]


def test_a_tool_that_a_request_does_not_offer_is_unknown_in_it() -> None:
    model = ScriptedModel(CALLS, "Done.", CALLS, "Done.")
    agent = Agent[Desk](model, [find, delete])
    assert results(agent, Desk("Ada", is_admin=True)) == [
        ("found a", None),
        ("Ada deleted b", None),
    ]
    found, *others = results(agent, Desk("Bob"))
    assert found == ("found a", None)
    # Without a tool of this name, its tag is text, unless the parser takes it for a call.
    assert all(code is ErrorCode.UNKNOWN_TOOL for _, code in others)
    shown = ["Delete a booking." in prompt for prompt in system_prompts(model)]
    assert shown == [True, True, False, False]


def test_a_native_call_of_a_tool_that_is_not_offered_is_answered_as_unknown() -> None:
    updates = [
        ToolCallUpdate("c1", 0, "delete", '{"name": "b"}'),
        FinishUpdate(FinishReason.TOOL_CALLS),
    ]
    model = ScriptedModel(updates, "Done.", native_tools=True)
    agent = Agent[Desk](model, [find, delete], tool_mode="native")
    ((text, code),) = results(agent, Desk("Bob"))
    assert code is ErrorCode.UNKNOWN_TOOL
    assert text == "Tool 'delete' not found. Available tools: find"
    assert [contract.name for contract in model.requests[0].tools] == ["find"]


def test_a_prepared_tool_may_differ_and_its_limits_and_cache_stay() -> None:
    runs: list[str] = []

    def lookup(name: str) -> str:
        runs.append(name)
        return name

    async def shown(context: RunContext[Desk]) -> Tool[..., Any]:
        return tool(lookup, description=f"Look up for {context.deps.clerk}.", cache=True)

    lookup_tool = tool(lookup, cache=True, prepare=shown)
    call = '<lookup>{"name": "a"}</lookup>'
    model = ScriptedModel(call, call, "Done.")
    agent = Agent[Desk](model, [lookup_tool])
    assert results(agent, Desk("Ada")) == [("a", None), ("a", None)]
    assert runs == ["a"]
    assert all("Look up for Ada." in prompt for prompt in system_prompts(model))


def test_the_agent_selects_among_the_offered_tools() -> None:
    def select(context: RunContext[Desk], tools: list[Tool[..., Any]]) -> list[Tool[..., Any]]:
        assert [each.name for each in tools] == ["find"]
        return [] if context.iterations == 1 else tools

    model = ScriptedModel(CALLS, CALLS)
    agent = Agent[Desk](model, [find, delete], prepare_tools=select, tool_mode="natural")
    ended = asyncio.run(agent.run("Go.", deps=Desk("Bob")))
    # The first request offers no tools, so its reply has no calls.
    assert ended.iterations == 1
    assert "Find a booking." not in system_prompts(model)[0]


def test_a_prepare_that_returns_nonsense_is_an_error_that_names_the_tool() -> None:
    model = ScriptedModel()

    def three(_: RunContext[object]) -> Any:
        return 3

    def other(_: RunContext[object]) -> Any:
        return find

    for prepare, given in ((three, "3"), (other, r"Tool\('find'\)")):
        wrong = delete.replace(prepare=prepare)
        text = rf"tool 'delete': prepare must return True, False, None or a tool .* got {given}"
        with pytest.raises(ToolDefinitionError, match=text):
            asyncio.run(Agent[Desk](model, [wrong]).run("Go.", deps=Desk("Ada")))
    with pytest.raises(ToolDefinitionError, match="'delete': prepare must be a function of"):
        delete.replace(prepare=3)  # type: ignore[typeddict-item]
    chosen = Agent(model, [find], prepare_tools=lambda context, _: three(context))
    with pytest.raises(TypeError, match="prepare_tools must return a list of tools, got 3"):
        asyncio.run(chosen.run("Go."))
    assert model.requests == []


def test_a_tool_that_wants_other_dependencies_ends_the_run_with_its_name() -> None:
    model = ScriptedModel()
    untyped: Agent[Any, str] = Agent(model, [delete.replace(prepare=None)])
    with pytest.raises(TypeError, match="deps must be Desk for tool 'delete', got dict"):
        asyncio.run(untyped.run("Go.", deps={"clerk": "Ada"}))
    assert model.requests == []


def test_a_result_is_not_reused_for_other_dependencies() -> None:
    runs: list[str] = []

    @tool(cache=True)
    def mine(context: ToolContext[Desk]) -> str:
        runs.append(context.deps.clerk)
        return context.deps.clerk

    ada = Desk("Ada")
    model = ScriptedModel(*("<mine>{}</mine>", "Done.") * 4)
    agent = Agent[Desk](model, [mine])
    desks = [ada, Desk("Bob"), ada, replace(ada)]
    seen = [results(agent, desk)[0][0] for desk in desks]
    assert seen == ["Ada", "Bob", "Ada", "Ada"]
    assert runs == ["Ada", "Bob"]
