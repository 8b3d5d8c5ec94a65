"""Tests of the identification of the type of a query by a model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sample_selections import ScriptedScorer, entry, named
from toolweave import RegistrySnapshot, Selection, SelectionPolicy, ToolRegistry, ToolSelector
from toolweave.selection._words import WordScorer
from virtual_time import run

FOOD = RegistrySnapshot.of(
    [
        entry("search"),
        entry("details"),
        entry("substitute", type="Recipe", examples=["What instead of eggs?"]),
        entry("cast", type="Movie", examples=["Who plays in Alien?"]),
    ]
)


def select(scorer: Any, registry: Any = FOOD, query: str = "No eggs here", **policy: Any) -> Any:
    return run(ToolSelector(registry, scorer, SelectionPolicy(**policy)).select(query))


def names(selection: Selection) -> list[str]:
    return [one.tool.name for one in selection.ranking]


def test_a_model_is_asked_once_for_the_type_and_then_for_the_tool() -> None:
    scorer = ScriptedScorer(['{"item_type": "Recipe"}', named("substitute", 90)])
    selection = select(scorer)
    assert selection.tool is not None
    assert (selection.tool.name, selection.item_type) == ("substitute", "Recipe")
    assert (selection.calls, selection.identified) == (2, True)
    assert selection.type_note == "The model says that the query is about the type Recipe."
    assert selection.type_note in selection.explain()
    asked = scorer.requests[0]
    assert asked.strategy == "type"
    assert asked.schema["properties"]["item_type"]["enum"] == ["Recipe", "Movie", "Thing"]
    assert '- Recipe: substitute ("What instead of eggs?")' in asked.prompt
    assert asked.prompt.endswith('# Query\n"No eggs here"')


@pytest.mark.parametrize(
    "reply", ['"Recipe"', {"item_type": "recipe"}, "```\n{'item_type': 'schema:Recipe'}\n```"]
)
def test_a_type_in_an_unusual_form_is_read(reply: Any) -> None:
    selection = select(ScriptedScorer([reply, named("substitute")]))
    assert (selection.item_type, selection.errors) == ("Recipe", ())


def test_an_invalid_type_is_asked_again_and_then_the_root_is_used() -> None:
    scorer = ScriptedScorer(["Food!", '{"item_type": "Soup"}', named("details")])
    selection = select(scorer)
    assert (selection.item_type, selection.identified, selection.calls) == ("Thing", True, 3)
    assert names(selection) == ["details", "search"]
    assert "could not be identified (the reply is not" in selection.type_note
    assert scorer.prompts[1].startswith(scorer.prompts[0])


def test_a_failed_identification_uses_the_root_and_is_not_cached() -> None:
    scorer = ScriptedScorer([OSError("down"), named("details"), '{"item_type": "Movie"}'])
    selector = ToolSelector(FOOD, scorer)
    first = run(selector.select("x"))
    assert (first.item_type, first.tool and first.tool.name) == ("Thing", "details")
    assert "OSError: down" in first.type_note
    assert run(selector.select("x")).item_type == "Movie"


def test_the_root_is_a_valid_answer() -> None:
    selection = select(ScriptedScorer(['{"item_type": "Thing"}', named("details")]))
    assert (selection.item_type, selection.identified, selection.calls) == ("Thing", True, 2)


@pytest.mark.parametrize("registry", [RegistrySnapshot.of([entry("search"), entry("details")])])
def test_with_a_single_type_no_model_identifies_it(registry: Any) -> None:
    scorer = ScriptedScorer([named("details")])
    selection = select(scorer, registry)
    assert (selection.item_type, selection.identified, selection.calls) == ("Thing", False, 1)


def test_without_a_scorer_the_root_is_used() -> None:
    registry = RegistrySnapshot.of([entry("search"), entry("cast", type="Movie")])
    selection = select(None, registry)
    assert (selection.item_type, selection.identified) == ("Thing", False)


def test_a_given_type_needs_no_identification() -> None:
    scorer = ScriptedScorer([named("cast")])
    selection = run(ToolSelector(FOOD, scorer).select("x", item_type="Movie"))
    assert (selection.item_type, selection.calls, selection.type_note) == ("Movie", 1, "")


def test_the_identified_type_is_cached_with_the_selection() -> None:
    scorer = ScriptedScorer(['{"item_type": "Recipe"}', named("substitute")])
    selector = ToolSelector(FOOD, scorer)
    first, again = (run(selector.select("x")) for _ in range(2))
    assert (again.cached, again.item_type, again.identified) == (True, "Recipe", True)
    assert (first.calls, again.calls, len(scorer.requests)) == (2, 0, 2)


def test_a_type_with_one_tool_and_no_parameters_needs_no_second_call() -> None:
    registry = RegistrySnapshot.of([entry("cook", type="Recipe"), entry("cast", type="Movie")])
    scorer = ScriptedScorer([json.dumps({"item_type": "Movie"})])
    selection = select(scorer, registry)
    assert selection.tool is not None
    assert (selection.tool.name, selection.calls, selection.identified) == ("cast", 1, True)


def test_the_word_scorer_identifies_a_type() -> None:
    registry = ToolRegistry(FOOD)
    selection = select(WordScorer(), registry, "What instead of butter and eggs?")
    assert (selection.item_type, selection.identified) == ("Recipe", True)
    assert select(WordScorer(), registry, "Xyzzy").item_type == "Thing"


def test_an_unknown_type_is_reported_with_a_suggestion() -> None:
    registry = RegistrySnapshot.of([entry("search"), entry("book", type="Hotel")])
    selector = ToolSelector(registry, ScriptedScorer([named("search")]))
    selection = run(selector.select("A room", item_type="hotel"))
    assert [one.tool.name for one in selection.ranking] == ["search"]
    assert selection.type_note == (
        "There is no type 'hotel', so it has the tools of Thing; 'Hotel' is one."
    )
    assert run(selector.select("A room", item_type="Hostel")).type_note == ""
