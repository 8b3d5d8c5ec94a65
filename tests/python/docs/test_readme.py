"""Python blocks of the README, each run in a namespace of its own, as when pasted."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.applications import Starlette

from chat_servers import on_a_server, serve
from markdown_blocks import Block, blocks
from page_examples import examples
from paths import EXAMPLES, README, ROOT


async def ask(app: Starlette, client: Callable[[str, str], None]) -> None:
    """Serve the application of the README, and run its client."""
    async with serve(app) as server:
        await asyncio.to_thread(client, str(server.base_url), "What is 2 + 3?")


def test_the_python_blocks_of_the_readme_run_and_print_their_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = README.read_text("utf-8")
    found = blocks(text)
    alone = {example.block.line: example for example in examples(text)}
    apps: list[Starlette] = []
    compared = 0
    for block, after in zip(found, [*found[1:], None], strict=True):
        if block.language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            namespace, _ = alone[block.line].run(str(README))
            apps += [namespace["app"]] if "app" in namespace else []
            if "\n# ask(" in block.code:
                on_a_server(ask)(apps[-1], namespace["ask"])
        if after is not None and after.language == "text":
            assert printed.getvalue() == after.code
            compared += 1
    assert compared == 5


def test_the_tests_that_the_readme_names_exist() -> None:
    rows = README.read_text("utf-8").partition("## Guarantees\n")[2].partition("\n## ")[0]
    named = re.findall(r"\[([^]]+)\]\((tests/python/[a-z_/]+\.py)\)", rows)
    assert len(named) > 30
    for name, file in named:
        text = (ROOT / file).read_text("utf-8")
        assert f"def test_{name.replace(' ', '_')}(" in text, (file, name)


def test_the_links_of_the_readme_resolve() -> None:
    documents = [README, *EXAMPLES.glob("*/README.md"), EXAMPLES / "README.md"]
    for document in documents:
        text = re.sub(r"(?ms)^```.*?^```$|`[^`\n]+`", "", document.read_text("utf-8"))
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            if "://" not in link:
                assert (document.parent / link).exists(), (document.name, link)


def test_blocks_are_found_with_their_language_and_line() -> None:
    markdown = "a\n```python\nx = 1\n\n```\n\n~~~~ console\n$ make\n~~~\n~~~~\n```\n```\n"
    assert blocks(markdown) == [
        Block("python", 3, "x = 1\n\n"),
        Block("console", 8, "$ make\n~~~\n"),
        Block("", 12, "\n"),
    ]


def test_a_block_in_a_list_loses_the_list_s_indent() -> None:
    assert blocks("- a\n  ```python\n  if x:\n      y\n  ```\n")[0].code == "if x:\n    y\n"


def test_a_block_that_is_never_closed_is_an_error() -> None:
    with pytest.raises(ValueError, match="line 2 is never closed"):
        blocks("```python\nx = 1\n")
