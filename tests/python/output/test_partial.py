"""Outputs while they stream: values that only grow, and end as the output."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coroutine_tests import on_a_loop
from output_types import City, Leg, as_json, cases
from partial_values import grows, pieces
from toolweave import Agent
from toolweave.exceptions import OutputError
from toolweave.output import OutputSchema
from toolweave.testing import ScriptedModel


def partials(agent: Agent[None, Any]) -> list[Any]:
    async def read() -> list[Any]:
        async with agent.open("Go.") as run:
            return [value async for value in run.stream_output()]

    return asyncio.run(read())


@given(st.data(), cases, st.integers(1, 9))
def test_values_only_grow_and_end_as_the_output(
    data: st.DataObject, case: tuple[Any, Any], size: int
) -> None:
    output_type, values = case
    value = as_json(output_type, data.draw(values))
    text = json.dumps(value, ensure_ascii=False)
    found = partials(Agent(ScriptedModel(pieces(text, size)), output_type=output_type))
    assert found[-1] == OutputSchema(output_type).read(text).value
    for before, after in pairwise(found):
        assert grows(before, after)
        assert before != after


@on_a_loop
async def test_strings_arrive_in_parts_and_numbers_whole() -> None:
    model = ScriptedModel(pieces('{"start": "Oslo", "stops": [], "km": 5.25}', 4))
    async with Agent(model, output_type=Leg).open("Where?") as run:
        found = [value async for value in run.stream_output()]
    assert {"start": "O"} in found
    assert all(value.get("km") in (None, 5.25) for value in found)
    assert found[-1] == {"start": "Oslo", "stops": [], "km": 5.25}
    assert run.result is not None
    assert run.result.output == Leg("Oslo", [], 5.25)


def test_a_word_comes_whole() -> None:
    model = ScriptedModel(pieces("**yes**", 2))
    assert partials(Agent(model, output_type=Literal["yes", "no"])) == ["yes"]


def test_without_an_output_type_the_text_grows() -> None:
    assert partials(Agent(ScriptedModel(pieces("Hello you. ", 4)))) == [
        "Hell", "Hello yo", "Hello you.",
    ]  # fmt: skip


def test_after_an_invalid_reply_the_values_begin_again() -> None:
    model = ScriptedModel(pieces('{"people": 1}', 20), pieces('{"name": "Oslo"}', 20))
    found = partials(Agent(model, output_type=City))
    assert found[-1] == {"name": "Oslo"}


def test_a_run_without_an_output_raises() -> None:
    with pytest.raises(OutputError):
        partials(Agent(ScriptedModel("No.", "No."), output_type=City))


def size(value: Any) -> int:
    """Return the work of a copy of a value: its items, and a share of its text."""
    return len(value) // 64 if isinstance(value, str) else len(value)


def work(output_type: Any, text: str) -> int:
    agent = Agent(ScriptedModel(pieces(text, 4)), output_type=output_type)
    return sum(map(size, partials(agent)))


@pytest.mark.growth
@pytest.mark.parametrize("output_type", [list[int], str], ids=["list", "text"])
def test_the_values_of_a_long_reply_cost_as_much_as_it_is_long(output_type: Any) -> None:
    def reply(length: int) -> str:
        numbers = json.dumps([1000 + at % 9000 for at in range(length // 6)])
        return numbers if output_type is not str else numbers.strip("[]")

    half, whole = (work(output_type, reply(length)) for length in (50_000, 100_000))
    # Twice the text costs twice as much; with a value for each token it was four times.
    assert 1.5 < whole / half < 2.6


@given(st.integers(0, 400), st.integers(1, 9))
def test_a_value_is_never_far_behind_the_text(items: int, size: int) -> None:
    values = [f"item {at}" for at in range(items)]
    found = partials(Agent(ScriptedModel(pieces(json.dumps(values), size)), output_type=list[str]))
    assert found[-1] == values
    for before, after in pairwise(found):
        # One piece, and one character for each 64 items.
        assert len("".join(after)) - len("".join(before)) <= size + items // 64 + 1
