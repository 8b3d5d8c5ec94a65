"""Outputs of single replies: read and validated, without another request."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coroutine_tests import on_a_loop
from output_types import DAMAGES, City, Damage
from toolweave import FinishReason, FinishUpdate, RunContext, TextDelta
from toolweave.exceptions import OutputError, OutputTypeError
from toolweave.natural import NaturalToolUse
from toolweave.testing import ScriptedModel

OSLO = '{"name": "Oslo", "people": 700000}'


def add(a: int, b: int) -> int:
    return a + b


@given(
    st.lists(st.builds(City, name=st.text("abc", min_size=1), people=st.integers()), min_size=1),
    st.sampled_from(DAMAGES),
)
def test_a_reply_is_read_and_repaired(cities: list[City], damage: Damage) -> None:
    text = damage(json.dumps([city.model_dump() for city in cities]))
    use = NaturalToolUse(ScriptedModel(text), output_type=list[City])
    assert asyncio.run(use.output(use.open("Where?"))) == cities


@on_a_loop
async def test_every_request_asks_for_the_output() -> None:
    model = ScriptedModel("", OSLO, OSLO)
    use = NaturalToolUse(model, [add], output_type=City)
    await use.complete("Where?")
    assert await use.output(use.open("Where?")) == City(name="Oslo", people=700000)
    for request in model.requests:
        assert "people" in request.messages[0].text


@on_a_loop
async def test_a_reply_may_have_been_read_before() -> None:
    use = NaturalToolUse(ScriptedModel(OSLO), output_type=City)
    async with use.open("Where?") as reply:
        async for _ in reply:
            pass
    assert await use.output(reply) == City(name="Oslo", people=700000)


@on_a_loop
async def test_without_an_output_type_the_output_is_the_text() -> None:
    model = ScriptedModel(" Hello. ")
    use = NaturalToolUse(model)
    assert await use.output(use.open("Hi!")) == "Hello."
    assert len(model.requests[0].messages) == 1


@on_a_loop
async def test_an_invalid_reply_is_an_error_with_the_violations() -> None:
    model = ScriptedModel('{"people": "many"}')
    use = NaturalToolUse(model, output_type=City)
    reply = use.open("Where?")
    with pytest.raises(OutputError) as raised:
        await use.output(reply)
    assert {violation.path for violation in raised.value.violations} == {"", "/people"}
    assert raised.value.partial == {"people": "many"}
    assert raised.value.messages == reply.messages
    assert len(model.requests) == 1


@on_a_loop
async def test_a_reply_with_calls_or_cut_off_is_no_output() -> None:
    cut_off = [TextDelta('{"name": "Oslo'), FinishUpdate(FinishReason.LENGTH)]
    model = ScriptedModel(f'{OSLO}<add>{{"a": 2, "b": 3}}</add>', cut_off)
    use = NaturalToolUse(model, [add], output_type=City)
    for problem in ("has calls", "cut off"):
        with pytest.raises(OutputError, match=problem):
            await use.output(use.open("Where?"))


@on_a_loop
async def test_a_function_gets_the_context_of_the_reply() -> None:
    async def book(context: RunContext, city: str) -> str:
        return f"{city}, {context.run_id}"

    use = NaturalToolUse(ScriptedModel('{"city": "Oslo"}'), output_type=book)
    assert await use.output(use.open("Book!", run_id="r1")) == "Oslo, r1"


def test_a_type_without_a_schema_is_refused() -> None:
    with pytest.raises(OutputTypeError):
        NaturalToolUse(ScriptedModel(), output_type=asyncio.Event)
