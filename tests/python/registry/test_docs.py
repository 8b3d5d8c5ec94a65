"""The page on registries shows what is: its blocks run, and print what they say."""

from __future__ import annotations

import contextlib
import io
import itertools
import sys
from pathlib import Path

import pytest

from markdown_blocks import Block, blocks
from paths import DOCS
from toolweave.cli import main

PAGE = DOCS / "registry.md"


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Block]:
    """The blocks of the page, in a folder that has its `tools.xml`."""
    found = blocks(PAGE.read_text("utf-8"))
    [file] = [block for block in found if block.language == "xml"]
    (tmp_path / "tools.xml").write_text(file.code, "utf-8")
    monkeypatch.chdir(tmp_path)
    # An example has a module of the name that the page makes up, and its tests load it.
    elsewhere = [path for path in sys.path if not Path(path, "kitchen.py").exists()]
    monkeypatch.setattr(sys, "path", elsewhere)
    monkeypatch.delitem(sys.modules, "kitchen", raising=False)
    return found


def test_the_python_blocks_run_and_print_what_they_say(page: list[Block]) -> None:
    namespace: dict[str, object] = {"__name__": "__page__"}
    compared = 0
    for block, after in itertools.pairwise(page):
        if block.language != "python":
            continue
        source = "\n" * (block.line - 1) + block.code
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(PAGE), "exec"), namespace)
        assert after.language == "text"
        assert printed.getvalue() == after.code
        compared += 1
    assert compared == 2


def test_lint_says_what_the_page_says(
    page: list[Block], capsys: pytest.CaptureFixture[str]
) -> None:
    [shown] = [block.code for block in page if block.code.startswith("$ toolweave lint")]
    command, _, said = shown.partition("\n")
    assert main(command.split()[2:]) == 0
    assert capsys.readouterr().out == said
