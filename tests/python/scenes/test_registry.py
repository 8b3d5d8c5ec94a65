"""Scenes whose tools come from a registry."""

from __future__ import annotations

from calculator_scenes import result_of
from coroutine_tests import on_a_loop
from toolweave import SceneManager, ToolRegistry
from toolweave.testing import ScriptedModel


@on_a_loop
async def test_a_scene_follows_the_tools_of_a_registry_type() -> None:
    registry = ToolRegistry()

    @registry.handler("find", type="Recipe", return_struc={"item_name": "which"})
    async def find(params: dict[str, str], _: object) -> str:
        return f"{params['item_name']}: 30 minutes"

    model = ScriptedModel(
        *("<Cooking/>", '<find>{"item_name": "carbonara"}</find>', "It takes 30 minutes."),
        *("<Cooking/>", '<rate>{"item_name": "carbonara"}</rate>', "Five stars."),
    )
    manager = SceneManager(model)
    manager.scene("Cooking", "Knows recipes").tools(registry.toolset("Recipe"))
    result = await result_of(manager, "How long does carbonara take?")
    assert [each.result for each in result.executed] == ["carbonara: 30 minutes"]
    assert result.text == "It takes 30 minutes."

    @registry.handler("rate", type="Recipe", return_struc={"item_name": "which"})
    async def rate(params: dict[str, str], _: object) -> str:
        return f"{params['item_name']}: 5 of 5"

    result = await result_of(manager, "And is it good?")
    assert [each.result for each in result.executed] == ["carbonara: 5 of 5"]
