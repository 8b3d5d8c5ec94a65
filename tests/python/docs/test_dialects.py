"""Tables of `docs/explanation/dialects.md`: all dialects, each mark backed by a golden case."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

import pytest

from paths import DOCS, ROOT
from toolweave import Dialect

PAGE = (DOCS / "explanation/dialects.md").read_text("utf-8")


def load_script() -> Any:
    spec = importlib.util.spec_from_file_location("dialect_table", ROOT / "tests/dialect_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = load_script()


def test_the_page_is_current() -> None:
    generated = SCRIPT.sections(SCRIPT.known_dialects())
    current = SCRIPT.rewritten(PAGE, generated) == PAGE
    assert current, "run `python tests/dialect_table.py` and commit docs/explanation/dialects.md"


def test_every_dialect_has_a_row() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (.*?) \|", SCRIPT.sections(SCRIPT.known_dialects())["table"], re.MULTILINE
    )
    assert rows == [(name, ", ".join(Dialect.named(name).models)) for name in Dialect.names()]


@pytest.mark.parametrize("name", sorted({*Dialect.names()} - {"natural"}))
def test_an_example_is_read_without_naming_its_dialect(name: str) -> None:
    case = SCRIPT.example(name)
    assert "auto" in case["read_by"]
    assert case["reply"] in PAGE


def test_the_page_names_only_known_dialects() -> None:
    stripped = PAGE.split("## Markers that a server has removed")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", stripped, re.MULTILINE))
    assert named <= {*Dialect.names()}
    assert len(named) > 5


@pytest.mark.parametrize("name", Dialect.names())
def test_a_dialect_without_cases_has_no_marks(name: str) -> None:
    [row] = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")][:1]
    if name != "natural" and not SCRIPT.cases_of(name, SCRIPT.load_cases()):
        assert set(row.split(" | ")[2:-1]) == {SCRIPT.UNVERIFIED}
