"""Tests of the prompts about tools and queries."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sample_selections import ITEMS, ScriptedScorer, entry, named, public_files, tools
from toolweave import RegistrySnapshot, SelectionPolicy, ToolRegistry, ToolSelector
from toolweave.selection._candidates import Candidates
from toolweave.selection._describe import Description, describe
from virtual_time import run

PROMPT = """
    The user has the following query: {request.query}.

    The recipe details tool gets facts about a recipe at {request.site}. It's best for:
    - Getting ingredients for a {site.itemType}
    - Whatever {request.previousQueries} were about

    Assign a score from 0 to 100 for whether the tool is appropriate.
    If appropriate, name the recipe.
"""


def described(tool: Any, **options: Any) -> Description:
    settings = {"item_type": "Recipe", "site": "example.com", "examples": 3, "prompt_chars": 600}
    return describe(tool, **{**settings, **options})


def prompts(*queries: str, registry: Any = ITEMS, strategy: Any = "choose", **asked: Any) -> Any:
    scorer = ScriptedScorer([named("search")])
    selector = ToolSelector(registry, scorer, SelectionPolicy(strategy=strategy, attempts=1))
    for query in queries:
        run(selector.select(query, **asked))
    return scorer.prompts


def common_start(one: str, other: str) -> str:
    pairs = zip(one, other, strict=False)
    return "".join(a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def test_a_tool_is_described_by_the_purpose_in_its_prompt() -> None:
    tool = entry("details", "item_name", prompt=PROMPT, examples=["How long?", "What\n for?"])
    assert described(tool).block == (
        "## details\n"
        "The recipe details tool gets facts about a recipe at example.com. It's best for:\n"
        "- Getting ingredients for a Recipe\n"
        "- Whatever [request.previousQueries] were about\n"
        "If appropriate, name the recipe.\n"
        'Parameters: {"item_name": "the item_name"}'
    )
    assert described(tool).examples == ("How long?", "What for?")
    assert described(tool).facts == ("request.previousQueries",)


def test_a_description_is_cut_at_a_line_end_and_has_limited_examples() -> None:
    tool = entry("details", prompt=PROMPT, examples=["One?", "Two?", "Three?"])
    short = described(tool, prompt_chars=120, examples=1)
    assert short.text == (
        "The recipe details tool gets facts about a recipe at example.com. It's best for:\n"
        "- Getting ingredients for a Recipe"
    )
    assert short.examples == ("One?",)
    # The heading of a list is dropped without its items.
    assert described(entry("x", prompt="It does.\nIt does:\n- this"), prompt_chars=20).text == (
        "It does."
    )
    assert len(described(entry("x", prompt="word " * 1000)).text) <= 600


def test_a_tool_without_a_prompt_is_described_by_its_name_and_arguments() -> None:
    bare = entry("details", prompt=None, return_struc=None, arguments={"item": "which one"})
    assert described(bare).block == '## details\nParameters: {"item": "which one"}'
    assert described(entry("x", prompt=None)).block == "## x"


def test_function_parameters_are_described_in_words_with_the_required_ones_marked() -> None:
    registry = ToolRegistry()

    @registry.handler("weather")
    def weather(city: str, days: int = 1) -> None:
        """Forecast the weather.

        Args:
            city: Where.
        """

    [tool] = registry.tools_for("Thing")
    last = described(tool).block.splitlines()[-1]
    parameters = json.loads(last.removeprefix("Parameters: "))
    assert parameters["city"] == "Where. (required)"
    assert list(parameters) == ["city", "days"]


@pytest.mark.parametrize("strategy", ["choose", "batch"])
def test_prompts_about_several_tools_differ_only_after_the_tools(strategy: Any) -> None:
    one, other = prompts("Soup?", "Cake?", strategy=strategy)
    same = common_start(one, other)
    assert one[len(same) :] == 'Soup?"'
    assert other[len(same) :] == 'Cake?"'
    for tool in ITEMS.entries:
        assert f"## {tool.name}\n" in same


def test_examples_are_close_to_the_query_and_alternate_between_tools() -> None:
    [prompt] = prompts("Soup?")
    assert prompt.endswith(
        '# Examples\n"Find soups" is for search\n"How long does ramen take?" is for details\n'
        '"Ramen or pho?" is for compare\n"Show me cakes" is for search\n'
        '"Which is hotter, X or Y?" is for compare\n\n# Query\n"Soup?"'
    )
    assert "If none clearly does, it is search." in prompt
    [prompt] = prompts("Soup?", registry=tools("a", "b"))
    assert "# Examples" not in prompt
    assert "If none" not in prompt


@pytest.mark.parametrize("strategy", ["choose", "batch"])
def test_the_parts_that_vary_by_query_come_after_the_tools(strategy: Any) -> None:
    registry = RegistrySnapshot.of([entry("search"), entry("details", prompt=PROMPT)])
    context = {"request.previousQueries": 'soups\n## search "x"', "request.unused": "?"}
    [prompt] = prompts("Soup?", registry=registry, strategy=strategy, context=context)
    assert prompt.endswith(
        '# Facts\n[request.previousQueries]: "soups\\n## search \\"x\\""\n\n# Query\n"Soup?"'
    )
    assert "request.unused" not in prompt


def test_the_context_may_replace_the_query() -> None:
    context = {"request.query": "Soup? previous queries: cakes"}
    [prompt] = prompts("Soup?", context=context)
    assert prompt.endswith('# Query\n"Soup? previous queries: cakes"')


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_query_is_a_json_string_on_one_line(query: str) -> None:
    [prompt] = prompts(query)
    last = prompt.rpartition("# Query\n")[2]
    assert last == json.dumps(query, ensure_ascii=False)
    assert "\n" not in last
    assert json.loads(last) == query


def test_the_schema_of_choose_names_the_tools_and_their_parameters() -> None:
    scorer = ScriptedScorer([named("search")])
    run(ToolSelector(ITEMS, scorer).select("x"))
    schema = scorer.requests[0].schema
    assert schema["required"] == ["tool", "score", "parameters"]
    assert schema["properties"]["tool"]["enum"] == ["search", "details", "compare"]
    kinds = schema["properties"]["parameters"]["anyOf"]
    assert [sorted(kind["properties"]) for kind in kinds] == [
        ["search_query"],
        ["item_name"],
        ["item1", "item2"],
    ]


@pytest.mark.parametrize("file", public_files())
def test_a_prompt_about_several_tools_is_shorter_than_their_own_prompts(file: Path) -> None:
    registry = RegistrySnapshot.read(file.read_bytes())
    for kind in registry.types:
        if len(registry.tools_for(kind)) > 1:
            [one] = prompts("Soup?", registry=registry, item_type=kind)
            each = prompts("Soup?", registry=registry, item_type=kind, strategy="each")
            # The prompts of single tools hold no examples.
            without_examples = one.replace(one[one.find("# Examples") : one.find("# Query")], "")
            assert len(without_examples) < sum(map(len, each)), kind


def test_a_subset_of_all_candidates_is_the_same_object() -> None:
    candidates = Candidates(ITEMS.entries, ["Thing"], None, SelectionPolicy())
    assert candidates.subset(range(3)) is candidates
    assert candidates.subset([0, 2]).names == ("search", "compare")
    assert candidates.subset([2, 1, 0]).names == ("compare", "details", "search")
