"""Registration of tools in scenes: decorated functions, and methods with descriptions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from calculator_scenes import Calculator, get_weather, model_of
from coroutine_tests import on_a_loop
from toolweave import Scene, SceneManager, tool
from toolweave.testing import ScriptedModel

MODULE = Scene("Module")


@MODULE.tool
def at_module_level(a: int, b: int = 2) -> int:
    return a + b


def plain(city: str) -> str:
    return city


class Holder:
    scene = Scene("Held")

    @scene.tool
    def in_a_class(city: str) -> str:  # noqa: N805
        return city


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


def test_a_function_decorated_without_parentheses_stays_a_function() -> None:
    scene = Scene("S")

    @scene.tool
    def one(a: int) -> int:
        return a

    @scene.tool
    async def two(
        a: int,
        b: int = 3,
    ) -> int:
        """Add two numbers."""
        return a + b

    @logged
    @scene.tool
    @logged
    def three(a: int) -> int: return -a  # fmt: skip

    @scene.tool
    @tool(timeout=3)
    def four(a: int) -> int:
        return a

    assert isinstance(at_module_level, type(plain))
    assert at_module_level(1) == 3
    assert (one(1), three(1), four(1)) == (1, -1, 1)
    assert two.__doc__ == "Add two numbers."
    assert Holder.in_a_class("Oslo") == "Oslo"
    assert [each.name for each in scene.toolset] == ["one", "two", "three", "four"]
    assert [each.name for each in MODULE.toolset] == ["at_module_level"]


def test_passing_a_function_returns_the_scene() -> None:
    scene = Scene("S")

    def near(city: str) -> str:
        return city

    assert scene.tool(near) is scene
    assert scene.tool(plain) is scene
    assert scene.tool(tool("five")(plain)) is scene
    assert scene.tool(logged(at_module_level)) is scene
    names = ["near", "plain", "five", "at_module_level"]
    assert [each.name for each in scene.toolset] == names


@on_a_loop
async def test_a_method_can_be_described_at_registration() -> None:
    manager = SceneManager(ScriptedModel("<Calculator/>", "42."))
    manager.scene("Calculator").service(
        Calculator(), methods={"add": ("Add", "Adds two numbers!"), "multiply": "Multiply"}
    )
    await manager.run("15 + 27?")
    read = model_of(manager).requests[1].messages[0].text
    assert "Adds two numbers!" in read
    assert "Multiply two numbers." in read


@pytest.mark.parametrize("value", [("Add",), ("Add", 1), ["Add", "Adds"], 3])
def test_other_values_are_refused_at_registration(value: Any) -> None:
    with pytest.raises(TypeError, match=r"methods\['add'\] must be the name of a tool, or a tuple"):
        Scene("S").service(Calculator(), methods={"add": value})


@on_a_loop
async def test_a_scene_that_replaces_one_in_use_has_its_own_tools() -> None:
    model = ScriptedModel("<swap_desks>{}</swap_desks>", "Done.", "Hello.")
    manager = SceneManager(model, mode="scene")

    def swap_desks() -> str:
        """Replace the scene."""
        manager.remove("Desk")
        manager.scene("Desk").tool(get_weather)
        return "replaced"

    manager.scene("Desk").tool(swap_desks)
    assert (await manager.run("Replace it.", scene="Desk")).text == "Done."
    assert (await manager.run("Hello!", scene="Desk")).text == "Hello."
    assert "get_weather" in str(model.requests[-1].messages[0])
    assert "swap_desks" not in str(model.requests[-1].messages[0])
