"""Handlers by their dotted paths, from allowed places only.

Example:
    >>> load_handler("os.path.join", ["json"])
    Traceback (most recent call last):
    toolweave.exceptions.HandlerError: handler 'os.path.join' is not imported: it is not under json
    >>> load_handler("json.JSONDecoder", ["json"]).__name__
    'JSONDecoder'
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, TypeAlias, cast

from .._checks import check_items
from ..exceptions import HandlerError

LoadedHandler: TypeAlias = Callable[..., Any]
"""What a dotted path leads to: a class or a function."""


def load_handler(path: str, allowed: Iterable[str]) -> LoadedHandler:
    """Imports the class or function that a dotted path names.

    As much of the path as is a module is imported, and the packages that it is in; the rest are
    attributes: ``package.module.Class``, or ``package.module.Class.Inner``. What the path leads to
    must itself be defined in an allowed place, so that names which a module has only imported, such
    as ``subprocess``, cannot be reached through it.

    Args:
        path: The dotted path.
        allowed: Prefixes that it may have: modules, packages, or whole paths. Each stands for
            itself and what is in it: ``myapp.handlers`` for ``myapp.handlers.search.Search``, not
            for ``myapp.handlers_old``.

    Raises:
        HandlerError: The path is none, is not allowed, or leads to nothing that can be called; the
            message says which. What went wrong in a module is the `__cause__`.
        TypeError: `allowed` is one string instead of several, or holds something else.
        ValueError: One of the prefixes is no dotted name.
    """
    prefixes = _prefixes(allowed)
    parts = tuple(path.strip().split("."))
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise HandlerError(
            f"handler {path!r} is no dotted path; it has to name a class or a function in a "
            "module, as in 'myapp.handlers.Details'",
            path,
        )
    if not _is_allowed(parts, prefixes):
        raise HandlerError(_not_allowed(path, prefixes), path)
    module, rest = _imported(path, parts)
    found = _attribute(path, module, rest)
    home, name = _defined_in(found)
    if not home:
        raise HandlerError(
            f"handler {path!r} is not used: it does not say where it is defined, as methods of "
            "objects written in C do not; name a function or a class that calls it",
            path,
        )
    if not _is_allowed((*home.split("."), *name.split(".")), prefixes):
        raise HandlerError(
            f"handler {path!r} is not used: it is defined in {home!r}, which is not allowed; "
            "name it where it is defined, and allow that",
            path,
        )
    return found


def check_strings(allowed: Iterable[str], name: str = "allowed") -> tuple[str, ...]:
    """What is allowed, several strings.

    Args:
        allowed: The strings.
        name: The parameter.

    Raises:
        TypeError: It is one string, which would be taken for its characters, or holds others.
    """
    if isinstance(allowed, str):
        raise TypeError(f"{name} must be a list, as in [{allowed!r}], got one string")
    return check_items(name, allowed, str, "an iterable of strings")


def _prefixes(allowed: Iterable[str]) -> list[tuple[str, ...]]:
    prefixes: list[tuple[str, ...]] = []
    for prefix in check_strings(allowed):
        if not isinstance(cast("object", prefix), str):
            raise TypeError(f"what is allowed has to be dotted names, not {prefix!r}")
        parts = tuple(prefix.split("."))
        if not all(part.isidentifier() for part in parts):
            raise ValueError(
                f"{prefix!r} cannot be a prefix of handlers; it has to be a module, a package or "
                "a class, as in 'myapp.handlers'"
            )
        prefixes.append(parts)
    return prefixes


def _is_allowed(parts: tuple[str, ...], prefixes: list[tuple[str, ...]]) -> bool:
    return any(parts[: len(prefix)] == prefix for prefix in prefixes)


def _defined_in(found: object) -> tuple[str, str]:
    """The module in which something is defined, if it says so, and its name there."""
    while isinstance(found, functools.partial):
        found = found.func
    home: object = getattr(found, "__module__", None)
    return home if isinstance(home, str) else "", str(getattr(found, "__qualname__", ""))


def _not_allowed(path: str, prefixes: list[tuple[str, ...]]) -> str:
    if prefixes:
        under = ", ".join(".".join(prefix) for prefix in prefixes)
        return f"handler {path!r} is not imported: it is not under {under}"
    return (
        f"handler {path!r} is not imported: no handlers are allowed; "
        f"allow it with allowed_handlers=[{path.strip().rpartition('.')[0]!r}]"
    )


def _imported(path: str, parts: tuple[str, ...]) -> tuple[ModuleType, tuple[str, ...]]:
    """The module of a path, and the attributes that are left."""
    module = _import(path, parts[0])
    if module is None:
        raise HandlerError(f"handler {path!r}: there is no module {parts[0]!r}", path)
    # What comes last is an attribute, even where a module has the same name.
    for count in range(2, len(parts)):
        inner = _import(path, ".".join(parts[:count])) if hasattr(module, "__path__") else None
        if inner is None:
            if not _has(path, module, parts[count - 1]):
                name = ".".join(parts[:count])
                raise HandlerError(f"handler {path!r}: there is no module {name!r}", path)
            return module, parts[count - 1 :]
        module = inner
    return module, parts[-1:]


def _import(path: str, name: str) -> ModuleType | None:
    """A module whose parent is imported; None if there is none."""
    known: ModuleType | None = sys.modules.get(name)
    if known is not None:
        return known
    try:
        # Asked first, so that a module that is missing is told from one that misses another.
        if importlib.util.find_spec(name) is None:
            return None
        return importlib.import_module(name)
    # A script that was never meant to be imported may well end with `sys.exit()`.
    except (Exception, SystemExit) as error:
        what = "cannot be imported" if isinstance(error, ImportError) else "fails on import"
        raise HandlerError(
            f"handler {path!r}: its module {name!r} is there but {what}: "
            f"{type(error).__name__}: {error}",
            path,
        ) from error


def _attribute(path: str, module: ModuleType, names: tuple[str, ...]) -> LoadedHandler:
    found: object = module
    for count, name in enumerate(names):
        where = ".".join((module.__name__, *names[:count]))
        # Only classes are gone into: what else a module has may lead anywhere.
        if count and not inspect.isclass(found):
            raise HandlerError(
                f"handler {path!r}: {where!r} is no module and no class, so nothing in it is used",
                path,
            )
        if name.startswith("__") or not _has(path, found, name):
            kind = "class" if count else "module"
            raise HandlerError(f"handler {path!r}: {kind} {where!r} has no {name!r}", path)
        found = getattr(found, name)
    if isinstance(found, ModuleType) or not callable(found):
        raise HandlerError(
            f"handler {path!r} is neither a class nor a function, but of the type "
            f"{type(found).__name__}",
            path,
        )
    return found


def _has(path: str, owner: object, name: str) -> bool:
    try:
        return hasattr(owner, name)
    except Exception as error:
        # Modules may make their attributes at first need.
        raise HandlerError(
            f"handler {path!r}: {name!r} cannot be had: {type(error).__name__}: {error}", path
        ) from error
