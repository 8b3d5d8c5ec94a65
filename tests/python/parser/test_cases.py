"""The golden cases of `tests/cases/calls`, through all entry points."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import toolweave as tw
from effort import subset
from golden_events import exact, written
from parser_replies import completed_events, pieces
from paths import CASES

FOLDER = CASES / "calls"
SIZES = subset([1, 2, 3, 5, 8, 13, 1 << 20], at_least=3)


def lines(events: list[tw.Event]) -> list[str]:
    """Return the events in the format of the cases."""
    return [exact(event) for event in written(completed_events(events))]


def cases() -> Iterator[Any]:
    for path in sorted(FOLDER.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        for case in content["cases"]:
            options = {"dialects": ("natural",), **case.get("options", {})}
            if "limits" in options:
                options["limits"] = tw.Limits(**options["limits"])
            truncated = options.pop("truncated", False)
            name = f"{path.stem}: {case['name']}"
            yield pytest.param(case, content["tools"], options, truncated, id=name)


Options = dict[str, Any]
NAMES = ("case", "tools", "options", "truncated")


def test_there_are_cases() -> None:
    assert len(list(cases())) > 50


@pytest.mark.parametrize(NAMES, list(cases()))
def test_golden_cases_hold_for_every_split(
    case: Any, tools: Any, options: Options, truncated: bool
) -> None:
    parser = tw.Parser(tools, **options)
    expected = [exact(event) for event in case["events"]]

    def check(events: list[tw.Event], how: str) -> None:
        assert lines(events) == expected, how

    for size in SIZES:
        chunks = pieces(case["reply"], size)
        pushed = [event for chunk in chunks for event in parser.push(chunk)]
        check([*pushed, *parser.finish(truncated=truncated)], f"push, by {size}")
        many = parser.push_many(chunks)
        check([*many, *parser.finish(truncated=truncated)], f"push_many, by {size}")
    check(list(tw.parse(case["reply"], tools, truncated=truncated, **options)), "parse")


async def _as_async(chunks: list[str]) -> AsyncIterator[str]:
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


async def _gathered(chunks: list[str], tools: Any, options: Options) -> list[tw.Event]:
    return [event async for event in tw.parse_stream(_as_async(chunks), tools, **options)]


STREAMS: dict[str, Callable[[list[str], Any, Options], list[tw.Event]]] = {
    "list": lambda chunks, tools, options: [*tw.parse_stream(chunks, tools, **options)],
    "tuple": lambda chunks, tools, options: [*tw.parse_stream(tuple(chunks), tools, **options)],
    "generator": lambda chunks, tools, options: [
        *tw.parse_stream((chunk for chunk in chunks), tools, **options)
    ],
    "async generator": lambda chunks, tools, options: asyncio.run(
        _gathered(chunks, tools, options)
    ),
}


# A stream that ends is complete.
@pytest.mark.parametrize(
    NAMES[:3],
    [pytest.param(*case.values[:3], id=case.id) for case in cases() if not case.values[3]],
)
def test_golden_cases_hold_for_every_kind_of_stream(
    case: Any, tools: Any, options: Options
) -> None:
    expected = [exact(event) for event in case["events"]]
    for kind, stream in STREAMS.items():
        for size in (1, 3, 1 << 20):
            events = stream(pieces(case["reply"], size), tools, options)
            assert lines(events) == expected, (kind, size)
