"""Tests of running the selected tool."""

from __future__ import annotations

from typing import Any

import pytest

from sample_selections import ScriptedScorer, entry, named
from toolweave import (
    RegistrySnapshot,
    Selection,
    SelectionPolicy,
    ToolRegistry,
    ToolSelector,
)
from toolweave.exceptions import HandlerError
from virtual_time import run

HERE = __name__


class Details:
    """Handler with NLWeb's interface."""

    def __init__(self, params: dict[str, Any], handler: Any) -> None:
        self.params = params
        self.handler = handler

    async def do(self) -> Any:
        return ("details", self.params, self.handler)


class Search(Details):
    async def do(self) -> Any:
        return ("search", self.params, self.handler)


REGISTRY = RegistrySnapshot.of(
    [
        entry("search", "search_query", handler=f"{HERE}.Search"),
        entry("details", "item_name", handler=f"{HERE}.Details"),
        entry("gone", handler=f"{HERE}.Gone"),
    ]
)


def select(reply: str, **policy: Any) -> Selection:
    policy.setdefault("allowed_handlers", (HERE,))
    return run(
        ToolSelector(REGISTRY, ScriptedScorer([reply]), SelectionPolicy(**policy)).select("Soup?")
    )


def test_the_handler_receives_the_parameters_and_the_application_object() -> None:
    selection = select(named("details", 90, item_name="soup"))
    done = run(selection.run("mine"))
    assert done.value == ("details", {"item_name": "soup"}, "mine")
    assert (done.tool, done.fell_back) == (selection.tool, False)
    other = run(selection.run(parameters={"item_name": "cake"}))
    assert other.value == ("details", {"item_name": "cake"}, None)


def test_a_fallback_receives_the_query() -> None:
    done = run(select(named("details", 10, item_name="soup")).run())
    assert done.value == ("search", {"search_query": "Soup?"}, None)


def test_a_tool_that_cannot_start_is_replaced_by_the_fallback_of_the_policy() -> None:
    done = run(select(named("gone")).run())
    assert (done.value[0], done.fell_back) == ("search", True)
    assert isinstance(done.error, HandlerError)
    with pytest.raises(HandlerError):
        run(select(named("gone"), fallback=None).run())


def test_only_handlers_allowed_by_the_policy_are_imported() -> None:
    selection = select(named("details", 90, item_name="soup"), allowed_handlers=())
    with pytest.raises(HandlerError):
        run(selection.run())
    assert run(selection.run(allowed_handlers=[HERE])).value[0] == "details"


def test_a_handler_that_is_registered_in_python_runs() -> None:
    registry = ToolRegistry()

    @registry.handler("search")
    async def search(search_query: str) -> str:
        """Find recipes."""
        return f"found {search_query}"

    @registry.handler("rest", type="Recipe")
    async def rest(minutes: int) -> str:
        """Return how long dough has to rest."""
        return f"{minutes} minutes"

    scorer = ScriptedScorer([named("rest", 90, minutes="30")])
    selection = run(ToolSelector(registry, scorer).select("How long?", item_type="Recipe"))
    assert run(selection.run()).value == "30 minutes"
    assert "Return how long dough has to rest." in scorer.prompts[0]


def test_without_a_tool_there_is_nothing_to_run() -> None:
    selection = select(named("details", 10), fallback=None)
    with pytest.raises(LookupError, match="no tool was selected, so there is none to run: The"):
        run(selection.run())
