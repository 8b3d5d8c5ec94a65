"""Arguments of calls that Rust parses are equal to those that Python parses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from request_lifetimes import HELLO, model_at
from servers.dialects import openai_text
from servers.raw import raw_server
from servers.scripts import events
from toolweave import Event, InvalidToolCall, Parser, ToolCall, parse

VALUES = [
    "0",
    "-0",
    "-0.0",
    "1E5",
    "1.0",
    "1e22",
    "1e400",
    "-1e400",
    "1e5000",
    "0.1e-400",
    "12345678901234567890.5",
    "123456789012345678901234567890",
    "9" * 400,
    "9" * 5000,
    "9" * 309 + ".0",
    '"\\ud83d"',
    '"\\ud83d\\ude00"',
    '"\\u0000"',
    '{"a": 1, "a": 2}',
    "[[[null, true]]]",
    "NaN",
    "[" * 130 + "]" * 130,
]

ANYTHING = {"type": "object", "properties": {"a": {}}}
NUMBER = {"type": "object", "properties": {"a": {"type": "number"}}}


def tool(parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "T", "parameters": parameters}}


def seen(event: ToolCall | InvalidToolCall) -> object:
    """Return what both must agree on: everything except the texts of violations."""
    if isinstance(event, ToolCall):
        return repr(event)
    return event.name, event.raw, event.kind


def calls(came: list[Event]) -> list[object]:
    return [seen(event) for event in came if isinstance(event, (ToolCall, InvalidToolCall))]


@pytest.mark.parametrize("tools", [["T"], [tool(ANYTHING)], [tool(NUMBER)]])
def test_arguments_are_those_of_the_parser(tools: list[Any]) -> None:
    text = "".join(f'<T>{{"a": {value}}}</T>' for value in VALUES)

    async def main() -> list[Event]:
        stream = model_at(server).events(HELLO, parser=Parser(tools))
        return [event async for event in stream]  # type: ignore[misc]

    with raw_server(events(*openai_text([text]))) as server:
        came = asyncio.run(main())
    wanted = calls(list(parse(text, tools)))
    assert calls(came) == wanted
    assert len(wanted) == len(VALUES)
