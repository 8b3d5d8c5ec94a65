"""Output types: their schemas, the replies that fit them, and the types that are refused."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import pytest
from pydantic import BaseModel, create_model
from typing_extensions import TypeAliasType, TypedDict

from output_types import City, Colour, Leg, Refusal, Trip
from toolweave.exceptions import OutputTypeError, ToolDefinitionError
from toolweave.output import InvalidOutput, OutputSchema, ReadOutput


class Person(BaseModel):
    name: str
    age: int = 3


class Worker(BaseModel):
    name: str
    wage: float


class Call(BaseModel):
    name: str
    arguments: dict[str, Any]


class Node(BaseModel):
    value: int
    children: list[Node] = []


Places = TypeAliasType("Places", City | Leg)
Anyone = TypeAliasType("Anyone", City | Person)
Numbers = TypeAliasType("Numbers", "list[Numbers] | int")
# The same as a statement, whose parts are evaluated later.
if sys.version_info >= (3, 12):
    exec("type Deep = list[Deep] | int")
else:
    Deep = Numbers


def find_city(city: str, days: int = 2) -> str:
    """Find a city."""
    return f"{city} {days}"


def read(output_type: Any, text: str) -> Any:
    found = OutputSchema(output_type).read(text)
    assert isinstance(found, ReadOutput), found.violations
    return found.output


def violations(output_type: Any, text: str, **options: Any) -> list[str]:
    found = OutputSchema(output_type).read(text, **options)
    assert isinstance(found, InvalidOutput), found.output
    return [violation.message for violation in found.violations]


@pytest.mark.parametrize(
    ("output_type", "text", "expected"),
    [
        (str, " Hello. ", "Hello."),
        (bool, "True", True),
        (float, "3", 3.0),
        (Literal[1, 2], "2.", 2),
        (Colour, "Red", Colour.RED),
        (Colour, "Colour: dark blue", Colour.BLUE),
        (datetime.date, "2026-11-23", datetime.date(2026, 11, 23)),
        (int | None, "null", None),
        (int | str, "5", 5),
        (int | str, "five", "five"),
        (int | str, '{"result": "5"}', "5"),
        (int | float, "5", 5),
        (str | City, '{"name": "Oslo"}', City(name="Oslo")),
        (str | City, "I do not know.", "I do not know."),
        (list[City], 'Here: [{"name": "Oslo"}] :-)', [City(name="Oslo")]),
        (list[int], "```json\n[1, '2', 3,]\n```", [1, 2, 3]),
        (list[int], "[1, 2", [1, 2]),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (set[int], "[1, 2]", {1, 2}),
        (dict[str, int], '{"result": 1}', {"result": 1}),
        (Trip | Refusal, '{"kind": "refusal", "why": "no"}', Refusal(kind="refusal", why="no")),
        (Person | Leg, '{"name": "Ann"}', Person(name="Ann")),
        (Person | Worker, '{"name": "Ann", "wage": "3"}', Worker(name="Ann", wage=3)),
        ([City, Leg], '{"result": {"name": "Oslo"}}', City(name="Oslo")),
        (Node, '{"value": 1, "children": [{"value": "2"}]}',
         Node(value=1, children=[Node(value=2)])),
        (Places, '{"name": "Oslo"}', City(name="Oslo")),
        (list[Places], '[{"name": "Oslo"}]', [City(name="Oslo")]),
        (Numbers, '[1, ["2", []]]', [1, [2, []]]),
        (Deep, '[1, ["2", []]]', [1, [2, []]]),
        (dict[str, Deep] | City, '{"name": "Oslo"}', City(name="Oslo")),
        (list[Deep], "[[1], 2]", [[1], 2]),
        (find_city, '{"city": "Oslo"}', {"city": "Oslo"}),
        ({"type": "array", "items": {"type": "integer"}}, '["1"]', [1]),
        ({"type": "array", "items": {"$ref": "#/definitions/n"},
          "definitions": {"n": {"type": "integer"}}}, '["1"]', [1]),
        (Any, '{"a": [1]}', {"a": [1]}),
    ],
)  # fmt: skip
def test_a_reply_is_read_as_a_value_of_the_type(output_type: Any, text: str, expected: Any) -> None:
    found = read(output_type, text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("output_type", "text", "expected"),
    [
        (City, "I do not know.", "the answer has no JSON that can be read"),
        (City, '{"name": "Oslo"} {"name": "Rome"}', "the answer has more than one JSON value"),
        (City, 'Not {"name": "Oslo"}. It is {"name": "Rome", "people": 3}', "more than one JSON"),
        (list[str], 'Not ["Oslo"]. It is ["Rome"]', "more than one JSON"),
        (City, '{"name": "Oslo"} {name}', "the answer has no JSON that can be read"),
        (City, "{" * 9000 + '{"name": 1}', "the answer has no JSON that can be read"),
        (City, "[1]", "the value: [1] is not an object"),
        (City, '{"people": "many"}', "/name: missing; a string is required"),
        (list[City], '[{"name": "Oslo"}, 5]', "/1: 5 is not an object"),
        (bool, "perhaps", 'the value: "perhaps" is not a boolean'),
        (str | City, '{"people": 5}', "/name: missing; a string is required"),
        (set[int], "[1, 1]", "the value: [1,1] has an item twice; all must differ"),
        (datetime.date, "2026-13-01", "month value is outside expected range of 1-12"),
    ],
)
def test_what_is_wrong_with_a_reply(output_type: Any, text: str, expected: str) -> None:
    assert expected in "\n".join(violations(output_type, text))


def test_all_violations_are_found_at_once() -> None:
    assert len(violations(Leg, '{"stops": "none", "km": "far"}')) >= 2


def test_what_can_be_read_of_an_invalid_reply_is_kept() -> None:
    found = OutputSchema(City).read('{"name": "Oslo", "people": "many"}')
    assert isinstance(found, InvalidOutput)
    assert found.partial == {"name": "Oslo", "people": "many"}


def test_repairs_are_recorded_at_their_place_in_the_value() -> None:
    found = OutputSchema(list[int]).read('[1, "2"]')
    assert isinstance(found, ReadOutput)
    assert [(each.path, each.kind) for each in found.repairs] == [("/1", "type")]


class TestRefused:
    """Types that are refused, with the reason."""

    @pytest.mark.parametrize(
        ("output_type", "reason"),
        [
            (Callable[[int], int], "has no JSON Schema"),
            (list[Callable[[], int] | int], "its part Callable[[], int]"),
            (object(), "has no JSON Schema"),
            ("City", "is text; pass the type itself"),
            (TypeVar("T"), "is a type variable"),
            ([], "is an empty sequence"),
            ({"type": "nonsense"}, "is not a valid JSON Schema"),
        ],
    )
    def test_types_that_a_schema_cannot_express(self, output_type: Any, reason: str) -> None:
        with pytest.raises(OutputTypeError) as raised:
            OutputSchema(output_type)
        assert reason in str(raised.value)

    @pytest.mark.parametrize(
        ("output_type", "first", "second"),
        [
            (City | Person, "City", "Person"),
            (datetime.date | str, "date", "str"),
            (list[City] | list[Person], "list[City]", "list[Person]"),
            (list[City | Person], "City", "Person"),
            (Anyone, "City", "Person"),
            (list[Anyone], "City", "Person"),
            (dict[str, str] | City, "dict[str, str]", "City"),
            (Any | City, "Any", "City"),
            ([find_city, TypedDict("Place", {"city": str})], "find_city", "Place"),
            (Colour | Literal["red", "green"], "Colour", "Literal['red', 'green']"),
        ],
    )
    def test_unions_that_cannot_be_distinguished(
        self, output_type: Any, first: str, second: str
    ) -> None:
        with pytest.raises(OutputTypeError) as raised:
            OutputSchema(output_type)
        text = str(raised.value)
        assert "two members that cannot be distinguished" in text
        assert f"{first} and {second}" in text or f"{second} and {first}" in text

    @pytest.mark.parametrize(
        "output_type",
        [
            City | Leg,
            Person | Worker,
            list[Leg] | list[City],
            list[Leg | City],
            dict[str, int] | City | None,
            Colour | Literal["green"],
            int | str | list[City],
        ],
    )
    def test_unions_that_can_be_distinguished(self, output_type: Any) -> None:
        OutputSchema(output_type)

    def test_large_recursive_types_are_compared_once(self) -> None:
        # Along every path through the fields, it would take years.
        first, second = (
            create_model(name, **{f"part_{n}": (f"{name} | None", ...) for n in range(20)})
            for name in ("First", "Second")
        )
        with pytest.raises(OutputTypeError, match="First and Second"):
            OutputSchema(first | second)

    def test_functions_that_cannot_be_called_by_name(self) -> None:
        with pytest.raises(ToolDefinitionError, match=r"output function '_take'.*positional-only"):
            OutputSchema(_take)
        with pytest.raises(ToolDefinitionError, match="has no type"):
            OutputSchema(lambda city: city)


def _take(city: str, /) -> str:
    return city


class TestCalls:
    """JSON that is a call, and JSON that only looks like one."""

    def test_a_call_that_was_left_as_text_is_no_output(self) -> None:
        text = '{"name": "GetWeather", "arguments": {"city": "Oslo"}}'
        assert isinstance(OutputSchema(Person).read(text), ReadOutput)
        [message] = violations(Person, text, tools=["GetWeather"])
        assert "GetWeather" in message

    def test_outputs_that_look_like_calls_are_asked_for_in_an_object(self) -> None:
        schema = OutputSchema(Call)
        assert '"result"' in schema.instructions()
        found = schema.read('{"result": {"name": "GetWeather", "arguments": {}}}')
        assert isinstance(found, ReadOutput)
        assert found.output == Call(name="GetWeather", arguments={})


class TestInstructions:
    """Sentences about the form of the answer."""

    def test_the_values_of_a_literal_are_words(self) -> None:
        text = OutputSchema(Colour).instructions()
        assert text == "Answer with exactly one of these and nothing else: red, dark blue"

    def test_a_schema_has_no_reference_at_its_root(self) -> None:
        assert OutputSchema(City).response_schema["properties"]["name"] == {"type": "string"}
        assert OutputSchema(Node).response_schema["type"] == "object"

    def test_text_needs_none(self) -> None:
        assert OutputSchema(str).instructions() == ""

    def test_tools_come_first(self) -> None:
        text = OutputSchema(int).instructions(with_tools=True)
        assert text.startswith("First call the tools that can find out what the answer needs")
        assert text.endswith("Then answer with a whole number and nothing else.")

    @pytest.mark.parametrize(
        ("output_type", "forms"),
        [
            (Person, ['{"name": "value"}']),
            (list[Worker], ['[{"name": "value", "wage": 1.5}]']),
            (Person | list[Person], ['{"name": "value"}', '[{"name": "value"}]']),
            (Call, ['{"result": {"name": "value", "arguments": {}}}']),
        ],
    )
    def test_the_form_is_shown_before_the_schema(self, output_type: Any, forms: list[str]) -> None:
        schema = OutputSchema(output_type)
        lead, _, shown = schema.instructions().partition("\n")
        assert f" in the form of {' or '.join(forms)}. " in lead
        for form in forms:
            assert isinstance(schema.read(form), ReadOutput)
        assert isinstance(schema.read(shown), InvalidOutput)

    @pytest.mark.parametrize("output_type", [list[int], int | Literal["unknown"]])
    def test_other_values_have_no_form_to_copy(self, output_type: Any) -> None:
        assert "in the form of" not in OutputSchema(output_type).instructions()

    def test_a_provider_gets_an_object(self) -> None:
        schema = OutputSchema(int)
        assert schema.response_schema["properties"] == {"result": {"type": "integer"}}
        assert '"result"' in schema.instructions(enforced=True)
