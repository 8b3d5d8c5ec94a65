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
from toolweave import Agent, FinishReason, FinishUpdate, TextDelta
from toolweave.exceptions import OutputError
from toolweave.output import OutputSchema
from toolweave.testing import ScriptedModel


def grows(before: Any, after: Any) -> bool:
    """Return True if a JSON value is another one, or the beginning of it."""
    if isinstance(before, str):
        return isinstance(after, str) and after.startswith(before)
    if isinstance(before, dict):
        return isinstance(after, dict) and all(
            name in after and grows(each, after[name]) for name, each in before.items()
        )
    if isinstance(before, list):
        return (
            isinstance(after, list) and len(before) <= len(after) and all(map(grows, before, after))
        )
    return type(before) is type(after) and bool(before == after)


def partials(agent: Agent[None, Any]) -> list[Any]:
    async def read() -> list[Any]:
        async with agent.open("Go.") as run:
            return [value async for value in run.stream_output()]

    return asyncio.run(read())


def pieces(text: str, size: int) -> list[Any]:
    deltas = [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]
    return [*deltas, FinishUpdate(FinishReason.STOP)]


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
