"""Statements and examples of docs/explanation/serve.md."""

from __future__ import annotations

import contextlib
import importlib.metadata
import re
from typing import TYPE_CHECKING

from page_examples import examples
from paths import DOCS
from toolweave.cli import main

if TYPE_CHECKING:
    import pytest

    from .conftest import Serve

PAGE = DOCS / "explanation/serve.md"
TEXT = PAGE.read_text("utf-8")


def test_the_example_calls_a_tool(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    url, _ = serve('<add>{"a": 2, "b": 3}</add>', mode=None)
    namespace, _ = examples(TEXT)[0].run(str(PAGE), url=url)
    namespace["client"].close()
    assert capsys.readouterr().out == "add {'a': 2, 'b': 3}\n"


def test_the_options_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        main(["serve", "--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert set(re.findall(r"`(--[a-z-]+)", TEXT)) <= known


def test_the_versions_of_clients_are_those_of_the_tests() -> None:
    rows = re.findall(r"^\| `(\w+)` for Python \|.*\| ([\d.]+) \|$", TEXT, re.MULTILINE)
    assert [name for name, _ in rows] == ["openai", "anthropic"]
    for name, version in rows:
        assert importlib.metadata.version(name).startswith(version)
