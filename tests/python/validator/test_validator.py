"""The Python API of the validator."""

from __future__ import annotations

import collections
import copy
import enum
import json
import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave
from paths import CASES
from toolweave import InvalidJSONError, SchemaError, ValidationError, Validator, Violation

FOLDER = CASES / "validator"


def cases(name: str) -> list[Any]:
    return [
        pytest.param(case, id=case["name"])
        for case in json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("case", cases("violations"))
def test_golden_violations_agree(case: dict[str, Any]) -> None:
    validator = Validator(case["schema"])
    wanted = tuple(Violation(**violation) for violation in case["violations"])
    assert validator.iter_errors(case["value"]) == wanted
    assert validator.is_valid(case["value"]) is not bool(wanted)
    text = json.dumps(case["value"])
    if wanted:
        with pytest.raises(ValidationError) as refused:
            validator.validate_json(text)
        assert refused.value.violations == wanted
    else:
        assert validator.validate_json(text) == case["value"]


@pytest.mark.parametrize("case", cases("schemas"))
def test_golden_schema_errors_agree(case: dict[str, Any]) -> None:
    with pytest.raises(SchemaError) as refused:
        Validator(case["schema"], resources=case.get("resources"))
    assert {"path": refused.value.path, "message": str(refused.value)} == case["error"]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
schemas = st.sampled_from(
    [
        True,
        {"type": "object"},
        {"type": ["integer", "array", "string"]},
        {"items": {"type": "number", "minimum": 0}},
        {"anyOf": [{"type": "integer"}, {"items": {"type": "boolean"}, "minItems": 1}]},
        {"additionalProperties": {"type": "string", "maxLength": 2}},
        {"enum": [0, 1.0, "a", None, []]},
    ]
)


@given(schemas, json_values)
def test_all_methods_of_validation_agree(schema: Any, value: Any) -> None:
    validator = Validator(schema)
    fits = validator.is_valid(value)
    assert (validator.iter_errors(value) == ()) is fits
    try:
        assert validator.validate_json(json.dumps(value)) == value
    except ValidationError as err:
        assert not fits
        assert err.violations == validator.iter_errors(value)
    else:
        assert fits


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_text_is_json_or_a_clear_error(text: str | bytes) -> None:
    try:
        Validator(True).validate_json(text)
    except InvalidJSONError as err:
        assert err.line >= 1
        assert err.column >= 0


def test_numbers_are_exact() -> None:
    validator = Validator({"type": "integer"})
    for number in (2**53 + 1, 2**63, -(2**64), 12345678901234567890123, 10**4000):
        assert validator.validate_json(str(number)) == number
        assert validator.is_valid(number)


@pytest.mark.parametrize("text", ["1e400", "-1e+999", "[1" + "0" * 400 + ".0]", "9" * 5000])
def test_excessive_numbers_are_refused(text: str) -> None:
    with pytest.raises(InvalidJSONError):
        Validator(True).validate_json(text)


@pytest.mark.parametrize("text", ["1e300", '"1e999"', '{"a1e5":"' + "1" * 400 + '"}'])
def test_similar_text_is_not_an_excessive_number(text: str) -> None:
    assert Validator(True).validate_json(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("", 1, 0), ('{"a": 1,\n}', 2, 1), ("nul", 1, 3), ("NaN", 1, 1), ('"\ud800"', 1, 1)],
)
def test_invalid_json_has_a_position(text: str, line: int, column: int) -> None:
    with pytest.raises(InvalidJSONError) as refused:
        Validator(True).validate_json(text)
    assert (refused.value.line, refused.value.column) == (line, column)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def test_depth_is_limited() -> None:
    validator = Validator(True)
    assert validator.is_valid(nested(128))
    assert validator.validate_json("[" * 128 + "]" * 128)
    for depth in (129, 150, 1_000, 100_000):
        with pytest.raises(InvalidJSONError):
            validator.validate_json("[" * depth + "]" * depth)
        with pytest.raises(ValueError, match="128 levels"):
            validator.validate(nested(depth))
    with pytest.raises(ValueError, match="128 levels"):
        Validator(nested(1_000))
    assert validator.validate_json('"' + "[" * 1_000 + '"')


def test_a_value_that_contains_itself_is_refused() -> None:
    validator = Validator({"type": "object"})
    loop: dict[str, Any] = {}
    loop["self"] = [loop]
    for judge in (validator.validate, validator.is_valid, validator.iter_errors):
        with pytest.raises(ValueError, match="contains itself"):
            judge(loop)


@pytest.mark.parametrize(
    "value", [{1}, math.nan, math.inf, {1: 2}, b"x", "\ud800", {"\ud800": 1}, 1j, object()]
)
def test_other_values_than_json_are_a_type_error(value: Any) -> None:
    for holder in (value, [value], {"a": value}):
        with pytest.raises(TypeError, match="not JSON at"):
            Validator(True).validate(holder)


class Colour(enum.IntEnum):
    RED = 1


class Text(str):
    __slots__ = ()


def test_tuples_and_mappings_count_as_json() -> None:
    validator = Validator({"type": "object", "additionalProperties": {"type": "array"}})
    validator.validate(collections.OrderedDict(a=(1, 2)))
    validator.validate({"a": [Colour.RED, Text("x")]})
    assert not validator.is_valid({"a": Colour.RED})


@pytest.mark.parametrize("text", [None, 1, ["{}"], bytearray(b"{}")])
def test_only_text_is_parsed(text: Any) -> None:
    with pytest.raises(TypeError, match="str or bytes"):
        Validator(True).validate_json(text)


def test_invalid_schemas_and_resources_are_refused() -> None:
    not_schemas: list[Any] = [None, 1, "object", []]
    for schema in not_schemas:
        with pytest.raises(SchemaError):
            Validator(schema)
    with pytest.raises(TypeError):
        Validator({"enum": {1, 2}})
    not_resources: list[Any] = [1, [], {1: True}]
    for resources in not_resources:
        with pytest.raises(TypeError):
            Validator(True, resources=resources)
    with pytest.raises(TypeError):
        Validator(True, {})  # type: ignore[call-arg]


def test_resources_resolve_and_nothing_else() -> None:
    resources = {"http://example.com/n": {"type": "integer"}}
    assert Validator({"$ref": "http://example.com/n"}, resources=resources).is_valid(1)
    with pytest.raises(SchemaError, match="nothing is fetched"):
        Validator({"$ref": "http://example.com/m"}, resources=resources)


def test_errors_are_capped() -> None:
    assert len(Validator({"items": {"type": "null"}}).iter_errors([1] * 1_000)) == 20


def test_violations_and_errors_survive_pickling() -> None:
    violation = Violation("/a", "type", "/a: 1 is not a string", "string", 1)
    assert copy.deepcopy(violation) == pickle.loads(pickle.dumps(violation)) == violation
    for error in (
        ValidationError("no", (violation,)),
        SchemaError("no", "/a"),
        InvalidJSONError("no", 1, 2),
    ):
        copied = pickle.loads(pickle.dumps(error))
        assert type(copied) is type(error)
        assert vars(copied) == vars(error)
        assert isinstance(error, toolweave.ToolweaveError)
        assert isinstance(error, ValueError)
    match violation:
        case Violation(path, keyword):
            assert (path, keyword) == ("/a", "type")


def test_the_repr_is_short() -> None:
    assert repr(Validator({"type": "null"})) == 'Validator({"type":"null"})'
    assert len(repr(Validator({"const": "x" * 10_000}))) < 250
