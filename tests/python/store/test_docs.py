"""docs/explanation/store.md is correct, and its examples run."""

from __future__ import annotations

import asyncio
import inspect
import re
from pathlib import Path

import pytest

from page_examples import Example, examples
from paths import DOCS
from toolweave.store import MessageStore, _records
from toolweave.store._tables import Tables
from toolweave.testing import ScriptedModel

PAGE = (DOCS / "explanation/store.md").read_text(encoding="utf-8")
EXAMPLES = examples(PAGE)


def rows(heading: str, number: int = 0) -> list[list[str]]:
    """Return the rows of a table under a heading, without its header."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    tables = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    lines = tables[number].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.block.line)
def test_an_example_runs(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, found = example.run("docs/explanation/store.md", model=ScriptedModel())
    if inspect.iscoroutine(found):
        asyncio.run(asyncio.wait_for(found, 30))


def test_the_example_that_follows_a_chat_follows_it(capsys: pytest.CaptureFixture[str]) -> None:
    [example] = [each for each in EXAMPLES if "def follow" in each.block.code]
    names, _ = example.run("docs/explanation/store.md")

    async def main() -> None:
        async with MessageStore("sqlite://") as store:
            await store.create_chat("c")
            following = asyncio.create_task(names["follow"](store, "c"))
            async with store.watch("c") as watch:
                for word in ("one", "two"):
                    event = {"kind": "text", "messageId": "m", "delta": word}
                    await store.write("c", events=[event])
                    assert await watch.changed(30)
            output = ""
            while "two" not in output:
                await asyncio.sleep(0.01)
                output += capsys.readouterr().out
            assert "sequenceNumber" in output
            following.cancel()
            await asyncio.wait([following])

    asyncio.run(asyncio.wait_for(main(), 60))


def test_the_options_are_those_of_the_store_with_their_defaults() -> None:
    listed = {option.strip("`"): default.strip("`") for option, default, _ in rows("Databases", 1)}
    parameters = inspect.signature(MessageStore).parameters.values()
    actual = {
        each.name: "time.time" if callable(each.default) else repr(each.default)
        for each in parameters
        if each.kind is each.KEYWORD_ONLY
    }
    assert listed == actual


def test_all_tables_are_named() -> None:
    tables = Tables()
    named = {name for row in rows("Tables") for name in re.findall(r"`(\w+)`", row[0])}
    assert named == {*tables.metadata.tables, tables.version.name}
    [columns] = [row[1].strip("`") for row in rows("Tables") if row[0] == "`messages`"]
    assert columns.split(", ") == [column.name for column in tables.messages.columns]


def test_all_problems_are_explained() -> None:
    listed = {row[0].strip("`") for row in rows("Loading a history")}
    source = inspect.getsource(_records).partition("class StoreProblem")[2]
    attributes = source.partition("kind: str")[2].partition("message:")[0]
    assert listed == set(re.findall(r"``(\w+)``", attributes))
