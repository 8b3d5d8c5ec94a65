"""The examples of a registry as a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sample_selections import ScriptedScorer, entry, named, public_files
from toolweave import RegistrySnapshot, Selection, SelectionPolicy, UsageUpdate
from toolweave.selection import ScorerReply, ScorerRequest
from toolweave.selection._benchmark import (
    METHODS,
    LabelledQuery,
    WithoutExample,
    labelled_queries,
    measure,
    recall,
    sample,
)
from toolweave.selection._words import WordScorer
from virtual_time import run

SOUP, CAKE = "How is soup made?", "Soup or cake?"
REGISTRY = RegistrySnapshot.of(
    [
        entry("search", "search_query", examples=["Find soups", "  "]),
        entry("details", examples=[SOUP]),
        entry("compare", examples=[CAKE], prompt=f"Such as {CAKE} {{request.query}}"),
        entry("details", type="Recipe", examples=["How long does soup boil?"]),
        entry("off", examples=["Never"], enabled=False),
        entry("watch", site="films", type="Movie", examples=["Play it"]),
    ]
)
POLICY = SelectionPolicy()


def test_each_example_is_a_query_with_its_type_and_its_tool() -> None:
    found = labelled_queries(REGISTRY, REGISTRY.entries)
    assert found == [
        LabelledQuery("Find soups", "Thing", None, frozenset({"search"})),
        LabelledQuery(SOUP, "Thing", None, frozenset({"details"})),
        LabelledQuery(CAKE, "Thing", None, frozenset({"compare"})),
        LabelledQuery("How long does soup boil?", "Recipe", None, frozenset({"details"})),
        LabelledQuery("Play it", "Movie", "films", frozenset({"watch"})),
    ]


def test_examples_of_types_with_one_tool_are_not_queries() -> None:
    alone = RegistrySnapshot.of([entry("search", examples=["Find soups"])])
    assert labelled_queries(alone, alone.entries) == []


def test_an_example_of_two_tools_belongs_to_both() -> None:
    both = RegistrySnapshot.of([entry(name, examples=["Soup"]) for name in ("a", "b")])
    assert labelled_queries(both, both.entries) == [
        LabelledQuery("Soup", "Thing", None, frozenset({"a", "b"}))
    ]


def test_a_sample_of_the_queries_is_spread_over_the_registry() -> None:
    queries = [LabelledQuery(str(number), "Thing", None, frozenset()) for number in range(10)]
    assert [query.query for query in sample(queries, 4)] == ["0", "2", "5", "7"]
    assert sample(queries, 20) == queries


@pytest.mark.parametrize("method", METHODS)
def test_the_queried_example_is_in_the_prompt_only_as_the_query(method: Any) -> None:
    scorer = ScriptedScorer([{"tool": "compare", "score": 90, "compare": 90}])
    [query] = [one for one in labelled_queries(REGISTRY, REGISTRY.entries) if one.query == CAKE]
    run(measure(method, REGISTRY, [query], scorer, POLICY))
    assert [prompt.count(CAKE) for prompt in scorer.prompts] == [1] * len(scorer.prompts)
    assert WithoutExample(REGISTRY, CAKE).fingerprint != REGISTRY.fingerprint


def test_measurements_match_the_selections() -> None:
    replies = [
        ScorerReply(named("search", 80, search_query="x"), UsageUpdate(100, 10, 50)),
        ScorerReply("nonsense", UsageUpdate(10, 1)),
        ScorerReply(named("details", 80), UsageUpdate(100, 10, 50)),
        named("search", 10, search_query="x"),
    ]
    queries = labelled_queries(REGISTRY, REGISTRY.entries)[:3]
    seen: list[LabelledQuery] = []

    def record(method: str, query: LabelledQuery, selection: Selection) -> None:
        assert (method, selection.query) == ("choose", query.query)
        seen.append(query)

    scorer = ScriptedScorer(replies)
    measured = run(measure("choose", REGISTRY, queries, scorer, POLICY, on_result=record))
    assert (measured.queries, measured.right, measured.calls) == (3, 2, 4)
    assert (measured.ties, measured.fallbacks, measured.errors) == (0, 1, 0)
    assert measured.usage == UsageUpdate(210, 21, 100)
    assert measured.prompt_chars == sum(map(len, scorer.prompts))
    assert measured.accuracy == pytest.approx(2 / 3)
    assert seen == queries


def test_ties_are_counted() -> None:
    queries = labelled_queries(REGISTRY, REGISTRY.entries)[:1]
    measured = run(measure("each", REGISTRY, queries, ScriptedScorer([{"score": 80}]), POLICY))
    assert (measured.ties, measured.right) == (1, 1)


def test_recall_counts_only_queries_with_more_tools_than_are_kept() -> None:
    few = [query for query in labelled_queries(REGISTRY, REGISTRY.entries) if query.site is None]
    assert recall(REGISTRY, few, POLICY).queries == 0
    four = RegistrySnapshot.of(
        [
            entry("boats", examples=["Boats that float", "Which boats?"]),
            entry("alpha", examples=["Cars of alpha"]),
            entry("beta", examples=["Cars of beta"]),
            entry("gamma", examples=["Xyzzy"]),
        ]
    )
    found = recall(four, labelled_queries(four, four.entries), POLICY)
    assert (found.queries, found.found, found.share) == (5, 4, 0.8)


def test_the_word_scorer_answers_every_strategy_alike() -> None:
    scorer = WordScorer()
    tools = [
        entry("search", "search_query", prompt="Finds soups."),
        entry("compare", prompt=None, examples=["soup or cake"]),
    ]

    def ask(strategy: Any, *asked: Any) -> Any:
        return run(scorer.ask(ScorerRequest("", {}, strategy, "Finds soups, cake?", asked))).content

    assert ask("each", tools[0]) == {"score": 67, "search_query": "Finds soups, cake?"}
    assert ask("each", tools[1]) == {"score": 33}
    assert ask("batch", *tools) == {"search": ask("each", tools[0]), "compare": {"score": 33}}
    assert ask("choose", *tools) == {
        "tool": "search",
        "score": 67,
        "parameters": {"search_query": "Finds soups, cake?"},
    }
    assert run(scorer.ask(ScorerRequest("", {}, "each", "?", tools[:1]))).content["score"] == 0  # type: ignore[index]


@pytest.mark.parametrize("file", public_files())
def test_the_word_scorer_finds_tools_of_public_files(file: Path) -> None:
    registry = RegistrySnapshot.read(file.read_bytes())
    queries = labelled_queries(registry, registry.entries)
    assert queries
    found = recall(registry, queries, POLICY)
    # Of few queries, one that words do not find is a large share.
    assert found.found >= min(0.9 * found.queries, found.queries - 1)
    for method in METHODS:
        measured = run(measure(method, registry, queries, WordScorer(), POLICY))
        assert measured.errors == 0
        if method != "each":
            assert measured.calls == measured.queries
