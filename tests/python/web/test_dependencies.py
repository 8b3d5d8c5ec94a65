"""The user of a turn reaches the tools of an agent and of scenes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolweave import Agent, SceneManager, ToolContext, ToolResult
from toolweave.protocols import Journal
from toolweave.testing import ScriptedModel
from toolweave.web import AgentResponder, Responder, SceneResponder, Turn


def who(context: ToolContext[str]) -> str:
    return f"{context.deps} in {context.run.chat_id}"


def user_of(turn: Turn) -> str:
    return turn.user_id or "guest"


class NoJournal(Journal): ...


def results(responder: Responder, user: str | None) -> list[str]:
    turn = Turn("c", "r", user, (), ("Who am I?",), NoJournal())  # type: ignore[arg-type]

    async def main() -> list[str]:
        async with responder(turn) as run:
            events: list[Any] = [event async for event in run]
        return [
            event.result if isinstance(event, ToolResult) else event.message
            for event in events
            if isinstance(event, ToolResult) or getattr(event, "status", "") == "FunctionCompleted"
        ]

    return asyncio.run(main())


def test_the_user_of_a_turn_reaches_the_tools_of_an_agent() -> None:
    model = ScriptedModel(*("<who>{}</who>", "Done.") * 4)
    agent = Agent[str](model, [who])
    for raw_text in (False, True):
        responder = AgentResponder(agent, deps=user_of, raw_text=raw_text)
        assert results(responder, "Ada") == ["Ada in c"]
        assert results(responder, None) == ["guest in c"]


def test_the_user_of_a_turn_reaches_the_tools_of_scenes() -> None:
    model = ScriptedModel("<S/>", "<who>{}</who>", "Done.")
    manager = SceneManager(model, deps_type=str)
    manager.scene("S").tool(who)
    assert results(SceneResponder(manager, deps=user_of), "Ada") == ["Tool who executed: Ada in c"]


def test_dependencies_must_be_a_function_of_a_turn() -> None:
    agent = Agent[str](ScriptedModel())
    manager = SceneManager(ScriptedModel(), deps_type=str)

    async def asynchronous(turn: Turn) -> str:
        return turn.chat_id

    for deps in (3, lambda: "Ada", asynchronous):
        with pytest.raises(TypeError, match="deps must be a function of a turn"):
            AgentResponder(agent, deps=deps)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="deps must be a function of a turn"):
            SceneResponder(manager, deps=deps)  # type: ignore[call-overload]
