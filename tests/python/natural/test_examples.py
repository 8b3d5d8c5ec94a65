"""Examples in the docstrings of natural tool use and agents."""

from __future__ import annotations

import doctest
import importlib
import pydoc

import pytest

import toolweave


@pytest.mark.parametrize(
    "name",
    [
        "toolweave.agent",
        "toolweave.natural",
        "toolweave.natural.NaturalToolUseParser",
        "toolweave.natural.NaturalToolUse",
    ],
)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    place = pydoc.locate(name)
    module = importlib.import_module("toolweave.natural")
    known = {public: getattr(toolweave, public) for public in toolweave.__all__}
    runner = doctest.DocTestRunner()
    for each in doctest.DocTestFinder().find(place, name, globs={**known, **vars(module)}):
        runner.run(each)
    results = runner.summarize()
    assert results.attempted > 0
    assert results.failed == 0
