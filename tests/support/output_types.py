"""Output types for tests, with values of them, and replies of models that write those."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter
from typing_extensions import TypedDict


class Colour(enum.Enum):
    RED = "red"
    BLUE = "dark blue"


class City(BaseModel):
    name: str
    people: int | None = None


@dataclass
class Leg:
    start: str
    stops: list[str]
    km: float


class Ticket(TypedDict):
    leg: Leg
    colours: list[Colour]


class Refusal(BaseModel):
    kind: Literal["refusal"]
    why: str


class Trip(BaseModel):
    kind: Literal["trip"]
    legs: list[Leg]


# Repair keeps escapes and code points; surrogates have no JSON.
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
names = st.text(st.characters(codec="ascii", categories=["L", "Nd"]), min_size=1, max_size=8)
whole = st.integers(-(2**53), 2**53)
real = st.floats(allow_nan=False, allow_infinity=False, width=32)

scalars = st.sampled_from(
    [
        (bool, st.booleans()),
        (int, whole),
        (float, real),
        (Literal["a", "dark blue", "C3"], st.sampled_from(["a", "dark blue", "C3"])),
        (Colour, st.sampled_from(Colour)),
        (int | None, whole | st.none()),
    ]
)
_legs = st.builds(Leg, start=texts, stops=st.lists(texts, max_size=3), km=real)
_cities = st.builds(City, name=texts, people=whole | st.none())
_refusals = st.builds(Refusal, kind=st.just("refusal"), why=texts)
_trips = st.builds(Trip, kind=st.just("trip"), legs=st.lists(_legs, max_size=2))
objects = st.sampled_from(
    [
        (City, _cities),
        (Leg, _legs),
        (
            Ticket,
            st.fixed_dictionaries(
                {"leg": _legs, "colours": st.lists(st.sampled_from(Colour), max_size=3)}
            ),
        ),
        (Trip | Refusal, _trips | _refusals),
        (Trip | City | None, _trips | _cities | st.none()),
    ]
)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = inner.map(lambda each: (list[each[0]], st.lists(each[1], max_size=3)))
    maps = inner.map(lambda each: (dict[str, each[0]], st.dictionaries(names, each[1], max_size=3)))
    return lists | maps


cases = st.recursive(scalars | objects, _containers, max_leaves=3)
"""Pairs of a type and a strategy of its values."""


def as_json(output_type: Any, value: Any) -> Any:
    """Return the JSON value of a value of a type."""
    return TypeAdapter(output_type).dump_python(value, mode="json")


Damage = Callable[[str], str]


def _trailing_comma(text: str) -> str:
    return f"{text[:-1]},{text[-1]}" if text[-1] in "]}" and len(text) > 2 else text


DAMAGES: tuple[Damage, ...] = (
    lambda text: text,
    lambda text: f"  {text}\n\n",
    lambda text: f"```json\n{text}\n```",
    lambda text: f"```\n{text}\n```",
    lambda text: json.dumps(json.loads(text), indent=2),
    _trailing_comma,
    lambda text: f'{{"result": {text}}}',
    lambda text: f'```json\n{{"result": {text},}}\n```',
)
"""Functions that damage the JSON of a model in ways that leave its meaning certain."""
