"""Tests that `lint` checks handlers without running them."""

from __future__ import annotations

import importlib
import sys
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from sample_registries import DETAILS, SEARCH, SHOP, registry_of
from toolweave._core import Diagnostic
from toolweave.registry import ToolRegistry
from toolweave.registry._handler_code import HandlerResolver

TOUCHES_A_FILE = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n"
"""Source of a module that creates a file when it is imported."""

MODULE = f"""{TOUCHES_A_FILE}
from collections import OrderedDict as Ordered, abc

class Details:
    class Inner: ...
    async def do(self): ...

if Ordered:
    def conditional(): ...
else:
    another = 1
try:
    import json as js
except ImportError:
    js = None
async def later(): ...
first, *rest = 1, 2
annotated: int = 3
with open(__file__) as opened: ...
def outer():
    inner = 1
"""


def find_error(path: str, allowed: Collection[str]) -> str | None:
    return HandlerResolver(allowed).find_error(path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules, none of which may be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    shop = tmp_path / "lint_shop"
    (shop / "deep").mkdir(parents=True)
    (shop / "__init__.py").write_text(TOUCHES_A_FILE, "utf-8")
    (shop / "details.py").write_text(MODULE, "utf-8")
    (shop / "deep" / "more.py").write_text(f"{TOUCHES_A_FILE}class More: ...\n", "utf-8")
    (shop / "stars.py").write_text(f"{TOUCHES_A_FILE}from json import *\n", "utf-8")
    (shop / "lazy.py").write_text(f"{TOUCHES_A_FILE}def __getattr__(name): ...\n", "utf-8")
    (shop / "broken.py").write_text(f"{TOUCHES_A_FILE}class\n", "utf-8")
    (shop / "leaves.py").write_text(
        f"{TOUCHES_A_FILE}raise SystemExit(3)\nclass Details: ...\n", "utf-8"
    )
    (tmp_path / "lint_space" / "inner").mkdir(parents=True)
    (tmp_path / "lint_space" / "inner" / "module.py").write_text("class Here: ...\n", "utf-8")
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("lint_packed/__init__.py", "")
        packed.writestr("lint_packed/handlers.py", "class Packed: ...\n")
    monkeypatch.syspath_prepend(tmp_path / "packed.zip")
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("lint_"):
            del sys.modules[name]


@pytest.mark.parametrize(
    "path",
    [
        *(
            f"lint_shop.details.{name}"
            for name in (
                "Details", "Details.Inner", "Ordered", "abc", "conditional", "another", "js",
                "later", "first", "rest", "annotated", "opened", "outer", "pathlib",
            )
        ),
        "lint_shop.deep.more.More",
        "lint_shop.stars.JSONDecoder",
        "lint_shop.lazy.anything",
        "lint_space.inner.module.Here",
        "lint_packed.handlers.Packed",
        "json.JSONDecoder",
        "json.decoder.JSONDecoder",
        "os.path.join",
        "math.sqrt",
        "sys.exit",
        "__main__.__name__",
        f"{__name__}.folder",
    ],
)  # fmt: skip
def test_an_existing_handler_is_found_without_importing_it(folder: Path, path: str) -> None:
    before = set(sys.modules)
    assert find_error(path, ()) is None
    assert {name for name in set(sys.modules) - before if name.startswith("lint_")} == set()
    assert not list(folder.rglob("ran"))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("lint_none.Details", 'there is no module "lint_none"'),
        ("lint_shop.none.Details", 'there is no module "lint_shop.none"'),
        ("lint_shop.details.more.Details", 'there is no module "lint_shop.details.more"'),
        ("lint_space.none.Here", 'there is no module "lint_space.none"'),
        ("lint_packed.none.Packed", 'there is no module "lint_packed.none"'),
        ("lint_shop.details.Detail", 'module "lint_shop.details" has no "Detail"'),
        ("lint_shop.details.inner", 'module "lint_shop.details" has no "inner"'),
        ("lint_shop.Details", 'module "lint_shop" has no "Details"'),
        ("lint_packed.handlers.None_", 'module "lint_packed.handlers" has no "None_"'),
        ("json.decoder.None_", 'module "json.decoder" has no "None_"'),
        ("Details", "is no dotted path such as package.module.Handler"),
        ("", "is no dotted path such as package.module.Handler"),
        (".lint_shop.Details", "is no dotted path such as package.module.Handler"),
        ("lint_shop/details.py", "is no dotted path such as package.module.Handler"),
    ],
)
def test_a_missing_handler_is_reported_with_the_missing_part(
    folder: Path, path: str, reason: str
) -> None:
    assert (find_error(path, ()) or "").endswith(reason)
    assert not list(folder.rglob("ran"))


def test_a_module_with_a_syntax_error_is_not_an_error_of_the_path(folder: Path) -> None:
    # Errors of the module are raised when the handler runs.
    assert find_error("lint_shop.broken.Details", ()) is None
    assert not list(folder.rglob("ran"))


def test_only_allowed_handlers_are_imported(folder: Path) -> None:
    assert find_error("lint_shop.details.Details", ["lint_shop.detail", "lint", "json"]) is None
    assert not list(folder.rglob("ran"))
    assert find_error("lint_shop.details.Details", ["lint_shop.details"]) is None
    assert (folder / "lint_shop" / "ran").exists()
    for path in ("lint_shop.leaves.Details", "lint_shop.broken.Details"):
        assert path.rpartition(".")[0] in (find_error(path, ["lint_shop"]) or "")


def found(registry: ToolRegistry, *allowed: str, code: str) -> list[Diagnostic]:
    every = registry.lint(allowed_handlers=allowed)
    assert list(every) == sorted(every, key=lambda one: (one.line, one.column))
    return [one for one in every if one.code == code]


def test_an_unresolvable_path_is_reported_at_its_position() -> None:
    [one] = found(ToolRegistry.loads(registry_of(Thing=SEARCH + DETAILS)), code="TW201")
    line = SHOP.splitlines()[one.line - 1]
    assert line[one.column - 1 :][: one.length] == "shop.details.Details"
    assert one.severity == "warning"
    assert one.message == (
        'the handler of the tool "details" cannot be imported: there is no module "shop"'
    )
    assert one.hint is not None


def test_an_error_shared_by_tools_is_reported_once() -> None:
    [one] = found(ToolRegistry.loads(SHOP), code="TW201")
    assert one.message.endswith('there is no module "shop"; so with 1 other tool')
    assert one.line == 1 + SHOP.splitlines().index('    <Tool name="details">') + 1


def test_the_position_is_found_in_any_encoding() -> None:
    text = SHOP.replace("<Tools>", "<!-- 漢字 -->\r\n<Tools>")
    for data in (text.encode("utf-16"), text.encode("utf-8-sig"), text):
        [one] = found(ToolRegistry.loads(data), code="TW201")
        assert text.split("\n")[one.line - 1][one.column - 1 :].startswith("shop.details.Details")


def test_a_handler_outside_the_allowed_prefixes_is_reported() -> None:
    registry = ToolRegistry.loads(registry_of(Thing=DETAILS))
    [one] = found(registry, "shop.detail", "other", code="TW202")
    assert one.message == (
        'the handler of the tool "details" is not allowed: "shop.details.Details" is not under '
        "shop.detail, other"
    )
    assert found(registry, "shop.detail", code="TW201") == []


def test_a_disabled_tool_needs_no_handler() -> None:
    off = DETAILS.replace('name="details"', 'name="details" enabled="false"')
    assert found(ToolRegistry.loads(registry_of(Thing=off)), code="TW201") == []


def test_a_tool_with_a_handler_in_python_needs_no_path_in_the_file() -> None:
    bare = SEARCH.replace("builtin", "code").replace('"search"', '"find"')
    registry = ToolRegistry.loads(registry_of(Thing=bare, Movie=DETAILS))
    assert len(found(registry, code="TW115")) == 1
    assert len(found(registry, code="TW201")) == 1

    def serve(**parameters: Any) -> None: ...

    registry.handler("details", type="Movie")(serve)
    assert found(registry, code="TW201") == []
    assert len(found(registry, code="TW115")) == 1
    registry.handler("find")(serve)
    assert found(registry, code="TW115") == []


def test_a_module_created_at_runtime_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(sys)("lint_made")
    vars(module)["Details"] = object
    monkeypatch.setitem(sys.modules, "lint_made", module)
    assert find_error("lint_made.Details", ()) is None
    assert find_error("lint_made.None_", ()) == 'module "lint_made" has no "None_"'
    importlib.invalidate_caches()


READS = """
class Get:
    def __init__(self, params, handler):
        self.params = params
        self.name = params["item_name"]
        self.details = params.get("details_requested", "")
        self.url = params["item_url"] if "item_url" in params else None

    async def do(self):
        other = {"no": 1}
        return self.params["size"], self.name, other["no"]

class Guarded:
    def __init__(self, params, handler):
        self.params = params
        self.name = self.size = ""

    async def do(self):
        if not self.size:
            pass
        try:
            self.name = self.params.get("item_name", "")
            self.size = self.params.get("size", "")
            self.color = self.params.get("color", "")
            if not self.name:
                raise ValueError
            if not self.size:
                await self.fail()
                return
            if not self.color:
                self.color = "red"
        except OSError:
            pass

async def function(item_name, size, color="red", *, weight, handler, **others): ...
async def whole(request, application): ...
async def params_and_handler(params, handler): ...
def one(item_name): ...
"""


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("Get", '"size"'),
        ("Guarded", '"size"'),
        ("function", '"size" and "weight"'),
        ("whole", None),
        ("params_and_handler", None),
        ("one", None),
    ],
)
@pytest.mark.parametrize("way", ["path", "registered"])
def test_a_handler_that_reads_parameters_the_tool_never_yields_is_reported(
    way: str, name: str, missing: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lint_reads.py").write_text(READS, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    text = registry_of(Thing=SEARCH + DETAILS.replace("shop.details.Details", f"lint_reads.{name}"))
    registry = ToolRegistry.loads(text)
    if way == "registered":
        registry.handler("details")(getattr(importlib.import_module("lint_reads"), name))
    diagnostics = found(registry, code="TW203")
    assert (sys.modules.pop("lint_reads", None) is None) is (way == "path")
    if missing is None:
        assert diagnostics == []
        return
    [one] = diagnostics
    assert one.message == (
        f'the handler of the tool "details" reads {missing}, which its returnStruc never yields'
    )
    line = text.splitlines()[one.line - 1]
    assert line[one.column - 1 :][: one.length] == f"lint_reads.{name}"


def test_a_parameter_missing_in_the_core_is_not_reported_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lint_known.py").write_text(
        "class CompareItemsHandler:\n"
        "    def __init__(self, params, handler):\n"
        "        self.first = params['item1_name']\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    path = "lint_known.CompareItemsHandler"
    registry = ToolRegistry.loads(registry_of(Thing=DETAILS.replace("shop.details.Details", path)))
    assert [one.code for one in registry.lint()] == ["TW117"]

    def serve(item_name: str) -> None: ...

    registry.handler("details")(serve)
    assert registry.lint() == ()


def test_allowed_handlers_must_not_be_one_string() -> None:
    with pytest.raises(TypeError, match=r"\['shop'\]"):
        ToolRegistry().lint(allowed_handlers="shop")


def test_tools_built_from_handlers_have_no_diagnostics() -> None:
    def convert(amount: float, currency: str = "EUR") -> str:
        return f"{amount} {currency}"

    registry = ToolRegistry.from_tools([convert])
    registry.handler("more", type="Recipe")(convert)
    assert registry.lint() == ()
