"""Outputs of the examples."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from paths import EXAMPLES

PROGRAMS = sorted(EXAMPLES.glob("*.py"))


def promised(program: Path) -> str:
    docstring = ast.get_docstring(ast.parse(program.read_text(encoding="utf-8")))
    assert docstring is not None
    return textwrap.dedent(docstring.partition("Prints:\n")[2]).strip()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_an_example_prints_what_its_docstring_promises(program: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", program],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout.strip() == promised(program)


def test_every_example_is_in_the_readme() -> None:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert PROGRAMS
    for program in PROGRAMS:
        assert f"({program.name})" in readme


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_an_example_fits_on_a_page(program: Path) -> None:
    assert len(program.read_text(encoding="utf-8").splitlines()) < 80


def test_the_tests_of_an_agent_pass_without_a_model() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-W", "error", "-p", "no:cacheprovider"],
        cwd=EXAMPLES / "testing",
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
