"""Handlers with a context: it has the dependencies of the run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from handler_registries import DETAILS, Registry
from toolweave import Agent, HandlerError, ToolContext, ToolRegistry, tool
from toolweave.handlers import run_handler
from toolweave.testing import ScriptedModel


def details(context: ToolContext[str], item_name: str) -> str:
    return f"{context.deps} asks for {item_name}"


async def details_async(item_name: str, handler: object, *, context: ToolContext[str]) -> str:
    return f"{context.deps} asks for {item_name} at {handler}"


def details_of_all(params: dict[str, Any], context: ToolContext[str]) -> str:
    return f"{context.deps} asks for {params['item_name']}"


@tool
def details_tool(context: ToolContext[str], item_name: str) -> str:
    return f"{context.deps} asks for {item_name} at {context.metadata['handler']}"


class WithoutContext:
    def __init__(self, params: dict[str, Any], handler: object) -> None:
        self.text = f"{params['item_name']} at {handler}"

    def do(self) -> str:
        return self.text


def run(handler: object, deps: str) -> Any:
    registry = Registry({"details": handler})
    parameters = {"item_name": "soup"}
    started = run_handler(registry, DETAILS, parameters, "desk", deps=deps, fallback=None)
    return asyncio.run(started).value


def test_a_handler_of_every_style_gets_what_it_takes() -> None:
    assert run(details, "Ada") == "Ada asks for soup"
    assert run(details_async, "Ada") == "Ada asks for soup at desk"
    assert run(details_of_all, "Ada") == "Ada asks for soup"
    assert run(details_tool, "Ada") == "Ada asks for soup at desk"
    assert run(WithoutContext, "Ada") == "soup at desk"
    # The second run must not see the context of the first.
    assert run(details_tool, "Bob") == "Bob asks for soup at desk"


def test_what_a_function_with_a_context_raises_propagates_unchanged() -> None:
    raised = LookupError("no such item")

    def failing(context: ToolContext[str]) -> str:
        assert context.deps == "Ada"
        raise raised

    with pytest.raises(LookupError) as caught:
        run(failing, "Ada")
    assert caught.value is raised

    def needing(context: ToolContext[str], size: int) -> str:
        return f"{context.deps} {size}"

    with pytest.raises(HandlerError, match="needs 'size', which the model has not given"):
        run(needing, "Ada")


def test_an_agent_brings_its_dependencies_to_the_handlers_of_a_registry() -> None:
    registry = ToolRegistry()

    @registry.handler("find")
    def find(context: ToolContext[str], name: str) -> str:
        """Find a thing by its name."""
        return f"{context.deps} finds {name} in {context.run.chat_id}"

    tools = registry.toolset("Thing")
    (found,) = tools
    assert list((found.contract.parameters or {})["properties"]) == ["name"]
    model = ScriptedModel('<find>{"name": "a"}</find>', "Done.")
    agent = Agent[str](model, tools)
    ended = asyncio.run(agent.run("Find a.", deps="Ada", chat_id="c"))
    assert [
        result.result
        for message in ended.messages
        for result in getattr(message, "tool_results", ())
    ] == ["Ada finds a in c"]
