"""Tests that the blocks of the page on registries run and print the documented output."""

from __future__ import annotations

import contextlib
import io
import itertools
import sys
from pathlib import Path

import pytest

from markdown_blocks import Block, blocks
from page_examples import examples
from paths import DOCS
from toolweave.cli import main

PAGE = DOCS / "explanation/registry.md"


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Block]:
    """The blocks of the page, in a folder that has its `tools.xml`."""
    found = blocks(PAGE.read_text("utf-8"))
    [file] = [block for block in found if block.language == "xml"]
    (tmp_path / "tools.xml").write_text(file.code, "utf-8")
    monkeypatch.chdir(tmp_path)
    # An example has a module with the name used on the page, and its tests load it.
    elsewhere = [path for path in sys.path if not Path(path, "kitchen.py").exists()]
    monkeypatch.setattr(sys, "path", elsewhere)
    monkeypatch.delitem(sys.modules, "kitchen", raising=False)
    return found


def test_the_python_blocks_print_their_documented_output(page: list[Block]) -> None:
    alone = {example.block.line: example for example in examples(PAGE.read_text("utf-8"))}
    compared = 0
    for block, after in itertools.pairwise(page):
        if block.language != "python":
            continue
        example = alone[block.line]
        before = io.StringIO()
        if example.predecessor is not None:
            with contextlib.redirect_stdout(before):
                example.predecessor.run(str(PAGE))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            example.run(str(PAGE))
        assert after.language == "text"
        assert printed.getvalue() == before.getvalue() + after.code
        compared += 1
    assert compared == 2


def test_lint_prints_the_documented_output(
    page: list[Block], capsys: pytest.CaptureFixture[str]
) -> None:
    [shown] = [block.code for block in page if block.code.startswith("$ toolweave lint")]
    command, _, expected = shown.partition("\n")
    assert main(command.split()[2:]) == 0
    assert capsys.readouterr().out == expected
