"""Secrets in the texts of exceptions: no step of a scene run has them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import pytest

from calculator_scenes import ENTER, call, get_weather, manager_of, steps_of
from toolweave import Message, SceneManager, SceneRequest, SceneStep

SECRET = "hunter2"
TEXT = f"cannot reach postgresql://app:{SECRET}@db/shop, password={SECRET}"


def failing_tool() -> SceneManager:
    def lookup() -> str:
        raise ValueError(TEXT)

    manager = manager_of(call("Shop"), call("lookup"), "It failed.")
    return manager.scene("Shop", "Looks things up").tool(lookup).manager


def failing_hook() -> SceneManager:
    manager = manager_of(ENTER, "Hi.")

    @manager.before
    async def refuse(_: SceneRequest) -> None:
        raise ValueError(TEXT)

    return manager


def failing_model() -> SceneManager:
    async def model(_: Sequence[Message]) -> str:
        raise ValueError(TEXT)

    return SceneManager(model).scene("Shop", "Looks things up").tool(get_weather).manager


@pytest.mark.parametrize("make", [failing_tool, failing_hook, failing_model])
def test_no_step_holds_a_secret_and_the_log_has_the_exception(
    make: Callable[[], SceneManager], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "toolweave"):
        steps: list[SceneStep] = asyncio.run(steps_of(make(), "Go."))
    dicts = [step.to_dict() for step in steps]
    assert SECRET not in repr(dicts)
    [reference] = {step.reference for step in steps if step.reference is not None}
    [logged] = [record for record in caplog.records if record.exc_info]
    assert logged.__dict__["reference"] == reference
    assert SECRET in caplog.text
