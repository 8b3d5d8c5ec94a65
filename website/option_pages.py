"""Options that functions take as `**options`, with their defaults, for the page of settings."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, cast

import griffe

if TYPE_CHECKING:
    from collections.abc import Iterator

TAKEN_BY = {
    "toolweave._options.ParserOptions": "toolweave.Parser",
    "toolweave.natural._options.ExecutorOptions": "toolweave.executor.ToolExecutor",
    "toolweave.tools._options.ToolOptions": "toolweave.tools._options.DEFAULTS",
    "toolweave.models._clients.ClientOptions": "toolweave.models._clients.ProviderModel",
    "toolweave.agent._options.RunArguments": "toolweave.agent._options.RunOptions",
    "toolweave.agent._options.OpenArguments": "toolweave.agent._options.RunOptions",
    "toolweave.scenes._request.RequestOptions": "toolweave.scenes.SceneRequest",
    "toolweave.handlers._run.HandlerOptions": "toolweave.handlers.run_handler",
}
"""The callable, or the mapping, that has the defaults of each set of options."""

IN_TEXT = {"toolweave.nlweb._routing.RoutingOptions"}
"""Names of the `TypedDict`s whose docstrings give the defaults, which no signature has."""


def callables(found: griffe.Object | griffe.Alias) -> Iterator[griffe.Object | griffe.Alias]:
    """Yield a public function or class, and the public methods of the class."""
    yield found
    if found.is_class:
        for name, each in found.all_members.items():
            if each.is_function and not name.startswith("_"):
                yield each


def options_taken(found: griffe.Object | griffe.Alias) -> str | None:
    """Return the path of the `TypedDict` that a callable takes as keyword arguments."""
    if not (found.is_function or found.is_class):
        return None
    for parameter in found.parameters:  # type: ignore[union-attr]
        annotation = parameter.annotation
        if parameter.kind is griffe.ParameterKind.var_keyword and isinstance(
            annotation, griffe.ExprSubscript
        ):
            return cast("griffe.Expr", annotation.slice).canonical_path
    return None


def takers(modules: dict[str, griffe.Module]) -> dict[str, list[tuple[str, str]]]:
    """Return the public callables that take each set of options.

    Args:
        modules: The public modules by their dotted names.

    Returns:
        Names of callables with links to the reference, by the path of the `TypedDict`.
    """
    taken: dict[str, list[tuple[str, str]]] = {}
    seen: set[str] = set()
    for path, module in modules.items():
        for name in sorted({str(each) for each in module.exports or ()}):
            for each in callables(module[name]):
                options = canonical(modules["toolweave"], options_taken(each))
                method = "" if each.name == name else f".{each.name}"
                if options is not None and each.canonical_path + method not in seen:
                    seen.add(each.canonical_path + method)
                    link = f"{path}.md#{path}.{name}{method}"
                    taken.setdefault(options, []).append((f"{name}{method}", link))
    return taken


def canonical(package: griffe.Module, path: str | None) -> str | None:
    """Return the path of the definition of a class that is exported under another."""
    return path and package[path.removeprefix("toolweave.")].canonical_path


def rows(package: griffe.Module, path: str) -> list[tuple[str, str, str]]:
    """Return the name, the default and the text of each option, inherited ones included.

    Raises:
        ValueError: An option has no default or no text.
    """
    options = cast("griffe.Class", package[path.removeprefix("toolweave.")])
    found: dict[str, tuple[str, str, str]] = {}
    for base in options.bases:
        inherited = base.canonical_path if isinstance(base, griffe.Expr) else str(base)
        if inherited.startswith("toolweave."):
            found.update({row[0]: row for row in rows(package, inherited)})
    own = [each for each in options.members.values() if each.is_attribute]
    known = defaults(path) if own else {}
    texts = parameters_of(package, path)
    for option in own:
        text = option.docstring.value if option.docstring else texts.get(option.name, "")
        if option.name not in known or not text:
            raise ValueError(f"{path}: {option.name} must have a default and a docstring")
        found[option.name] = (option.name, known[option.name], text)
    return list(found.values())


def parameters_of(package: griffe.Module, path: str) -> dict[str, str]:
    """Return the texts about the parameters of the callable that has the defaults."""
    if path not in TAKEN_BY:
        return {}
    docstring = package[TAKEN_BY[path].removeprefix("toolweave.")].docstring
    return {
        item.name: item.description
        for section in (docstring.parse("google", warnings=False) if docstring else ())
        if section.kind is griffe.DocstringSectionKind.parameters
        for item in section.value
    }


def defaults(path: str) -> dict[str, str]:
    """Return the defaults of a set of options, as they are written in Python.

    Raises:
        ValueError: It is not known which callable has them.
    """
    if path in IN_TEXT:
        options = importlib.import_module(path.rpartition(".")[0])
        return dict.fromkeys(getattr(options, path.rpartition(".")[2]).__annotations__, "")
    if path not in TAKEN_BY:
        raise ValueError(f"{path}: TAKEN_BY must name the callable that has the defaults")
    module, _, name = TAKEN_BY[path].rpartition(".")
    found = getattr(importlib.import_module(module), name)
    if not callable(found):
        return {key: repr(value) for key, value in found.items()}
    return {
        parameter.name: written(parameter.default)
        for parameter in inspect.signature(found).parameters.values()
        if parameter.default is not inspect.Parameter.empty
    }


def written(default: object) -> str:
    """Return a default as it is written in Python, or nothing if it is made for each call."""
    text = repr(default)
    return "" if " at 0x" in text or text.startswith("<") else text
