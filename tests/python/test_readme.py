"""The README's Python blocks run, in order, in one namespace, as a reader would type them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

README = Path(__file__).parents[2] / "README.md"
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)$")


class Block(NamedTuple):
    """A fenced block and the line on which its code begins."""

    language: str
    line: int
    code: str


def blocks(markdown: str) -> list[Block]:
    """The fenced blocks of a Markdown text; a fence that is never closed is an error."""
    found: list[Block] = []
    opened: re.Match[str] | None = None
    start, code = 0, list[str]()
    for number, line in enumerate(markdown.splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None:
            if fence:
                opened, start, code = fence, number + 1, []
        elif fence and fence["fence"].startswith(opened["fence"]) and not fence["info"].strip():
            words = opened["info"].split()
            found.append(Block(words[0] if words else "", start, "\n".join(code) + "\n"))
            opened = None
        else:
            code.append(line.removeprefix(opened["indent"]))
    if opened:
        raise ValueError(f"the block that begins on line {start} is never closed")
    return found


def test_the_python_blocks_of_the_readme_run_in_order() -> None:
    code = [block for block in blocks(README.read_text("utf-8")) if block.language == "python"]
    if not code:
        pytest.skip("the README shows no Python")
    namespace: dict[str, object] = {"__name__": "__readme__"}
    for block in code:
        # Empty lines in front, so that a traceback names the README's own line.
        source = "\n" * (block.line - 1) + block.code
        exec(compile(source, str(README), "exec"), namespace)


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
