"""docs/lifecycle.md says what is so, and its examples run."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from chat_servers import app_of, new_chat, on_a_server, say, serve
from markdown_blocks import blocks
from paths import DOCS, SCHEMAS
from toolweave import Agent, Message

PAGE = DOCS / "lifecycle.md"
TEXT = PAGE.read_text("utf-8")
PYTHON = [block for block in blocks(TEXT) if block.language == "python"]


def section(heading: str) -> str:
    return TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(heading: str) -> list[list[str]]:
    """The rows of the table under a heading, without its head."""
    lines = [line for line in section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / name).read_text("utf-8"))["$defs"]
    return found


def test_events_come_to_what_the_page_says() -> None:
    [said] = [block.code for block in blocks(TEXT) if block.language == "text"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(PYTHON[0].code, str(PAGE), "exec"), {})
    assert printed.getvalue() == said


class Cutting:
    """Stands between clients and a server, and cuts every connection after so many bytes.

    Args:
        port: The server's.
        length: How many bytes of answers pass; twice as many on each further connection.
    """

    def __init__(self, port: int, length: int) -> None:
        self.cuts = 0
        self._port = port
        self._length = length

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asks = await asyncio.open_connection("127.0.0.1", self._port)
        asking = asyncio.create_task(self._ask(reader, asks))
        left, self._length = self._length, 2 * self._length
        try:
            while piece := await answers.read(left):
                writer.write(piece)
                await writer.drain()
                left -= len(piece)
                if not left:
                    self.cuts += 1
                    break
        finally:
            asking.cancel()
            await asyncio.wait([asking])
            for each in (writer, asks):
                each.close()
                with contextlib.suppress(OSError):
                    await each.wait_closed()

    async def _ask(self, reader: asyncio.StreamReader, asks: asyncio.StreamWriter) -> None:
        while piece := await reader.read(4096):
            asks.write(piece)
        asks.close()


async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


async def model(messages: Sequence[Message]) -> AsyncIterator[str]:
    if "</tool_response>" in getattr(messages[-1], "text", ""):
        yield "It is 5."
    else:
        yield 'Let me see. <add>{"a": 2, "b": 3}</add>'


@on_a_server
async def test_the_client_goes_on_wherever_its_line_breaks(tmp_path: Path) -> None:
    namespace: dict[str, Any] = {}
    exec(compile(PYTHON[1].code, str(PAGE), "exec"), namespace)
    async with serve(app_of(tmp_path, Agent(model, [add]))) as client:
        chat = await new_chat(client)
        await say(client, chat, "What is 2 + 3?")
        cutting = Cutting(client.base_url.port or 0, 500)
        server = await asyncio.start_server(cutting.pass_on, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with httpx.AsyncClient(base_url=url) as cut:
            found = await namespace["follow"](cut, chat.removeprefix("/chats/"), pause=0.01)
        server.close()
        await server.wait_closed()
    assert cutting.cuts > 1
    assert found["missing"] == found["problems"] == []
    assert [run["stopReason"] for run in found["runs"]] == ["completed"]
    [call] = [call for each in found["messages"] for call in each.get("toolCalls", ())]
    assert (call["state"], call["result"]) == ("success", "5")
    texts = [each["text"].strip() for each in found["messages"] if each["kind"] == "text"]
    assert texts == ["What is 2 + 3?", "Let me see.", "It is 5."]


def test_all_kinds_of_events_are_named_with_their_fields() -> None:
    classes = schema("stream-events.json")
    common = set(classes["UnknownStreamEvent"]["properties"])
    actual = {
        each["properties"]["kind"]["const"]: set(each["properties"]) - common
        for each in classes.values()
        if "const" in each.get("properties", {}).get("kind", {})
    }
    assert {names(row[0])[0]: set(names(row[2])) for row in rows("Events")} == actual
    text = section("Events")
    assert all(f"`{name}`" in text for name in common - {"kind"})


def test_the_states_are_those_that_a_call_can_be_in() -> None:
    states = set(schema("snapshot.json")["CallState"]["enum"])
    assert {name for row in rows("States of a call") for name in names(row[0])} == states
    [diagram] = [
        block.code
        for block in blocks(TEXT)
        if block.language == "mermaid" and "stateDiagram" in block.code
    ]
    drawn = {name for pair in re.findall(r"(\S+) --> (\w+|\[\*\])", diagram) for name in pair} - {
        "[*]",
        "open",
    }
    assert drawn == states


def test_the_tests_that_show_the_guarantees_are_there() -> None:
    named = re.findall(r"\[([^]]+)\]\((\.\./tests/[a-z_/]+\.py)\)", section("Guarantees"))
    assert len(named) > 15
    for name, file in named:
        text = (PAGE.parent / file).read_text("utf-8")
        assert f"def test_{name.replace(' ', '_')}(" in text, (file, name)
