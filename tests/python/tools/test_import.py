"""Lazy imports: pydantic and griffe are loaded only if a type or a docstring needs them."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest

HEAVY = {"pydantic", "griffe"}


def loaded_by(program: str) -> set[str]:
    """Return the heavy packages that a program loads in a new interpreter."""
    program = f"import sys\n{program}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True
    )
    return HEAVY & set(done.stdout.split())


USE = """
from toolweave import Tool, ToolContext, Toolset, parse, tool
[made] = Toolset([f])
assert made.validator.is_valid({"a": 1})
assert made.bind({"a": 1}) == {"a": 1}
"""


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        pytest.param("import toolweave", set(), id="the package"),
        pytest.param(
            "from toolweave import Tool\n"
            "f = Tool.from_schema('f', {'properties': {'a': {}}}, lambda a: a)" + USE,
            set(),
            id="a schema that is given",
        ),
        pytest.param(
            "from typing import Annotated, Any, Literal\n"
            "def f(a: Annotated[int, 'One.'], b: list[dict[str, float]] | None = None,"
            " c: Literal['x'] = 'x', **d: Any) -> dict[str, int]:\n"
            "    'Does something.'" + USE,
            set(),
            id="plain types",
        ),
        pytest.param(
            "def f(a: int) -> None:\n    '''Does.\n\n    Args:\n        a: One.\n    '''" + USE,
            {"griffe"},
            id="a docstring with sections",
        ),
        pytest.param(
            "def f(a: int, b: set[int] = ...) -> None:\n    'Does.'" + USE,
            {"pydantic"},
            id="a type that JSON has not",
        ),
        pytest.param(
            "import toolweave\n@toolweave.tool\ndef f(b: set[int]) -> None:\n    '''Does.\n\n"
            "    Args:\n        b: One.\n    '''",
            set(),
            id="a contract that nobody asked for",
        ),
    ],
)
def test_only_what_is_needed_is_loaded(program: str, expected: set[str]) -> None:
    assert loaded_by(program) == expected


@pytest.mark.parametrize("name", ["__doc__", "tool", "Toolset"])
def test_the_examples_in_the_docstrings_pass(name: str) -> None:
    from typing import Literal

    from toolweave import Toolset, tool, tools

    known = {"Literal": Literal, "Toolset": Toolset, "tool": tool}
    runner = doctest.DocTestRunner()
    for each in doctest.DocTestFinder().find(getattr(tools, name), name, globs=known):
        runner.run(each)
    failed, tried = runner.summarize()
    assert tried > 0
    assert failed == 0
