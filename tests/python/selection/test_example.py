"""Tests that a model is shown an example of the reply, whatever the structure is."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sample_selections import ScriptedScorer
from toolweave import SelectionPolicy, ToolRegistry, ToolSelector
from toolweave.selection._describe import schema_example
from virtual_time import run


def forms(registry: ToolRegistry, item_type: str = "Thing") -> list[Any]:
    """Return the examples at the ends of the prompts of `each`."""
    scorer = ScriptedScorer([{"score": 10}] * 9)
    policy = SelectionPolicy(strategy="each", fallback=None)
    run(ToolSelector(registry, scorer, policy).select("Soup?", item_type=item_type))
    return [json.loads(prompt.rpartition("\n")[2]) for prompt in scorer.prompts]


class Unit(Enum):
    METRIC = "metric"
    IMPERIAL = "imperial"


def test_a_tool_of_a_python_handler_is_shown_as_an_example() -> None:
    registry = ToolRegistry()

    @registry.handler("convert")
    def convert(
        item_name: str,
        servings: int,
        unit: Unit,
        course: Literal["starter", "main"] | None = None,
        tags: list[str] | None = None,
    ) -> None:
        """Convert a recipe.

        Args:
            item_name: Its name.
            servings: For how many.
        """

    @registry.handler("other")
    def other() -> None:
        """Return nothing."""

    assert forms(registry) == [
        {
            "score": "integer from 0 to 100",
            "item_name": "Its name.",
            "servings": "integer: For how many.",
            "unit": '"metric" or "imperial"',
            "course": '"starter" or "main"',
            "tags": ["string"],
        },
        {"score": "integer from 0 to 100"},
    ]


@pytest.mark.parametrize("strategy", ["choose", "batch"])
def test_parameters_are_shown_as_an_example_for_several_tools(strategy: Any) -> None:
    registry = ToolRegistry()

    @registry.handler("convert")
    def convert(item_name: str, servings: int = 2) -> None:
        """Convert a recipe."""

    @registry.handler("other")
    def other() -> None:
        """Return nothing."""

    scorer = ScriptedScorer(["none"])
    policy = SelectionPolicy(strategy=strategy, attempts=1)
    run(ToolSelector(registry, scorer, policy).select("Soup?"))
    [prompt] = scorer.prompts
    assert 'Parameters: {"item_name": "string (required)", "servings": "integer"}' in prompt
    assert '"properties"' not in prompt
    assert prompt.count("Parameters:") == 1


def test_an_example_is_shown_unchanged() -> None:
    registry = ToolRegistry.loads(
        "<Tools><Thing><Tool name='a'><prompt>{request.query}</prompt>"
        '<returnStruc>{"score": "integer between 0 and 100", "type": "object"}</returnStruc></Tool>'
        "<Tool name='b'><prompt>{request.query}</prompt></Tool></Thing></Tools>"
    )
    assert forms(registry) == [
        {"score": "integer between 0 and 100", "type": "object"},
        {"score": "integer from 0 to 100"},
    ]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "any value"),
        (True, "any value"),
        ({"type": "string"}, "string"),
        ({"type": ["integer", "null"]}, "integer"),
        ({"const": 3}, "3"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}], "description": "n"}, "integer: n"),
        ({"type": "array", "items": {"type": "string"}}, ["string"]),
        ({"$defs": {"A": {"type": "integer"}}, "$ref": "#/$defs/A"}, "integer"),
        ({"$ref": "#/none"}, "any value"),
        ({"$ref": "https://example.org/"}, "any value"),
    ],
)
def test_a_schema_is_shown_as_an_example_in_words(schema: Any, expected: Any) -> None:
    assert schema_example(schema) == expected


def test_the_example_of_a_recursive_schema_is_finite() -> None:
    branches = {f"branch{number}": {"$ref": "#"} for number in range(100)}
    tree = {"type": "object", "properties": branches}
    assert len(json.dumps(schema_example(tree))) < 1_000_000
    assert schema_example({"$ref": "#"}) == "any value"


NAMES = st.sampled_from(["a", "b", "type", "properties", "items"])
SCHEMAS = st.recursive(
    st.sampled_from([{"type": "string"}, {"type": "integer"}, {"enum": ["x", 1]}, {}, True]),
    lambda inner: st.one_of(
        st.dictionaries(NAMES, inner, max_size=3).map(
            lambda members: {"type": "object", "properties": members}
        ),
        inner.map(lambda each: {"type": "array", "items": each}),
        st.lists(inner, max_size=3).map(lambda each: {"anyOf": each}),
    ),
    max_leaves=10,
)


@given(members=st.dictionaries(NAMES, SCHEMAS))
def test_the_example_of_any_schema_has_its_members(
    members: dict[str, Any],
) -> None:
    example = schema_example({"type": "object", "properties": members})
    assert list(example) == list(members)
    json.dumps(example)
