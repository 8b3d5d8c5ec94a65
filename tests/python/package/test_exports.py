"""The names that `import toolweave` exports: complete, documented, unique and cheap to import."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import operator
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import toolweave
from toolweave import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

PUBLIC = [name for name in toolweave.__all__ if name != "__version__"]
INNER = {
    "ChunkReader",
    "HttpBatch",
    "HttpClient",
    "HttpLargeEvents",
    "HttpReply",
    "HttpWakeup",
    "JsonMeter",
    "ProxyServer",
}
"""Classes of the core for the internal use of `toolweave.models`, `toolweave.web` and the CLI."""
STUBS = sorted(Path(toolweave.__file__).parent.glob("_bindings/*.pyi"))


def is_public(name: str) -> bool:
    return not name.startswith("_")


def name_of(statement: ast.stmt) -> str:
    """Return the name that a statement of a stub declares; empty if there is none."""
    match statement:
        case ast.ClassDef(name) | ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
            return name
        case ast.AnnAssign(target=ast.Name(name)):
            return name
    return ""


def docstring_of(statement: ast.stmt) -> str:
    if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return ast.get_docstring(statement) or ""
    return ""


def undocumented(stub: str) -> list[str]:
    """Return public classes, functions, methods and attributes of a stub without a docstring.

    A member is described by its own docstring, by that of one of its overloads, or
    by an entry under a heading such as `Attributes:` in the docstring of its class.
    """
    missing = []
    for statement in ast.parse(stub).body:
        name, doc = name_of(statement), docstring_of(statement)
        if not is_public(name) or isinstance(statement, ast.AnnAssign):
            continue
        if name and not doc:
            missing.append(name)
        if isinstance(statement, ast.ClassDef):
            described = set(re.findall(r"^    (\w+):", doc, re.MULTILINE))
            described |= {name_of(member) for member in statement.body if docstring_of(member)}
            members = dict.fromkeys(filter(None, map(name_of, statement.body)))
            missing += [f"{name}.{m}" for m in members if is_public(m) and m not in described]
    return missing


def test_all_is_sorted_and_names_nothing_twice() -> None:
    assert toolweave.__all__ == sorted(set(toolweave.__all__))


def test_all_is_every_public_name_of_the_package() -> None:
    names = {name: getattr(toolweave, name) for name in dir(toolweave)}
    found = {
        name
        for name, value in names.items()
        if is_public(name) and not isinstance(value, types.ModuleType) and name != "annotations"
    }
    assert found == set(PUBLIC)


def test_what_the_core_exports_the_package_exports() -> None:
    assert set(filter(is_public, _core.__all__)) <= set(PUBLIC) | INNER


def test_nothing_is_exported_under_two_names() -> None:
    objects = [id(getattr(toolweave, name)) for name in PUBLIC]
    assert len(objects) == len(set(objects))


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_class_or_function_is_found_where_it_says_it_lives(name: str) -> None:
    value = getattr(toolweave, name)
    if inspect.isclass(value) or inspect.isroutine(value):
        assert value.__name__ == name
        assert (value.__module__ + ".").startswith("toolweave.")
        assert getattr(importlib.import_module(value.__module__), name) is value


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_class_or_function_is_documented(name: str) -> None:
    value = getattr(toolweave, name)
    if inspect.isclass(value) or inspect.isroutine(value):
        assert (value.__doc__ or "").strip(), f"{name} has no docstring"


def test_everything_in_the_stubs_is_documented() -> None:
    assert [name for stub in STUBS for name in undocumented(stub.read_text("utf-8"))] == []


def test_a_name_without_a_docstring_in_the_stub_is_found() -> None:
    stub = '''
class A:
    """An A.

    Attributes:
        size: Described here.
    """
    @property
    def size(self) -> int: ...
    @property
    def width(self) -> int: ...
    def method(self) -> None:
        """Described there."""
    def other(self) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
def function() -> None: ...
'''
    assert undocumented(stub) == ["A.width", "A.other", "function"]


def public_docstrings(stub: str) -> Iterator[tuple[str, str]]:
    """Yield the public classes, functions, methods and properties of a stub with docstrings."""
    for statement in ast.parse(stub).body:
        name = name_of(statement)
        members = statement.body if isinstance(statement, ast.ClassDef) else []
        found = [(name, statement), *((f"{name}.{name_of(each)}", each) for each in members)]
        for path, each in found:
            if docstring_of(each) and not re.search(r"\b_", path):
                yield path, docstring_of(each)


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.stem)
def test_help_shows_the_docstrings_of_the_stub(stub: Path) -> None:
    other = []
    for path, docstring in public_docstrings(stub.read_text("utf-8")):
        shown = operator.attrgetter(path)(_core).__doc__ or ""
        if shown.split() != docstring.split():
            other.append(path)
    assert other == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'toolweave' has no attribute 'parze'"):
        _ = toolweave.parze


def test_what_only_parses_loads_no_more_than_that() -> None:
    program = (
        "import sys, toolweave; toolweave.Parser(['Add']);"
        "print(*sorted(name for name in sys.modules if name.startswith('toolweave.')))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True
    )
    loaded = {name.removeprefix("toolweave.") for name in done.stdout.split()}
    assert loaded == {"_core", "_messages", "_options", "_streams", "exceptions", "kinds"}


def test_the_version_is_that_of_the_installed_package() -> None:
    assert toolweave.__version__ == importlib.metadata.version("toolweave")


def test_importing_the_package_imports_nothing_from_outside_the_standard_library() -> None:
    program = (
        "import sys; before = set(sys.modules); import toolweave;"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True
    )
    imported = set(done.stdout.split())
    assert "toolweave" in imported
    assert imported - {"toolweave"} <= sys.stdlib_module_names
