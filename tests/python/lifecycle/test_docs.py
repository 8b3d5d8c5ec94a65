"""Agreement of docs/explanation/lifecycle.md with the code, and its examples."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chat_servers import QUICK, all_events, app_of, new_chat, on_a_server, say, serve
from cutting_proxy import cutting
from markdown_blocks import blocks
from paths import DOCS, SCHEMAS
from toolweave import Agent, Message

PAGE = DOCS / "explanation/lifecycle.md"
TEXT = PAGE.read_text("utf-8")
PYTHON = [block for block in blocks(TEXT) if block.language == "python"]


def section(heading: str) -> str:
    return TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(heading: str) -> list[list[str]]:
    """Return the rows of the table under a heading, without its header."""
    lines = [line for line in section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / name).read_text("utf-8"))["$defs"]
    return found


def test_events_reduce_to_the_output_on_the_page() -> None:
    [printed_by_page] = [block.code for block in blocks(TEXT) if block.language == "text"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(PYTHON[0].code, str(PAGE), "exec"), {})
    assert printed.getvalue() == printed_by_page


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def model(messages: Sequence[Message]) -> AsyncIterator[str]:
    if "</tool_response>" in getattr(messages[-1], "text", ""):
        yield "It is 5."
    else:
        yield 'Let me see. <add>{"a": 2, "b": 3}</add>'


@on_a_server
async def test_the_client_resumes_wherever_its_connection_breaks(tmp_path: Path) -> None:
    namespace: dict[str, Any] = {}
    exec(compile(PYTHON[1].code, str(PAGE), "exec"), namespace)
    limits = replace(QUICK, retry=0.01)
    async with serve(app_of(tmp_path, Agent(model, [add]), limits=limits)) as client:
        chat = await new_chat(client)
        await say(client, chat, "What is 2 + 3?")
        printed = io.StringIO()
        async with cutting(client.base_url, 500) as (url, proxy):
            with contextlib.redirect_stdout(printed):
                found = await namespace["follow"](url, chat.removeprefix("/chats/"))
        log = await all_events(client, chat)
    assert proxy.cuts > 1
    assert printed.getvalue() == "".join(
        f"{event['sequenceNumber']} {event['kind']}\n" for event in log
    )
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


def test_the_states_are_those_of_calls() -> None:
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


def test_the_tests_of_the_guarantees_exist() -> None:
    named = re.findall(r"\[([^]]+)\]\((\.\./\.\./tests/[a-z_/]+\.py)\)", section("Guarantees"))
    assert len(named) > 15
    for name, file in named:
        text = (PAGE.parent / file).read_text("utf-8")
        assert f"def test_{name.replace(' ', '_')}(" in text, (file, name)
