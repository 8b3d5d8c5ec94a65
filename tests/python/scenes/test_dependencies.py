"""Dependencies reach the actors, hooks and tools of scenes."""

from __future__ import annotations

import asyncio

import pytest

from toolweave import SceneContext, SceneManager, SceneRequest, SceneStopReason, ToolContext
from toolweave.kinds import Role
from toolweave.testing import ScriptedModel


class Desk:
    def __init__(self, clerk: str) -> None:
        self.clerk = clerk


def scenes(model: ScriptedModel) -> SceneManager[Desk]:
    def clerk(context: SceneContext[Desk]) -> str:
        return f"You are {context.deps.clerk}."

    def who(context: ToolContext[Desk]) -> str:
        assert context.run.chat_id == "c"
        assert context.run.iterations == 2
        return context.deps.clerk

    manager = SceneManager(model, deps_type=Desk)
    manager.actor(clerk).scene("Desk").actor(lambda context: context.deps.clerk.upper()).tool(who)

    @manager.authorize
    def check(request: SceneRequest[Desk]) -> bool:
        return request.deps.clerk != "Eve"

    return manager


def test_dependencies_reach_actors_hooks_and_tools() -> None:
    model = ScriptedModel("<Desk/>", "<who/>", "Done.")
    manager = scenes(model)
    result = asyncio.run(manager.run("Who?", deps=Desk("Ada"), conversation="c"))
    assert [call.result for call in result.executed] == ["Ada"]
    prompts = [
        "".join(message.text for message in request.messages if message.role is Role.SYSTEM)
        for request in model.requests
    ]
    assert ["You are Ada." in prompt for prompt in prompts] == [True, True, True]
    assert ["ADA" in prompt for prompt in prompts] == [False, True, True]


def test_every_way_to_start_a_run_takes_dependencies() -> None:
    async def main() -> None:
        eve = Desk("Eve")
        manager = scenes(ScriptedModel())
        stopped = SceneStopReason.UNAUTHORIZED
        assert (await manager.run("Hi!", deps=eve)).stop_reason is stopped
        assert (await manager.run(SceneRequest("Hi!", deps=eve))).stop_reason is stopped
        assert (await manager.open("Hi!", deps=eve).wait()).stop_reason is stopped
        *_, last = [step async for step in manager.stream("Hi!", deps=eve)]
        assert last.stop_reason is stopped

    asyncio.run(main())
    ended = scenes(ScriptedModel()).run_sync("Hi!", deps=Desk("Eve"))
    assert ended.stop_reason is SceneStopReason.UNAUTHORIZED


def test_wrong_dependencies_are_refused() -> None:
    manager = scenes(ScriptedModel())
    with pytest.raises(TypeError, match="deps must be Desk for scenes, got None"):
        manager.open("Hi!")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="fields must be set on the SceneRequest, got deps, user"):
        manager.open(SceneRequest("Hi!"), deps=Desk("Ada"), user="x")  # type: ignore[call-overload]
    assert "Ada" not in repr(SceneRequest("Hi!", deps="Ada"))
