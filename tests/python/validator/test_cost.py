"""The cost of validating Python objects is linear in the bytes, for every keyword and shape."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from itertools import count, takewhile
from typing import Any

import pytest

import toolweave as tw

BYTES = 60_000
"""Length of the JSON of a value."""

SECONDS = 0.5
"""Time allowed for any value: two million visits, in a development build."""

FACTOR = 60
"""Additional time allowed, as a multiple of the time of writing the JSON."""

TRIES = 4


def items(item: Callable[[int], Any]) -> list[Any]:
    """Return items of this many bytes."""
    left = BYTES

    def fits(value: Any) -> bool:
        nonlocal left
        left -= len(json.dumps(value)) + 2
        return left > 0

    made: Iterator[Any] = takewhile(fits, (item(at) for at in count()))
    return list(made)


SHAPES: dict[str, list[Any]] = {
    "small integers": items(lambda at: at),
    "integers of 26 digits": items(lambda at: 10**25 + at),
    "integers of 401 digits": items(lambda at: 10**400 + at),
    "integers of 4000 digits": items(lambda at: 10**3999 + at),
    "floats": items(lambda at: at + 0.25),
    "large floats": items(lambda at: (1 + at / 1e4) * 1e300),
    "strings": items(lambda at: f"item {at}"),
    "equal keys": items(lambda at: {"a": 1, "b": at}),
    "nested arrays": items(lambda at: [[[]] * (at % 7), [[]] * at]),
    "long strings": items(lambda at: "a" * 600 + str(at)),
}

KEYWORDS: list[dict[str, Any]] = [
    {"type": "integer"},
    {"maximum": 3.5},
    {"minimum": 10**30},
    {"multipleOf": 7},
    {"multipleOf": 0.01},
    {"const": 1.5},
    {"enum": [*range(50), 1.5, "a", 10**100, {"a": 1}]},
    {"pattern": "^(a+)+b$"},
    {"anyOf": [{"type": "integer", "maximum": 3.5}, {"const": 1}, {"multipleOf": 0.5}]},
    {"propertyNames": {"maxLength": 3}, "patternProperties": {"^a": {"minimum": 0.5}}},
]


def verdict_time(validator: tw.Validator, value: Any) -> float:
    start = time.thread_time()
    validator.is_valid(value)
    return time.thread_time() - start


@pytest.mark.parametrize("shape", SHAPES)
def test_validation_cost_is_linear_in_the_bytes(shape: str) -> None:
    value = SHAPES[shape]
    start = time.thread_time()
    text = json.dumps(value)
    limit = SECONDS + FACTOR * (time.thread_time() - start)
    schemas = [{"items": schema} for schema in KEYWORDS]
    schemas += [{"uniqueItems": True}, {"contains": {"multipleOf": 0.5}, "minContains": 9}]
    for schema in schemas:
        validator = tw.Validator(schema)
        for judged in (value, json.loads(text)):
            least = 0.0
            for _ in range(TRIES):
                least = verdict_time(validator, judged)
                if least <= limit:
                    break
            assert least <= limit, schema


@pytest.mark.parametrize(
    "value", [10**25, 10**400, 1.5, "a", [1, {"a": []}], {"b": 1, "a": 2}, None, True]
)
def test_equal_items_are_found_in_place(value: Any) -> None:
    validator = tw.Validator({"uniqueItems": True})
    others = [False, 0, "b", 10**26, {"a": 1}, *range(2, 30)]
    assert validator.is_valid([value, *others])
    twin = json.loads(json.dumps(value))
    assert not validator.is_valid([value, *others, twin])
    assert not validator.is_valid([[value], *others, [twin]])


def test_numbers_are_equal_however_they_are_written() -> None:
    validator = tw.Validator({"uniqueItems": True})
    for pair in ("[1, 1.0]", "[100, 1e2]", "[0, -0.0]", '[{"a": 1, "b": 2}, {"b": 2.0, "a": 1}]'):
        with pytest.raises(tw.ValidationError, match="twice"):
            validator.validate_json(pair)
    assert validator.validate_json("[1, true, 1.5, [1], [[1]]]") == [1, True, 1.5, [1], [[1]]]


def test_arguments_have_at_most_a_mebibyte_by_default() -> None:
    assert tw.Limits().max_argument_bytes == 1 << 20
