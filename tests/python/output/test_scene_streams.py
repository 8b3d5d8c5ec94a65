"""Outputs of scenes while they stream."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculator_scenes import ENTER, call, manager_of
from coroutine_tests import on_a_loop
from output_types import City, Leg, as_json, cases
from partial_values import grows, pieces
from toolweave import SceneManager, SceneStep
from toolweave.exceptions import ModelError, OutputError
from toolweave.kinds import SceneStatus
from toolweave.output import OutputSchema

OSLO = '{"name": "Oslo", "people": 700000}'
STEP = {"id": 1, "scene": "Calculator", "purpose": "Add", "depends_on": []}
PLAN = json.dumps({"answer": None, "steps": [STEP]})
DONE = json.dumps({"continue": False, "reason": "so"})
MODES: list[tuple[str, list[str]]] = [
    ("direct", [ENTER]),
    ("direct", ["It is Oslo."]),
    ("direct", [call("Calculator") + call("Weather_Report"), "It is 42."]),
    ("planning", [PLAN, "It is 42."]),
    ("chaining", [ENTER, "It is 42.", DONE]),
]
"""Modes, with the replies before the request for the output."""


async def values_of(manager: SceneManager[Any], **options: Any) -> list[Any]:
    async with manager.open("Where?", **options) as run:
        return [value async for value in run.stream_output()]


@given(st.data(), cases, st.sampled_from(MODES), st.integers(1, 9), st.booleans())
def test_values_only_grow_and_end_as_the_output_in_every_mode(
    data: st.DataObject,
    case: tuple[Any, Any],
    mode: tuple[str, list[str]],
    size: int,
    streaming: bool,
) -> None:
    output_type, values = case
    text = json.dumps(as_json(output_type, data.draw(values)), ensure_ascii=False)
    manager = manager_of(*mode[1], pieces(text, size), mode=mode[0], output_type=output_type)
    found = asyncio.run(values_of(manager, streaming=streaming))
    assert found[-1] == OutputSchema(output_type).read(text).value
    for before, after in pairwise(found):
        assert grows(before, after)
        assert before != after


@on_a_loop
async def test_strings_arrive_in_parts() -> None:
    leg = '{"start": "Oslo", "stops": [], "km": 5.25}'
    found = await values_of(manager_of(ENTER, pieces(leg, 4), mode="direct", output_type=Leg))
    assert {"start": "O"} in found
    assert found[-1] == {"start": "Oslo", "stops": [], "km": 5.25}


@on_a_loop
async def test_without_an_output_type_the_text_of_each_reply_grows() -> None:
    manager = manager_of(ENTER, pieces("It is Oslo. ", 4), mode="direct")
    assert await values_of(manager) == ["It i", "It is Os", "It is Oslo."]


@on_a_loop
async def test_after_an_invalid_reply_the_values_begin_again() -> None:
    replies = [pieces('{"people": 1}', 20), pieces(OSLO, 40)]
    manager = manager_of(ENTER, *replies, mode="direct", output_type=City)
    found = await values_of(manager)
    assert {"people": 1} in found
    assert found[-1] == {"name": "Oslo", "people": 700000}


@pytest.mark.parametrize("streaming", [False, True])
@on_a_loop
async def test_the_steps_are_the_same_after_a_part_of_the_output(streaming: bool) -> None:
    manager = manager_of(ENTER, pieces(OSLO, 4), mode="direct", output_type=City)
    steps: list[SceneStep] = []
    async with manager.open("Where?", streaming=streaming) as run:
        values = run.stream_output()
        assert await anext(values) is not None
        await values.aclose()
        steps += [step async for step in run]
    assert steps[-1].status is SceneStatus.COMPLETED
    assert any(step.status is SceneStatus.STREAMING for step in steps) is streaming
    assert run.result is not None
    assert run.result.output == City(name="Oslo", people=700000)


@on_a_loop
async def test_a_run_without_an_output_raises() -> None:
    manager = manager_of(ENTER, ModelError("no"), mode="direct", output_type=City)
    with pytest.raises(OutputError):
        await values_of(manager)
