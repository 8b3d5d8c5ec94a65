"""Laws of outputs: what a model writes as JSON comes out as the value that it means."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from output_types import DAMAGES, Damage, as_json, cases, scalars
from toolweave.output import InvalidOutput, OutputSchema, ReadOutput


@given(st.data(), cases, st.sampled_from(DAMAGES))
def test_what_a_model_writes_comes_out_as_an_equal_value(
    data: st.DataObject, case: tuple[Any, Any], damage: Damage
) -> None:
    output_type, values = case
    value = data.draw(values)
    written = json.dumps(as_json(output_type, value), ensure_ascii=data.draw(st.booleans()))
    schema = OutputSchema(output_type)
    if schema.is_object:
        # Such a type has an object of its own, so none is around it.
        damage = damage if "result" not in damage("[1]") else DAMAGES[0]
    found = schema.read(damage(written))
    assert isinstance(found, ReadOutput), found
    assert found.output == value
    assert type(found.output) is type(value)


@given(st.data(), scalars, st.sampled_from(["{}", "**{}**", "`{}`.", "{}.", "Answer: {}", " {}\n"]))
def test_a_scalar_may_be_a_bare_word(data: st.DataObject, case: Any, form: str) -> None:
    output_type, values = case
    value = data.draw(values)
    plain = as_json(output_type, value)
    word = plain if isinstance(plain, str) else json.dumps(plain)
    found = OutputSchema(output_type).read(form.format(word))
    assert isinstance(found, ReadOutput), found
    assert found.output == value


@given(cases, st.text(max_size=200), st.booleans())
def test_any_reply_is_an_output_or_has_violations(
    case: tuple[Any, Any], text: str, truncated: bool
) -> None:
    found = OutputSchema(case[0]).read(text, truncated=truncated)
    assert isinstance(found, ReadOutput) or found.violations


@given(cases)
def test_a_reply_that_was_cut_off_is_no_output(case: tuple[Any, Any]) -> None:
    found = OutputSchema(case[0]).read("[1, 2", truncated=True)
    assert isinstance(found, InvalidOutput)
    assert found.violations[0].keyword == "truncated"


@given(
    st.sampled_from(["[", "{", '{"a":', '"', "```\n", "[1,", "Answer: "]), st.integers(3, 50_000)
)
def test_hostile_replies_are_refused_in_bounded_time(piece: str, count: int) -> None:
    found = OutputSchema(list[int]).read(piece * count)
    assert isinstance(found, InvalidOutput)


@given(cases)
def test_the_schema_for_providers_is_that_of_an_object(case: tuple[Any, Any]) -> None:
    schema = OutputSchema(case[0])
    assert schema.response_schema["type"] == "object"
    assert schema.instructions()
