"""Python blocks of the README and the overview, each run in a namespace of its own."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from markdown_blocks import Block, blocks
from page_examples import examples
from paths import DOCS, EXAMPLES, README, ROOT

OVERVIEW = DOCS / "explanation/overview.md"
GUARANTEES = DOCS / "explanation/guarantees.md"


@pytest.mark.parametrize(("page", "outputs"), [(README, 2), (OVERVIEW, 1)])
def test_the_python_blocks_run_and_print_their_output(
    page: Path, outputs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    found = blocks(text)
    alone = {example.block.line: example for example in examples(text)}
    compared = 0
    for block, after in zip(found, [*found[1:], None], strict=True):
        if block.language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            alone[block.line].run(str(page))
        if after is not None and after.language == "text":
            assert printed.getvalue() == after.code
            compared += 1
    assert compared == outputs


def test_the_readme_is_short() -> None:
    assert len(README.read_bytes()) <= 7 * 1024


def test_the_readme_ends_with_five_links() -> None:
    _, _, read_on = README.read_text("utf-8").partition("## Read on\n")
    assert len(re.findall(r"^- \[[^]]+\]\(", read_on, re.MULTILINE)) == 5
    assert read_on.partition("\n\nMIT license")[0].count("](") == 5


def test_the_tests_of_guarantees_exist() -> None:
    rows = GUARANTEES.read_text("utf-8")
    named = re.findall(r"\[([^]]+)\]\(\.\./\.\./(tests/python/[a-z_/]+\.py)\)", rows)
    assert len(named) > 30
    for name, file in named:
        text = (ROOT / file).read_text("utf-8")
        assert f"def test_{name.replace(' ', '_')}(" in text, (file, name)


def test_the_links_of_documents_resolve() -> None:
    guides = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", EXAMPLES / "README.md"]
    documents = [README, *guides, *EXAMPLES.glob("*/README.md")]
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
