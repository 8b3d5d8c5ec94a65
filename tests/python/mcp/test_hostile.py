"""Listings and results of servers are validated, tool by tool, before they are used."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_watchdog import Watchdog
from mcp_processes import plain_server
from toolweave import FunctionContract, ToolCall, ToolResult
from toolweave.executor import ToolExecutor
from toolweave.integrations.mcp import MCPTools
from toolweave.integrations.mcp._definitions import MAX_DESCRIPTION_CHARS, MAX_TOOLS
from toolweave.integrations.mcp._listing_filter import MAX_DEFINITION_BYTES
from toolweave.tools._names import valid_tool_name

OBJECT = {"type": "object"}


async def results_of(tools: MCPTools, *names: str) -> list[ToolResult]:
    calls = [ToolCall(name, name, {}) for name in names]
    return list((await ToolExecutor(tools).execute(calls)).tool_results)


def text(value: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": value}]


def test_an_invalid_tool_does_not_affect_the_others(tmp_path: Path) -> None:
    deep: dict[str, Any] = OBJECT
    for _ in range(80):
        deep = {"type": "object", "properties": {"a": deep}}
    broken: dict[str, tuple[Any, str]] = {
        "no_schema": ({}, "its definition is malformed at inputSchema: Field required"),
        "list_schema": ({"inputSchema": []}, "its definition is malformed at inputSchema"),
        "misspelt": (
            {"inputSchema": {"type": "objekt"}},
            "its definition is malformed at inputSchema.type: Input should be 'object'",
        ),
        "bad_keyword": (
            {"inputSchema": {"type": "object", "properties": {"a": {"type": "integr"}}}},
            "/properties/a/type",
        ),
        "remote": (
            {"inputSchema": {"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}},
            "/properties/a/$ref",
        ),
        "deep": ({"inputSchema": deep}, "nested"),
        "number_text": (
            {"inputSchema": OBJECT, "description": 4},
            "its definition is malformed at description",
        ),
        "large": (
            {"inputSchema": {**OBJECT, "title": "x" * MAX_DEFINITION_BYTES}},
            "its definition is longer than 256 KiB",
        ),
        "fine": ({"inputSchema": OBJECT}, "it is listed twice; the first counts"),
    }
    listed: list[Any] = [
        {"name": "fine", "inputSchema": OBJECT},
        *({"name": name, **definition} for name, (definition, _) in broken.items()),
        "no object at all",
        {"name": 5, "inputSchema": OBJECT},
        {"name": "last", "inputSchema": OBJECT},
    ]

    async def main() -> None:
        async with plain_server({"pages": [{"tools": listed}]}, tmp_path) as tools:
            assert [tool.name for tool in tools] == ["fine", "last"]
            value = {problem.name: problem.message for problem in tools.problems if problem.name}
            assert value.keys() == broken.keys()
            for name, (_, part) in broken.items():
                assert part in value[name], name
            nameless = [problem.message for problem in tools.problems if not problem.name]
            assert nameless == [
                "its definition must be an object",
                "its definition is malformed at name: Input should be a valid string",
            ]
            results = await results_of(tools, "fine", "last")
            assert [result.result for result in results] == ["fine was called", "last was called"]

    asyncio.run(main())


def test_all_pages_are_read_and_a_listing_without_end_is_cut(tmp_path: Path) -> None:
    pages = [
        {"tools": [{"name": "first", "inputSchema": OBJECT}], "nextCursor": "1"},
        {"tools": [{"name": "second", "inputSchema": OBJECT}], "nextCursor": "1"},
    ]

    async def main() -> None:
        async with plain_server({"pages": pages}, tmp_path) as tools:
            assert [tool.name for tool in tools] == ["first", "second"]
            assert "the listing has no end" in tools.problems[0].message

    asyncio.run(main())


def test_the_number_of_tools_and_the_length_of_descriptions_are_limited(
    tmp_path: Path, loop_watchdog: Watchdog
) -> None:
    listed = [
        {"name": f"tool_{number}", "inputSchema": OBJECT, "description": "very " * 2000}
        for number in range(MAX_TOOLS + 2)
    ]
    loop_watchdog.input(len(json.dumps(listed)))

    async def main() -> None:
        async with plain_server({"pages": [{"tools": listed}]}, tmp_path) as tools:
            assert len(tools) == MAX_TOOLS
            assert [problem.name for problem in tools.problems] == ["tool_1000", "tool_1001"]
            description = tools.contracts[0].description
            assert description is not None
            assert len(description) <= MAX_DESCRIPTION_CHARS + 1
            assert description.endswith("…")

    asyncio.run(main())


def test_names_that_no_tag_can_hold_are_mapped(tmp_path: Path) -> None:
    names = ["get weather", "get<weather", "get_weather", "tool_call", "a/b.c"]
    listed = [{"name": name, "inputSchema": OBJECT} for name in names]

    async def main() -> None:
        async with plain_server({"pages": [{"tools": listed}]}, tmp_path) as tools:
            local_names = [tool.name for tool in tools]
            assert local_names == [
                "get_weather",
                "get_weather_2",
                "get_weather_3",
                "tool_call_",
                "a/b.c",
            ]
            assert tools.problems == ()
            results = await results_of(tools, *local_names)
            assert [result.result for result in results] == [f"{name} was called" for name in names]

    asyncio.run(main())


@given(name=st.text(max_size=400), prefix=st.text(max_size=20), taken=st.sets(st.text()))
def test_whatever_a_server_calls_a_tool_it_gets_a_name_of_its_own(
    name: str, prefix: str, taken: set[str]
) -> None:
    first = valid_tool_name(name, prefix, taken)
    second = valid_tool_name(name, prefix, {*taken, first})
    assert first not in taken
    assert second not in {*taken, first}
    assert FunctionContract(first).name == first
    assert FunctionContract(second).name == second


@given(name=st.from_regex(r"[A-Za-z0-9_.-]([A-Za-z0-9_./-]{0,126}[A-Za-z0-9_.-])?", fullmatch=True))
def test_a_name_as_the_protocol_wants_it_stays_as_it_is(name: str) -> None:
    assert valid_tool_name(name, "", ()) in (name, f"{name}_")
    assert valid_tool_name(name, "server", ()) == f"server_{name}"


@pytest.mark.parametrize(
    ("name", "usable"),
    [("/get/weather/", "get/weather"), ("//", "_"), ("Tool_Call", "Tool_Call_"), ("a b", "a_b")],
)
def test_a_name_that_no_tag_can_hold_is_changed(name: str, usable: str) -> None:
    assert valid_tool_name(name, "", ()) == usable
    assert FunctionContract(usable).name == usable


def test_results_are_validated_against_the_output_schema(tmp_path: Path) -> None:
    numbers = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    wrapped = {"type": "object", "properties": {"result": {"type": "integer"}}}
    slow = {"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}}
    announced: dict[str, Any] = {
        "good": numbers,
        "wrong": numbers,
        "missing": numbers,
        "whole": wrapped,
        "slow": slow,
    }
    answers: dict[str, Any] = {
        "good": {"content": text("n is 4"), "structuredContent": {"n": 4}},
        "wrong": {"content": text("n is x"), "structuredContent": {"n": "x"}},
        "missing": {"content": text("n is 4")},
        "whole": {"content": text("5"), "structuredContent": {"result": 5}},
        "slow": {"content": text(""), "structuredContent": {"s": "a" * 40 + "!"}},
        "free": {"content": text("text"), "structuredContent": {"any": "thing"}},
        "silent": {"content": [], "isError": True},
        "no_result": {"content": "none"},
        "many": {
            "content": [
                *text("one"),
                {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
                {"type": "resource_link", "uri": "file:///a", "name": "a"},
                {"type": "resource", "resource": {"uri": "file:///b", "text": "inside"}},
                {"type": "resource", "resource": {"uri": "file:///c", "blob": "AAA="}},
            ]
        },
    }
    listed = [
        {"name": name, "inputSchema": OBJECT, "outputSchema": announced.get(name)}
        for name in answers
    ]
    for definition in listed:
        if definition["outputSchema"] is None:
            del definition["outputSchema"]

    async def main() -> None:
        plan = {"pages": [{"tools": listed}], "answers": answers}
        async with plain_server(plan, tmp_path) as tools:
            results = {result.name: result for result in await results_of(tools, *answers)}
            assert results["good"].value == {"n": 4}
            assert results["whole"].value == 5
            assert results["free"].value == {"any": "thing"}
            assert results["many"].result.splitlines() == [
                "one",
                "[audio: audio/wav, 3 bytes]",
                "[resource: file:///a]",
                "inside",
                "[resource: file:///c, application/octet-stream, 2 bytes]",
            ]
            unfit = "returned what does not fit its own schema"
            assert results["wrong"].result == f"Tool 'wrong' {unfit}: /n: \"x\" is not an integer"
            assert results["missing"].result.startswith(f"Tool 'missing' {unfit}")
            assert results["slow"].is_error
            assert results["silent"].result == "Tool 'silent' failed without saying why"
            assert results["no_result"].result == (
                "MCP server 'plain' did not answer as the protocol says"
            )

    asyncio.run(asyncio.wait_for(main(), 20))


def test_noise_before_the_protocol_does_no_harm(tmp_path: Path) -> None:
    plan = {"greeting": "Welcome!\n", "pages": [{"tools": [{"name": "a", "inputSchema": OBJECT}]}]}

    async def main() -> None:
        async with plain_server(plan, tmp_path) as tools:
            assert [tool.name for tool in tools] == ["a"]

    asyncio.run(main())
