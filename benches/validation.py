"""Conversion of JSON text to a validated Python value, in microseconds per document."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal

import fastjsonschema
import jsonschema_rs
import msgspec
import orjson
import pydantic
from typing_extensions import NotRequired, TypedDict

from replies import SCHEMAS, array_reply
from report import Section, Target
from toolweave import Validator

if TYPE_CHECKING:
    from streaming import Effort

Route = Callable[[str], object]

STRICT = pydantic.ConfigDict(extra="forbid", strict=True)


class Weather(TypedDict):
    """Schema of `GetWeather` as a type."""

    __pydantic_config__ = STRICT
    location: str
    unit: NotRequired[Literal["celsius", "fahrenheit"]]


class Row(TypedDict):
    """Row of `Report`."""

    __pydantic_config__ = STRICT
    id: int
    name: str
    price: float
    tags: list[str]
    active: bool


class Rows(TypedDict):
    """Schema of `Report` as a type."""

    __pydantic_config__ = STRICT
    rows: list[Row]


DOCUMENTS = {
    "50 B": (SCHEMAS["GetWeather"], Weather, '{"location": "San Francisco", "unit": "celsius"}'),
    "1 KB": (SCHEMAS["Report"], Rows, array_reply("1 KB", 1_000).calls[0][1]),
    "10 KB": (SCHEMAS["Report"], Rows, array_reply("10 KB", 10_000).calls[0][1]),
    "100 KB": (SCHEMAS["Report"], Rows, array_reply("100 KB", 100_000).calls[0][1]),
}

TOOLWEAVE = "toolweave Validator.validate_json"
SAME_SCHEMA = {
    "json.loads + jsonschema-rs": "jsonschema-rs",
    "orjson + jsonschema-rs": "jsonschema-rs",
    "json.loads + fastjsonschema": "fastjsonschema",
}
OTHER_SCHEMA = {
    "pydantic TypeAdapter.validate_json": "pydantic",
    "msgspec json.Decoder.decode": "msgspec",
}


def routes(schema: dict[str, object], model: type) -> dict[str, Route]:
    """Return all contestants, each compiled once."""
    validator = Validator(schema)
    rust = jsonschema_rs.validator_for(schema)
    fast = fastjsonschema.compile(schema)
    adapter = pydantic.TypeAdapter(model)
    decoder = msgspec.json.Decoder(model)

    def loads_then_rust(text: str) -> object:
        value = json.loads(text)
        rust.validate(value)
        return value

    def orjson_then_rust(text: str) -> object:
        value = orjson.loads(text)
        rust.validate(value)
        return value

    return {
        TOOLWEAVE: validator.validate_json,
        "json.loads + jsonschema-rs": loads_then_rust,
        "orjson + jsonschema-rs": orjson_then_rust,
        "json.loads + fastjsonschema": lambda text: fast(json.loads(text)),
        "pydantic TypeAdapter.validate_json": adapter.validate_json,
        "msgspec json.Decoder.decode": decoder.decode,
    }


def least(contestants: dict[str, Route], text: str, seconds: float) -> dict[str, float]:
    """Return the minimum CPU time of one call, in microseconds, from many taken in turns."""
    expected = json.loads(text)
    counts: dict[str, int] = {}
    for name, route in contestants.items():
        if route(text) != expected:
            raise AssertionError(f"{name} returned another value for the document")
        begun = time.process_time()
        route(text)
        once = max(time.process_time() - begun, 1e-7)
        counts[name] = max(1, int(seconds / 20 / once))
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(20):
        for name, route in contestants.items():
            count = counts[name]
            begun = time.process_time()
            for _ in range(count):
                route(text)
            best[name] = min(best[name], (time.process_time() - begun) / count * 1e6)
    return best


def run(effort: Effort) -> Section:
    """Run all contestants on all documents."""
    figures: dict[str, dict[str, float]] = {}
    for size, (schema, model, text) in DOCUMENTS.items():
        print(f"validation: {size}", file=sys.stderr)
        figures[size] = least(routes(schema, model), text, effort.seconds)
    packages = {TOOLWEAVE: "toolweave", **SAME_SCHEMA, **OTHER_SCHEMA}
    rows = [
        [
            f"{name} ({package} {version(package)})",
            *(f"{figures[size][name]:,.2f}" for size in DOCUMENTS),
        ]
        for name, package in packages.items()
    ]
    found: list[Target] = []
    for size, (_, _, text) in DOCUMENTS.items():
        for name in SAME_SCHEMA:
            limit = 1.1 if "orjson" in name and len(text) >= 1_000 else 1.0
            ratio = figures[size][TOOLWEAVE] / figures[size][name]
            found.append(Target(f"{size}, against {name}", limit, ratio))
    return Section(
        "Validation",
        "Microseconds from JSON text to a validated Python value. The first four check the same "
        "JSON Schema; pydantic and msgspec check equivalent Python types, for comparison. "
        f"orjson {version('orjson')}.",
        ["", *DOCUMENTS],
        rows,
        found,
    )
