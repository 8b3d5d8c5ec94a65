"""Invalid tools of an MCP server are omitted: nested too deep, or with a confusable name."""

from __future__ import annotations

import asyncio
import json
import logging
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_processes import plain_server
from toolweave import ToolCall, Toolset
from toolweave.executor import ToolExecutor
from toolweave.integrations.mcp import connect_http
from toolweave.integrations.mcp._definitions import build_tools
from toolweave.integrations.mcp._listing_filter import (
    CUT_MARKER,
    MAX_DEPTH,
    limit_depth,
    limit_response_depth,
)

OBJECT: dict[str, Any] = {"type": "object"}
EVENTS = "text/event-stream"


def deep(levels: int) -> dict[str, Any]:
    schema = OBJECT
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


LISTING = [
    {"name": "first", "inputSchema": OBJECT},
    {"name": "abyss", "inputSchema": deep(150)},
    {"name": "last", "inputSchema": OBJECT},
]


def test_a_tool_nested_too_deep_does_not_hide_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        page = {"tools": LISTING}
        answers = {"first": {"content": [], "structuredContent": deep(150)}}
        plan = {"pages": [page], "answers": answers}
        async with plain_server(plan, tmp_path, connect_timeout=10) as tools:
            assert [tool.name for tool in tools] == ["first", "last"]
            (problem,) = tools.problems
            assert problem.name == "abyss"
            assert "nested too deep" in problem.message
            run = await ToolExecutor(tools).execute([ToolCall("1", "first", {})])
            (result,) = run.tool_results
            assert "nested deeper than 180 levels" in str(result)

    with caplog.at_level(logging.WARNING, "toolweave.mcp"):
        asyncio.run(main())
    records = [record for record in caplog.records if record.name == "toolweave.mcp"]
    assert [record.__dict__["tool"] for record in records] == ["abyss"]


@pytest.mark.parametrize("content_type", ["application/json", EVENTS])
def test_a_tool_nested_too_deep_over_http_does_not_hide_the_others(content_type: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
            length = int(head.partition("content-length:")[2].split()[0])
            request = json.loads(await reader.readexactly(length))
            body = json.dumps(_answer(request)) if "id" in request else ""
            if body and content_type == EVENTS:
                body = f"event: message\ndata: {body}\n\n"
            status = "200 OK" if body else "202 Accepted"
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
            )

    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, IndexError):
            pass
        finally:
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(quietly, "127.0.0.1", limit=1 << 20)
        port = server.sockets[0].getsockname()[1]
        async with connect_http(f"http://127.0.0.1:{port}/mcp", connect_timeout=10) as tools:
            assert [tool.name for tool in tools] == ["first", "last"]
            assert [problem.name for problem in tools.problems] == ["abyss"]
        server.close()

    asyncio.run(main())


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "initialize":
        result: dict[str, Any] = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "0"},
        }
    elif request["method"] == "tools/list":
        result = {"tools": LISTING}
    else:
        return {**reply, "error": {"code": -32601, "message": "Method not found"}}
    return {**reply, "result": result}


values = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values, st.integers(MAX_DEPTH - 6, MAX_DEPTH + 200), st.booleans())
def test_what_is_nested_too_deep_is_cut_and_nothing_else(
    value: Any, levels: int, ascii_only: bool
) -> None:
    nested = value
    for level in range(levels):
        nested = [1, nested, "]"] if level % 2 else {"{": nested, '"\\': 1}
    text = json.dumps(nested, ensure_ascii=ascii_only)
    found = json.loads(limit_depth(text))
    assert found == _cut(nested, MAX_DEPTH)
    assert limit_depth(limit_depth(text)) == limit_depth(text)


def _cut(value: Any, levels: int) -> Any:
    if not isinstance(value, (list, dict)):
        return value
    if levels == 0:
        return CUT_MARKER
    if isinstance(value, list):
        return [_cut(item, levels - 1) for item in value]
    return {key: _cut(member, levels - 1) for key, member in value.items()}


@given(st.lists(st.integers(0, 5_000), max_size=6), st.booleans())
def test_a_body_is_cut_in_whatever_pieces_it_comes(cuts: list[int], stream: bool) -> None:
    text = json.dumps({"é": deep(200), "b": "\n"}, ensure_ascii=False)
    body = (f": a\ndata: {text}\n\ndata: {text}\n" if stream else text).encode()
    edges = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})

    async def pieces() -> Any:
        for start, end in pairwise(edges):
            yield body[start:end]

    def answer(_: httpx2.Request) -> httpx2.Response:
        content_type = EVENTS if stream else "application/json"
        return httpx2.Response(200, headers={"content-type": content_type}, content=pieces())

    async def main() -> bytes:
        transport = httpx2.MockTransport(answer)
        hooks = {"response": [limit_response_depth]}
        async with httpx2.AsyncClient(transport=transport, event_hooks=hooks) as client:
            return (await client.post("http://test/")).content

    assert asyncio.run(main()).decode() == body.decode().replace(text, limit_depth(text))


async def _send(*_: object) -> Any:
    raise AssertionError("unexpected call")


def listed(*names: str, others: tuple[str, ...] = ()) -> dict[str, str]:
    listing = [mcp_types.Tool(name=name, input_schema=OBJECT) for name in names]
    _, problems = asyncio.run(build_tools(listing, _send, server="plain", others=others))
    return {problem.name: problem.message for problem in problems}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("\u0440a\u0443", "mixes letters of Cyrillic and Latin"),
        ("pay\u03b1", "mixes letters of Greek and Latin"),
        ("\u0440\u0430\u0443", "looks like 'pay'"),
        ("\uff50\uff41\uff59", "looks like 'pay'"),
        ("p\u200bay", "looks like 'pay'"),
        ("pa\u0301y", "looks like 'pay'"),
    ],
)
def test_a_confusable_name_is_omitted(name: str, problem: str) -> None:
    assert problem in listed("pay", name)[name]
    if "looks" in problem:
        assert problem in listed(name, others=("pay",))[name]
        assert listed(name) == {}


@pytest.mark.parametrize(
    "names",
    [
        ("pay", "Pay", "pay_1", "pay_l", "PAY"),
        ("zahlen", "überweisen", "uberweise"),
        ("оплатить", "отменить"),
        ("検索API", "けんさく", "ケンサク", "검색tool"),
        ("πλήρωσε", "دفع", "भुगतान"),
        ("größe", "µ_meter", "naïve"),
    ],
)
def test_unambiguous_names_are_kept(names: tuple[str, ...]) -> None:
    assert listed(*names) == {}


@given(st.text(st.sampled_from("abcdepxy_09"), min_size=1, max_size=8), st.data())
def test_letters_of_another_script_never_match_latin_ones(name: str, data: st.DataObject) -> None:
    twins = dict(zip("acepxy", "асерху", strict=True))
    found = [at for at, ch in enumerate(name) if ch in twins]
    swapped = data.draw(st.sets(st.sampled_from(found), min_size=1)) if found else set[int]()
    disguised = "".join(twins[ch] if at in swapped else ch for at, ch in enumerate(name))
    if disguised != name:
        assert disguised in listed(name, disguised)


def test_local_tools_are_compared_as_well(tmp_path: Path) -> None:
    async def main() -> None:
        tools = plain_server(
            {"pages": [{"tools": [{"name": "рау", "inputSchema": OBJECT}]}]}, tmp_path
        )

        def pay() -> None:
            """Pay."""

        tools.add(pay)
        assert isinstance(tools, Toolset)
        async with tools:
            assert [tool.name for tool in tools] == ["pay"]
            assert "looks like 'pay'" in tools.problems[0].message

    asyncio.run(main())
