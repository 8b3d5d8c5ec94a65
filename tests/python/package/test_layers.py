"""The layers of the package: modules import only lower ones, and no files import each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import toolweave

ROOT = "toolweave"
Imports = dict[str, set[str]]
"""The modules that each module imports, anywhere in it, for type checkers as well."""


def layers(doc: str) -> list[str]:
    """Return the top-level modules in the table of the package's docstring, in order."""
    table = re.search(r"\n\n((?: {4}.+\n)+)", doc)
    assert table is not None
    return re.findall(r"\b\w+(?=,|\n)", table[1])


def sources() -> dict[str, str]:
    """Return the source of each module."""
    package = Path(toolweave.__file__).parent
    found = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path.read_text("utf-8")
    return found


def imported(module: str, source: str, modules: Mapping[str, str]) -> set[str]:
    """Return the modules of the package that a module imports."""
    found = set()
    is_package = any(name.startswith(f"{module}.") for name in modules)
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join(filter(None, [*parts[: len(parts) - node.level + 1], base]))
            inner = {f"{base}.{alias.name}" for alias in node.names}
            # `from .package import module` does not use the package itself.
            found |= inner & modules.keys()
            if not inner <= modules.keys():
                found.add(base)
    return {name for name in found if name.partition(".")[0] == ROOT} - {module}


def area(module: str) -> str:
    """Return the top-level module that a module belongs to."""
    return module.split(".")[1] if "." in module else module


def upward(found: Imports, order: list[str]) -> Iterator[str]:
    """Yield the imports of modules that do not come before the importing one."""
    for module, targets in sorted(found.items()):
        if module == ROOT:
            continue
        for target in sorted(targets):
            if area(target) not in order:
                yield f"{module} imports {target}, which is in no layer"
            elif order.index(area(target)) > order.index(area(module)):
                yield f"{module} imports {target}, which is above it"
            elif module.startswith(f"{target}."):
                yield f"{module} imports {target}, the package that it is part of"


def cycle(found: Imports) -> list[str]:
    """Return modules that import each other in a circle; empty if there are none."""
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


ORDER = layers(toolweave.__doc__ or "")
MODULES = sources()


@cache
def imports() -> Imports:
    """Return what each module of the package imports."""
    return {name: imported(name, text, MODULES) for name, text in MODULES.items()}


def test_every_top_level_module_is_in_one_layer() -> None:
    top = {area(name) for name in MODULES} - {ROOT}
    assert sorted([*ORDER]) == sorted(top | {"_core"})


def test_modules_import_only_lower_layers() -> None:
    assert list(upward(imports(), ORDER)) == []


def test_no_files_import_each_other() -> None:
    assert cycle({name: targets for name, targets in imports().items() if name != ROOT}) == []


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("toolweave.agent", "from .executor import ToolRun", "toolweave.agent.executor"),
        ("toolweave.agent._run", "from ..web import chat_app", "toolweave.web"),
        ("toolweave.agent._run", "def f():\n    from .. import web", "toolweave.web"),
        ("toolweave.agent._run", "from .. import Agent", "toolweave"),
        ("toolweave.agent._run", "import toolweave.web", "toolweave.web"),
        ("toolweave.agent._run", "if TYPE_CHECKING:\n    from ._agent import Agent",
         "toolweave.agent._agent"),
    ],
)  # fmt: skip
def test_imports_are_found_in_all_forms(module: str, source: str, expected: str) -> None:
    modules = {**MODULES, module: source, "toolweave.agent.executor": ""}
    assert expected in imported(module, source, modules)


def test_violations_are_found() -> None:
    order = ["low", "high"]
    found = {
        "toolweave.low": {"toolweave.low._a"},
        "toolweave.low._a": {"toolweave.high", "toolweave.low", "toolweave.other", "toolweave"},
        "toolweave.high": {"toolweave.low"},
    }
    assert len(list(upward(found, order))) == 4
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})
