"""Results of invalid calls, which list all remaining violations at once."""

from __future__ import annotations

import asyncio
import datetime
import json
import re
from typing import Annotated, Any

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from toolweave import Parser, ToolCall, tool
from toolweave.executor import ToolExecutor


class Guest(pydantic.BaseModel):
    """Guest of a booking."""

    name: str
    born: datetime.date
    seats: int = 1

    @pydantic.field_validator("name")
    @classmethod
    def _is_no_robot(cls, name: str) -> str:
        if name == "robot":
            raise ValueError("robots are not served")
        return name


@tool
def book(
    day: datetime.date,
    people: int,
    guest: Guest,
    tags: list[str] | None = None,
    site: pydantic.HttpUrl | None = None,
    window: bool = False,
) -> str:
    """Book a table."""
    return f"{day} {people} {guest.name} {site} {window} {tags}"


GOOD: dict[str, Any] = {
    "day": "2026-11-22",
    "people": 4,
    "guest": {"name": "Ada", "born": "1990-12-10", "seats": 2},
    "window": True,
    "site": "https://example.org/",
}
BAD: dict[tuple[str, ...], Any] = {
    ("day",): "soon",
    ("people",): "a few",
    ("guest", "name"): "robot",
    ("guest", "born"): "long ago",
    ("guest", "seats"): "two",
    ("window",): "left",
}
REPAIRABLE: dict[tuple[str, ...], Any] = {
    ("people",): "4",
    ("guest", "seats"): "2",
    ("window",): "true",
}


def put(arguments: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    *steps, last = path
    for step in steps:
        arguments = arguments[step]
    arguments[last] = value


def answer(arguments: dict[str, Any], *, by_parser: bool = True) -> str:
    """Return the result text of a call with these arguments."""

    async def run() -> str:
        call: Any = ToolCall("a", "book", arguments)
        if by_parser:
            call = Parser([book.contract]).native_call("a", "book", json.dumps(arguments))
        aggregate = await ToolExecutor([book]).execute([call])
        return aggregate.tool_results[0].result

    return asyncio.run(run())


def named_paths(text: str) -> set[str]:
    """Return the paths that a result text names."""
    assert text.startswith("Invalid arguments for tool 'book': ")
    return set(re.findall(r"[:;] (/[a-z/]+): ", text))


@settings(max_examples=effort(25), deadline=None)
@given(
    st.sets(st.sampled_from(sorted(BAD)), min_size=1),
    st.sets(st.sampled_from(sorted(REPAIRABLE))),
)
def test_one_result_lists_all_remaining_violations_and_no_repaired_ones(
    bad: set[tuple[str, ...]], repairable: set[tuple[str, ...]]
) -> None:
    written = json.loads(json.dumps(GOOD))
    for path in repairable - bad:
        put(written, path, REPAIRABLE[path])
    for path in bad:
        put(written, path, BAD[path])
    assert named_paths(answer(written)) == {"/" + "/".join(path) for path in bad}
    for path in bad:
        right: Any = GOOD
        for step in path:
            right = right[step]
        put(written, path, right)
    assert answer(written) == "2026-11-22 4 Ada https://example.org/ True None"


def test_calls_without_a_parser_get_all_violations_at_once_too() -> None:
    written = {**GOOD, "people": "a few", "day": "soon", "site": "nowhere"}
    assert named_paths(answer(written, by_parser=False)) == {"/people", "/day", "/site"}


def test_missing_arguments_are_listed_once_with_violations_of_types() -> None:
    written = {"day": "soon", "people": "4", "guest": {"seats": "2", "born": "x"}}
    text = answer(written)
    assert named_paths(text) == {"/day", "/guest/name", "/guest/born"}
    assert text.count("/guest/name") == 1


def test_a_type_that_raises_hides_no_other_violations() -> None:
    def explode(value: str) -> str:
        raise RuntimeError(value)

    @tool
    def odd(name: Annotated[str, pydantic.AfterValidator(explode)], count: int) -> str:
        """Count a guest."""
        return f"{name} {count}"

    found = odd.violations({"name": "x", "count": "many"})
    assert [violation.path for violation in found] == ["/count"]


@pytest.mark.parametrize("by_parser", [True, False])
def test_at_most_twenty_violations_are_listed(by_parser: bool) -> None:
    @tool
    def many(days: list[datetime.date], numbers: list[int]) -> str:  # noqa: ARG001
        """Take many."""
        return ""

    arguments = {"days": ["x"] * 15, "numbers": ["y"] * 15}

    async def run() -> str:
        call: Any = ToolCall("a", "many", arguments)
        if by_parser:
            call = Parser([many.contract]).native_call("a", "many", json.dumps(arguments))
        aggregate = await ToolExecutor([many]).execute([call])
        return aggregate.tool_results[0].result

    assert asyncio.run(run()).count("; ") == 19
