"""Examples in docstrings."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any, Literal

import pytest

import toolweave

# Commands and the demo have no examples; the adapters for frameworks have tests of their own.
APART = ("toolweave.__main__", "toolweave.cli", "toolweave._demo")


def examples() -> Iterator[Any]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for found in pkgutil.walk_packages(toolweave.__path__, "toolweave."):
        if found.name.startswith(APART):
            continue
        module = importlib.import_module(found.name)
        for example in finder.find(module, found.name):
            if example.examples and example.name.startswith(found.name):
                yield pytest.param(example, id=example.name)


@pytest.mark.parametrize("example", list(examples()))
def test_an_example_in_a_docstring_prints_its_output(example: doctest.DocTest) -> None:
    # The names that a reader has: those of the package, and those of the module itself.
    public = {name: getattr(toolweave, name) for name in toolweave.__all__}
    example.globs = {**public, "asyncio": asyncio, "Literal": Literal, **example.globs}
    output: list[str] = []
    failed = doctest.DocTestRunner(verbose=False).run(example, out=output.append).failed
    assert not failed, "".join(output)
