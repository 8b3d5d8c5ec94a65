"""Dotted paths of handlers: what they may name, and that nothing else is imported."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave.exceptions import HandlerError
from toolweave.handlers import load_handler

FILES = {
    "app_of_handlers/__init__.py": """
        from .details import Details as Again
    """,
    "app_of_handlers/details.py": """
        import functools, os, subprocess
        from os import system
        from app_of_secrets import Secret
        class Details:
            class Inner:
                def run(params, handler): ...
            limit = 3
        def function(params, handler): return "ran"
        partial = functools.partial(function, handler=None)
        outside = functools.partial(system)
        built = Details.Inner()
        joined = "".join
    """,
    "app_of_handlers/deep/__init__.py": "class Details: ...",
    "app_of_handlers/deep/details.py": "class Details: ...",
    "app_of_handlers/needs.py": "import a_package_that_is_missing",
    "app_of_handlers/fails.py": "raise OSError('no such disk')",
    "app_of_handlers/script.py": "raise SystemExit(2)",
    "app_of_handlers/lazy.py": """
        def __getattr__(name):
            if name == "Late":
                import a_package_that_is_missing
            raise AttributeError(name)
    """,
    "app_of_handlers_old.py": "class Details: ...",
    "app_of_secrets.py": "class Secret: ...",
    "app_of_others/__init__.py": "",
    "app_of_others/details.py": "class Details: ...",
}


def forget() -> None:
    for name in [name for name in sys.modules if name.startswith("app_of_")]:
        del sys.modules[name]


@pytest.fixture(autouse=True, scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Create real packages on the import path."""
    root = tmp_path_factory.mktemp("packages")
    for name, text in FILES.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root))
        importlib.invalidate_caches()
        yield
        forget()


@pytest.fixture(autouse=True)
def nothing_imported() -> None:
    forget()


def imported_modules() -> set[str]:
    return {name for name in sys.modules if name.startswith("app_of_")}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("app_of_handlers.details.Details", "Details"),
        ("app_of_handlers.details.Details.Inner", "Details.Inner"),
        ("app_of_handlers.details.Details.Inner.run", "Details.Inner.run"),
        ("app_of_handlers.details.function", "function"),
        ("app_of_handlers.deep.details.Details", "Details"),
        ("app_of_handlers.deep.Details", "Details"),
        ("app_of_handlers.Again", "Details"),
        ("  app_of_handlers.details.Details\n", "Details"),
    ],
)
def test_a_path_consists_of_modules_and_then_classes(path: str, name: str) -> None:
    assert load_handler(path, ["app_of_handlers"]).__qualname__ == name


def test_a_partial_is_allowed_if_its_function_is() -> None:
    loaded = load_handler("app_of_handlers.details.partial", ["app_of_handlers"])
    assert loaded({}) == "ran"
    with pytest.raises(HandlerError, match="is not allowed"):
        load_handler("app_of_handlers.details.outside", ["app_of_handlers"])


@pytest.mark.parametrize(
    "prefix",
    ["app_of_handlers", "app_of_handlers.details", "app_of_handlers.details.Details"],
)
def test_a_prefix_may_be_a_package_a_module_or_a_class(prefix: str) -> None:
    assert load_handler("app_of_handlers.details.Details.Inner", [prefix]).__name__ == "Inner"
    with pytest.raises(HandlerError):
        load_handler("app_of_handlers.deep.Other", [f"{prefix}.x"])


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "app_of_handlers_old.Details",
            (
                "handler 'app_of_handlers_old.Details' is not imported: "
                "it is not under app_of_handlers, json.decoder"
            ),
        ),
        ("app_of_handlers.gone.Details", "there is no module 'app_of_handlers.gone'"),
        ("app_of_handlers.details.Gone", "module 'app_of_handlers.details' has no 'Gone'"),
        (
            "app_of_handlers.details.Details.Gone",
            "class 'app_of_handlers.details.Details' has no 'Gone'",
        ),
        (
            "app_of_handlers.details.Details.limit",
            "must be a class or a function, got int",
        ),
        (
            "app_of_handlers.details.built.run",
            "'app_of_handlers.details.built' must be a module or a class, got ",
        ),
        ("app_of_handlers.details", "must be a class or a function, got module"),
        (
            "app_of_handlers.needs.Details",
            (
                "its module 'app_of_handlers.needs' exists but cannot be imported: "
                "ModuleNotFoundError: No module named 'a_package_that_is_missing'"
            ),
        ),
        (
            "app_of_handlers.fails.Details",
            (
                "its module 'app_of_handlers.fails' exists but fails on import: "
                "OSError: no such disk"
            ),
        ),
        ("app_of_handlers.script.Main", "fails on import: SystemExit: 2"),
        (
            "app_of_handlers.lazy.Late",
            "'Late' cannot be loaded: ModuleNotFoundError: No module named 'a_package_that_is_miss",
        ),
        ("app_of_handlers.lazy.Never", "module 'app_of_handlers.lazy' has no 'Never'"),
        ("Details", "must be the dotted path of a class or function"),
        ("", "must be the dotted path of a class or function"),
        ("app_of_handlers..Details", "must be the dotted path of a class or function"),
        (".details.Details", "must be the dotted path of a class or function"),
        ("app_of_handlers.details.Details()", "must be the dotted path of a class or function"),
    ],
)
def test_the_error_names_what_is_wrong_with_a_path(path: str, message: str) -> None:
    with pytest.raises(HandlerError) as raised:
        load_handler(path, ["app_of_handlers", "json.decoder"])
    assert message in str(raised.value)
    assert raised.value.handler == path


def test_no_handlers_are_allowed_by_default() -> None:
    with pytest.raises(HandlerError, match=r"allowed_handlers=\['app_of_handlers.details'\]"):
        load_handler("app_of_handlers.details.Details", [])
    assert imported_modules() == set()


@pytest.mark.parametrize(
    "path",
    [
        "app_of_handlers.details.os.system",
        "app_of_handlers.details.system",
        "app_of_handlers.details.subprocess.Popen",
        "app_of_handlers.details.Secret",
        "app_of_handlers.details.function.__globals__.get",
        "app_of_handlers.details.__builtins__.get",
        "app_of_handlers.details.Details.__subclasses__",
        "app_of_handlers.details.functools.partial",
        "app_of_handlers.details.joined",
        "app_of_handlers.details.Details.mro",
    ],
)
def test_imported_names_of_a_module_cannot_be_reached(path: str) -> None:
    with pytest.raises(HandlerError):
        load_handler(path, ["app_of_handlers"])


def test_a_single_string_of_prefixes_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"a list, as in \['app'\]"):
        load_handler("a.b", "app")
    with pytest.raises(TypeError, match="allowed must be an iterable of strings"):
        load_handler("a.b", [None])  # type: ignore[list-item]


@pytest.mark.parametrize("prefix", ["", "app.", "app/handlers", "app*"])
def test_a_prefix_that_is_not_a_dotted_name_is_an_error(prefix: str) -> None:
    with pytest.raises(ValueError, match="a prefix of handlers must be"):
        load_handler("app.handlers.Details", [prefix])


def test_a_handler_in_the_main_module_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def details() -> None: ...

    details.__module__ = "__main__"
    monkeypatch.setattr(sys.modules["__main__"], "details", details, raising=False)
    assert load_handler("__main__.details", ["__main__"]) is details


PARTS = ["app_of_handlers", "app_of_handlers_old", "app_of_others", "app_of_secrets", "details"]
PARTS += ["deep", "Details", "Inner", "needs", "fails", "os", "system", "__init__", "Secret"]
PATHS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=5).map(".".join)


@given(path=PATHS, allowed=st.lists(PATHS, max_size=2))
def test_only_the_prefixes_and_their_packages_are_imported(path: str, allowed: list[str]) -> None:
    forget()
    refused = not any(f"{path}.".startswith(f"{prefix}.") for prefix in allowed)
    try:
        found = load_handler(path, allowed)
    except HandlerError:
        found = None
    else:
        assert found.__module__.startswith("app_of_")
    # The application's modules may import anything.
    loaded = imported_modules() - {"app_of_secrets", "app_of_handlers.details"}
    if refused:
        assert found is None
        assert imported_modules() == set()
    for name in loaded:
        assert any(
            f"{name}.".startswith(f"{prefix}.") or f"{prefix}.".startswith(f"{name}.")
            for prefix in allowed
        )


@given(path=st.text(alphabet="abc._() é", max_size=20))
def test_any_text_is_either_a_handler_or_a_handler_error(path: str) -> None:
    before = set(sys.modules)
    with pytest.raises(HandlerError):
        load_handler(path, ["app_of_handlers"])
    assert set(sys.modules) == before


def test_a_single_module_of_a_namespace_package_can_be_allowed() -> None:
    load_handler("app_of_others.details.Details", ["app_of_others.details"])
    assert imported_modules() == {"app_of_others", "app_of_others.details"}
    assert Path(str(sys.modules["app_of_others.details"].__file__)).name == "details.py"
