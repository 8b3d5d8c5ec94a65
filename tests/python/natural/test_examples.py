"""Examples in the docstrings of natural tool use and agents."""

from __future__ import annotations

import doctest
import importlib

import pytest

import toolweave


@pytest.mark.parametrize(
    "name",
    [
        "toolweave.agent",
        "toolweave.natural",
        "toolweave.natural._parser",
        "toolweave.natural._tool_use",
    ],
)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    module = importlib.import_module(name)
    known = {public: getattr(toolweave, public) for public in toolweave.__all__}
    results = doctest.testmod(module, extraglobs={**known, **vars(module)})
    assert results.attempted > 0
    assert results.failed == 0
