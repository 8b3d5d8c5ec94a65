"""The page about typed results: its blocks run."""

from __future__ import annotations

import pytest

from page_examples import Example, examples
from paths import DOCS

PAGE = DOCS / "explanation/results.md"


@pytest.mark.parametrize("example", examples(PAGE.read_text("utf-8")), ids=lambda e: e.block.line)
def test_a_block_runs(example: Example) -> None:
    example.run(PAGE.name)
