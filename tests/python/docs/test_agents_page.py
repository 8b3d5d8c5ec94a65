"""Agreement of docs/explanation/agents.md with the code: blocks that run, complete tables."""

from __future__ import annotations

import contextlib
import io
import re

import pytest

from markdown_blocks import blocks
from page_examples import examples
from paths import DOCS
from toolweave import StopReason

PAGE = (DOCS / "explanation/agents.md").read_text(encoding="utf-8")
EXAMPLES = examples(PAGE)
OUTPUTS = [block.code for block in blocks(PAGE) if block.language == "text"]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_a_block_prints_its_output(number: int) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        EXAMPLES[number].run("agents.md")
    assert printed.getvalue() == OUTPUTS[number]


def test_every_block_has_an_output() -> None:
    assert len(EXAMPLES) == len(OUTPUTS)


def test_all_stop_reasons_are_explained() -> None:
    section = PAGE.partition("\n## Stop reasons\n")[2].partition("\n## ")[0]
    first = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert {name for cell in first for name in re.findall(r"`(\w+)`", cell)} == {
        reason.value for reason in StopReason
    }
