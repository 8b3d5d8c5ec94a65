"""Runs on an event loop of their own: what they raise is what went wrong, and nothing else."""

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
def test_an_error_has_nothing_of_the_search_for_a_loop(run: Callable[[], None]) -> None:
    with pytest.raises(ValueError, match=r"the model|scene") as raised:
        run()
    shown = "".join(traceback.format_exception(raised.value))
    assert "no running event loop" not in shown
    assert "During handling" not in shown
