"""Consistency of docs/explanation/dependencies.md with the code."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from page_examples import Example, examples
from paths import DOCS

PAGE = DOCS / "explanation/dependencies.md"


@pytest.mark.parametrize("example", examples(PAGE.read_text("utf-8")), ids=lambda e: e.block.line)
def test_a_block_of_the_page_runs(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    # A dataclass looks for its module.
    monkeypatch.setitem(sys.modules, "__page__", ModuleType("__page__"))
    _, running = example.run(PAGE.name)
    assert running is None
