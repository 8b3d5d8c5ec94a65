"""Runs on a new event loop: their exceptions have no unrelated context."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest

from toolweave import Agent
from toolweave.scenes import SceneManager
from toolweave.testing import ScriptedModel


def run_agent() -> None:
    Agent(ScriptedModel(ValueError("the model"))).run_sync("Hi!")


def run_scenes() -> None:
    # It has no scenes.
    SceneManager(ScriptedModel()).run_sync("Hi!")


@pytest.mark.parametrize("run", [run_agent, run_scenes])
def test_an_error_has_no_context_of_the_loop_check(run: Callable[[], None]) -> None:
    with pytest.raises(ValueError, match=r"the model|scene") as raised:
        run()
    shown = "".join(traceback.format_exception(raised.value))
    assert "no running event loop" not in shown
    assert "During handling" not in shown
