"""Conversion of JSON to the arguments of a function, for every type and value."""

from __future__ import annotations

import datetime
import decimal
import enum
import inspect
import json
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, NewType, Optional, Union, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, field_validator
from typing_extensions import NotRequired, TypedDict

from toolweave import Tool, ValidationError, Validator, tool
from toolweave.tools._plain import plain


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    y: float = 0.5
    names: list[str] = field(default_factory=list)


class Options(TypedDict):
    deep: bool
    limit: NotRequired[int]


class Node(BaseModel):
    name: str
    when: datetime.datetime | None = None
    colour: Colour = Colour.RED
    children: list[Node] = []


UserId = NewType("UserId", int)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(-(10**30), 10**30)
times = st.datetimes(timezones=st.just(datetime.timezone.utc))
scalars = st.none() | st.booleans() | whole | numbers | texts
anything: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
points = st.builds(Point, whole, numbers, st.lists(texts, max_size=3))
nodes: st.SearchStrategy[Node] = st.deferred(
    lambda: st.builds(
        Node,
        name=texts,
        when=st.none() | times,
        colour=st.sampled_from(Colour),
        children=st.lists(nodes, max_size=1),
    )
)

TYPES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "str": (str, texts),
    "int": (int, whole),
    "float": (float, numbers),
    "bool": (bool, st.booleans()),
    "None": (None, st.none()),
    "Any": (Any, anything),
    "list": (list, st.lists(anything, max_size=3)),
    "list[float]": (list[float], st.lists(numbers, max_size=3)),
    "dict": (dict, st.dictionaries(texts, anything, max_size=3)),
    "dict[str, list[int]]": (
        dict[str, list[int]],
        st.dictionaries(texts, st.lists(whole, max_size=3), max_size=3),
    ),
    "Literal": (Literal["a", 1, True, None], st.sampled_from(["a", 1, True, None])),  # noqa: PYI061
    "Optional[int]": (Optional[int], st.none() | whole),  # noqa: UP045
    "int | float": (int | float, whole | numbers),
    "str | list[str]": (str | list[str], texts | st.lists(texts, max_size=3)),
    "int | list[dict[str, float]]": (
        int | list[dict[str, float]],
        whole | st.lists(st.dictionaries(texts, numbers, max_size=2), max_size=2),
    ),
    "Annotated": (Annotated[int, "How many."], whole),
    "Field": (Annotated[int, Field(ge=0, le=10)], st.integers(0, 10)),
    "set[int]": (set[int], st.sets(whole, max_size=3)),
    "tuple[int, str]": (tuple[int, str], st.tuples(whole, texts)),
    "Sequence[bool]": (Sequence[bool], st.lists(st.booleans(), max_size=3)),
    "Mapping[str, Point]": (Mapping[str, Point], st.dictionaries(texts, points, max_size=2)),
    "dict[int, str]": (dict[int, str], st.dictionaries(whole, texts, max_size=2)),
    "Enum": (Colour, st.sampled_from(Colour)),
    "IntEnum": (Level, st.sampled_from(Level)),
    "Literal[Enum]": (Literal[Colour.RED, Colour.BLUE], st.sampled_from(Colour)),
    "datetime": (datetime.datetime, times),
    "date": (datetime.date, st.dates()),
    "timedelta": (datetime.timedelta, st.timedeltas()),
    "UUID": (uuid.UUID, st.uuids()),
    "Decimal": (decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    "bytes": (bytes, texts.map(str.encode)),
    "PurePosixPath": (PurePosixPath, st.just(PurePosixPath("/tmp/x"))),
    "NewType": (UserId, whole),
    "dataclass": (Point, points),
    "TypedDict": (
        Options,
        st.fixed_dictionaries({"deep": st.booleans()}, optional={"limit": whole}),
    ),
    "BaseModel": (Node, nodes),
    "list[BaseModel]": (list[Node], st.lists(nodes, max_size=2)),
    "BaseModel | None": (Node | None, st.none() | nodes),
}


def taking(hint: Any, **options: Any) -> Tool[..., Any]:
    """Return a tool with one parameter of this type."""

    def take(value: Any) -> Any:
        return value

    take.__annotations__ = {"value": hint}
    return tool(take, **options)


TOOLS = {name: taking(hint) for name, (hint, _) in TYPES.items()}
ADAPTERS = {name: TypeAdapter[Any](hint) for name, (hint, _) in TYPES.items()}


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
def test_a_value_written_as_json_fits_the_schema_and_comes_back(
    name: str, data: st.DataObject
) -> None:
    value = data.draw(TYPES[name][1])
    arguments = {"value": json.loads(ADAPTERS[name].dump_json(value))}
    made = TOOLS[name]
    assert made.validator is not None
    assert made.validator.iter_errors(arguments) == ()
    [(key, bound)] = made.bind(arguments).items()
    assert key == "value"
    assert bound == value
    assert type(bound) is type(value)
    assert made(bound) is bound


@given(st.lists(st.tuples(st.sampled_from(list(TYPES)), st.booleans()), max_size=4), st.data())
def test_every_signature_has_a_schema_that_its_arguments_and_defaults_fit(
    kinds: list[tuple[str, bool]], data: st.DataObject
) -> None:
    def f(**given: Any) -> dict[str, Any]:
        return given

    values = {f"p{at}": data.draw(TYPES[kind][1]) for at, (kind, _) in enumerate(kinds)}
    f.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=TYPES[kind][0],
                default=values[name] if optional else inspect.Parameter.empty,
            )
            for name, (kind, optional) in zip(values, kinds, strict=True)
        ]
    )
    made = tool(f)
    schema = made.contract.parameters
    assert schema is not None
    defaults = {
        name: entry["default"] for name, entry in schema["properties"].items() if "default" in entry
    }
    arguments = {
        name: json.loads(ADAPTERS[kind].dump_json(values[name]))
        for name, (kind, _) in zip(values, kinds, strict=True)
    }
    assert made.validator is not None
    assert list(schema["properties"]) == list(values)
    assert defaults == {name: arguments[name] for name in defaults}
    assert made.validator.iter_errors(arguments) == ()
    assert made(**made.bind(arguments)) == values
    required = {name: arguments[name] for name in schema.get("required", ())}
    assert made.validator.is_valid(required)
    assert made.bind(required) == {name: values[name] for name in required}


def plain_types() -> st.SearchStrategy[Any]:
    literals = st.lists(st.sampled_from(["a", "b", 1, 2, True, None]), min_size=1, max_size=3)
    simple = st.sampled_from([str, int, float, bool, None, Any, list, dict, object])
    return st.recursive(
        simple | literals.map(lambda values: Literal[tuple(values)]),
        lambda inner: (
            inner.map(lambda hint: list[hint])
            | inner.map(lambda hint: dict[str, hint])
            | st.lists(inner, min_size=2, max_size=3).map(lambda hints: Union[tuple(hints)])  # noqa: UP007
        ),
        max_leaves=4,
    )


@given(plain_types(), anything | st.sampled_from([1, 2, 1.0, "a", True]))
def test_plain_types_accept_what_pydantic_accepts(hint: Any, value: Any) -> None:
    known = plain(hint)
    if known is None:
        return
    validator = Validator(TypeAdapter(hint).json_schema())
    assert Validator(known.schema).is_valid(value) == validator.is_valid(value)


def shape(value: Any) -> Any:
    """Return a value with the types of everything in it."""
    if isinstance(value, dict):
        return {key: shape(entry) for key, entry in value.items()}
    return [shape(entry) for entry in value] if isinstance(value, list) else (type(value), value)


def of_type(value: Any, hint: Any) -> bool:
    """Return True if a value has exactly this type."""
    if hint in (Any, object):
        return True
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return shape(value) in [shape(member) for member in arguments]
    if origin is Union:
        return any(of_type(value, member) for member in arguments)
    if origin is list:
        return isinstance(value, list) and all(of_type(entry, arguments[0]) for entry in value)
    if origin is dict:
        entries = value.values() if isinstance(value, dict) else [None]
        return isinstance(value, dict) and all(of_type(entry, arguments[1]) for entry in entries)
    return type(value) is (type(None) if hint is None else hint)


@given(plain_types(), anything | st.sampled_from([1.0, 2.0, [1.0], {"a": 1.0}, {"a": [1]}]))
def test_valid_arguments_are_converted_to_the_exact_type(hint: Any, value: Any) -> None:
    known = plain(hint)
    if known is None or not Validator(known.schema).is_valid(value):
        return
    bound = value if known.convert is None else known.convert(value)
    assert bound == value
    assert of_type(bound, hint)


@pytest.mark.parametrize(
    ("hint", "value", "bound"),
    [
        (int, 1.0, 1),
        (int, 1e20, 10**20),
        (float, 1, 1.0),
        (int | None, 1.0, 1),
        (float | None, 1, 1.0),
        (int | float, 1.0, 1.0),
        (int | float, 1, 1),
        (str | int, 1.0, 1),
        (Literal[1, "a"], 1.0, 1),
        (list[int], [1.0], [1]),
        (dict[str, float], {"a": 1}, {"a": 1.0}),
        (list[int] | float, 1, 1.0),
        (Annotated[int, Field(ge=0)], 1.0, 1),
        (Point, {"x": 1.0, "y": 1}, Point(1, 1.0)),
    ],
)
def test_a_number_is_converted_to_the_annotated_type(hint: Any, value: Any, bound: Any) -> None:
    made = taking(hint)
    assert made.validator is not None
    assert made.validator.is_valid({"value": value})
    assert shape(made.bind({"value": value})["value"]) == shape(bound)


def test_omitted_arguments_use_the_functions_defaults() -> None:
    def f(a: int, b: int = 2, *, c: list[int] = [], d: Colour = Colour.RED) -> None: ...  # noqa: B006

    assert tool(f).bind({"a": 1}) == {"a": 1}


def with_fields(
    b: Annotated[list[int], Field(default_factory=list)],
    a: int = Field(default=3, ge=1),
) -> None: ...


def test_a_default_of_field_is_filled_in() -> None:
    assert tool(with_fields).bind({}) == {"a": 3, "b": []}
    one, two = tool(with_fields).bind({})["b"], tool(with_fields).bind({})["b"]
    assert one is not two


def test_other_names_are_passed_as_keyword_arguments() -> None:
    def f(a: int, **rest: float) -> None: ...

    made = tool(f)
    assert made.validator is not None
    assert made.validator.is_valid({"a": 1, "b": 2})
    assert not made.validator.is_valid({"a": 1, "b": "2"})
    assert shape(made.bind({"a": 1, "b": 2})) == shape({"a": 1, "b": 2.0})


class Strict(BaseModel, extra="forbid", strict=True):
    day: datetime.date
    even: int = 0

    @field_validator("even")
    @classmethod
    def _check(cls, value: int) -> int:
        if value % 2:
            raise ValueError("an even number is wanted")
        return value


def refusal(made: Tool[..., Any], arguments: dict[str, Any]) -> list[tuple[str, str, str]]:
    with pytest.raises(ValidationError) as caught:
        made.bind(arguments)
    assert str(caught.value).startswith(caught.value.violations[0].message)
    return [(each.path, each.keyword, each.message) for each in caught.value.violations]


def test_strict_models_accept_json_values() -> None:
    assert taking(Strict).bind({"value": {"day": "2026-01-02"}}) == {
        "value": Strict(day=datetime.date(2026, 1, 2))
    }


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (
            datetime.date,
            "tomorrow",
            (
                "/value",
                "date_from_datetime_parsing",
                '/value: "tomorrow" is refused: input should be a valid date',
            ),
        ),
        (
            Strict,
            {"day": "2026-01-02", "even": 3},
            ("/value/even", "value_error", "/value/even: 3 is refused: an even number is wanted"),
        ),
        (Strict, {}, ("/value", "required", "/value/day: missing")),
        (
            Strict,
            {"day": "2026-01-02", "other~/": 1},
            (
                "/value/other~0~1",
                "additionalProperties",
                "/value/other~0~1: 1 is refused: extra inputs are not permitted",
            ),
        ),
        (
            list[Strict] | None,
            [{"day": "2026-01-02"}, {"day": "2026-99-02"}],
            ("/value/1/day", "date_parsing", ""),
        ),
        (dict[int, str], {"x": "y"}, ("/value/x", "int_parsing", "")),
        (float, 10**400, ("/value", "type", "/value: the number is too large for a float")),
        (list[float], [10**400], ("/value", "type", "")),
    ],
)
def test_a_pydantic_error_becomes_a_violation_with_its_path(
    hint: Any, value: Any, expected: tuple[str, str, str]
) -> None:
    [(path, keyword, message)] = refusal(taking(hint), {"value": value})
    assert (path, keyword) == expected[:2]
    assert message.startswith(expected[2])


def test_all_violations_are_reported_at_once() -> None:
    def f(a: datetime.date, b: Strict, c: float) -> None: ...

    found = refusal(tool(f), {"a": "x", "b": {"day": "y", "even": 1}, "c": 10**400})
    assert [path for path, _, _ in found] == ["/a", "/b/day", "/b/even", "/c"]


def test_a_long_value_is_truncated_in_a_violation() -> None:
    with pytest.raises(ValidationError) as caught:
        taking(datetime.date).bind({"value": "x" * 1000})
    [violation] = caught.value.violations
    assert len(violation.message) < 400
    assert len(violation.actual) < 250


def test_a_function_is_never_called_with_arguments_it_does_not_accept() -> None:
    def f(a: int, b: int = 1) -> None: ...

    raw = Tool.from_schema("f", {"type": "object"}, f)
    assert refusal(raw, {"c": 1}) == [
        ("", "additionalProperties", 'the value: unexpected "c"; only "a", "b" are accepted'),
        ("", "required", "/a: missing"),
    ]


def test_with_a_schema_only_numbers_are_converted() -> None:
    def f(a: int, b: float, c: Any, d: Literal[Colour.RED], e: list[int], f) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001

    raw = Tool.from_schema("f", {}, f)
    arguments = {"a": 1.0, "b": 1, "c": 1.0, "d": "red", "e": [1.0], "f": 1.0}
    assert shape(raw.bind(arguments)) == shape({**arguments, "a": 1, "b": 1.0})


@given(st.dictionaries(st.sampled_from("abcd"), anything, min_size=4, max_size=4))
def test_with_a_schema_no_value_is_rejected_or_changed(arguments: dict[str, Any]) -> None:
    def f(a: int, b: float | None, c: list[int], d: Literal[Colour.RED, 1]) -> None: ...

    bound = Tool.from_schema("f", {}, f).bind(arguments)
    if type(arguments["b"]) is int:
        arguments["b"] = float(arguments["b"])
    assert bound == arguments


RAW = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "pattern": "^[A-Z]"},
        "days": {"type": "integer", "minimum": 1},
        "where": {
            "type": "object",
            "properties": {"unit": {"enum": ["celsius", "fahrenheit"]}},
        },
    },
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param({"city": 5}, id="wrong type"),
        pytest.param({"days": 1}, id="missing required"),
        pytest.param({"city": "oslo"}, id="pattern"),
        pytest.param({"city": "Oslo", "days": 0}, id="minimum"),
        pytest.param({"city": "Oslo", "where": {"unit": "kelvin"}}, id="nested enum"),
        pytest.param({"city": "Oslo", "other": 1}, id="extra key"),
    ],
)
def test_a_given_schema_rejects_invalid_input(bad: dict[str, Any]) -> None:
    def look(**arguments: Any) -> None: ...

    made = Tool.from_schema("look", RAW, look)
    assert made.validator is not None
    assert made.validator.is_valid({"city": "Oslo", "days": 2, "where": {"unit": "celsius"}})
    assert not made.validator.is_valid(bad)
    with pytest.raises(ValidationError):
        made.validator.validate(bad)


def test_nan_is_not_shown_as_a_default() -> None:
    def f(a: float = math.inf) -> None: ...

    assert tool(f).contract.parameters == {
        "type": "object",
        "properties": {"a": {"type": "number"}},
        "additionalProperties": False,
    }
