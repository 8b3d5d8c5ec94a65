"""Tests of types with a single tool, whose parameters a model fills in."""

from __future__ import annotations

from typing import Any

import pytest

from sample_selections import ScriptedScorer, entry, named
from toolweave import RegistrySnapshot, Selection, SelectionPolicy, ToolRegistry, ToolSelector
from virtual_time import run

DETAILS = RegistrySnapshot.of([entry("details", "item_name", "wanted")])
REPLIES: dict[Any, Any] = {
    "choose": named("details", 20, item_name="ramen"),
    "each": {"score": 20, "item_name": "ramen"},
    "batch": {"details": {"score": 20, "item_name": "ramen"}},
}


def select(source: Any, scorer: Any, **policy: Any) -> Selection:
    return run(ToolSelector(source, scorer, SelectionPolicy(**policy)).select("How long is ramen?"))


@pytest.mark.parametrize("strategy", ["choose", "each", "batch"])
def test_one_call_fills_the_parameters_whatever_the_score(strategy: Any) -> None:
    scorer = ScriptedScorer([REPLIES[strategy]])
    selection = select(DETAILS, scorer, strategy=strategy)
    assert selection.tool is not None
    assert (selection.tool.name, selection.score, selection.decision) == ("details", 100, "single")
    assert selection.parameters == {"item_name": "ramen"}
    assert (selection.strategy, selection.calls, selection.errors) == ("single", 1, ())
    assert selection.reason == "details is the only tool for the type Thing."
    assert "details" in scorer.prompts[0]


def test_the_handler_of_the_only_tool_gets_its_parameters() -> None:
    registry = ToolRegistry()

    @registry.handler("details")
    def details(item_name: str) -> str:
        "Describe one item."
        return f"{item_name}: 20 minutes"

    scorer = ScriptedScorer([named("details", 90, item_name="ramen")])
    selector = ToolSelector(registry, scorer)

    async def main() -> Any:
        return (await (await selector.select("How long is ramen?")).run()).value

    assert run(main()) == "ramen: 20 minutes"


def test_no_call_is_made_without_parameters_or_with_single_shortcut() -> None:
    scorer = ScriptedScorer([named("plain")])
    assert select(RegistrySnapshot.of([entry("plain")]), scorer).calls == 0
    assert select(DETAILS, scorer, single_shortcut=True).calls == 0
    assert scorer.requests == []


@pytest.mark.parametrize("reply", ["What?", OSError("down")])
def test_an_invalid_reply_keeps_known_parameters_and_is_reported(reply: Any) -> None:
    registry = RegistrySnapshot.of([entry("lookup", "search_query", "other")])
    selection = select(registry, ScriptedScorer([reply]))
    assert (selection.decision, selection.score) == ("single", 100)
    assert selection.parameters == {"search_query": "How long is ramen?"}
    assert len(selection.errors) == 1
    assert "not complete" in selection.reason


def test_the_same_question_about_a_single_tool_is_cached() -> None:
    scorer = ScriptedScorer([named("details", 90, item_name="ramen")])
    selector = ToolSelector(DETAILS, scorer)
    for cached in (False, True):
        selection = run(selector.select("x"))
        assert (selection.cached, selection.parameters) == (cached, {"item_name": "ramen"})
    assert len(scorer.requests) == 1
