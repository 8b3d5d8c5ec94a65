"""Import of handlers by dotted path, from allowed modules only.

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
from typing import Any, TypeAlias

from .._checks import check_items
from ..exceptions import HandlerError

LoadedHandler: TypeAlias = Callable[..., Any]
"""Class or function that a dotted path names."""


def load_handler(path: str, allowed: Iterable[str]) -> LoadedHandler:
    """Import the class or function that a dotted path names.

    The longest part of the path that is a module is imported, with its packages. The rest are
    attributes: ``package.module.Class``, or ``package.module.Class.Inner``. The class or function
    must itself be defined in an allowed module, so that names that a module only imports, such as
    ``subprocess``, cannot be reached through it.

    Args:
        path: The dotted path.
        allowed: Allowed prefixes: modules, packages, or whole paths. A prefix allows itself and
            everything in it: ``myapp.handlers`` allows ``myapp.handlers.search.Search``, but not
            ``myapp.handlers_old``.

    Raises:
        HandlerError: The path is invalid, not allowed, or does not name a class or function. If a
            module failed on import, its exception is the `__cause__`.
        TypeError: `allowed` is a single string, or contains other types.
        ValueError: A prefix is not a dotted name.
    """
    prefixes = _prefixes(allowed)
    parts = tuple(path.strip().split("."))
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise HandlerError(
            "handler must be the dotted path of a class or function, such as "
            f"'myapp.handlers.Details', got {path!r}",
            path,
        )
    if not _is_allowed(parts, prefixes):
        raise HandlerError(_not_allowed(path, prefixes), path)
    module, rest = _import_module(path, parts)
    found = _attribute(path, module, rest)
    module_name, name = _defined_in(found)
    if not module_name:
        raise HandlerError(
            f"handler {path!r} must be a Python class or function, got an object without a "
            "__module__, such as a method of a C type; wrap it in a function",
            path,
        )
    if not _is_allowed((*module_name.split("."), *name.split(".")), prefixes):
        raise HandlerError(
            f"handler {path!r} is not used: it is defined in {module_name!r}, which is not "
            "allowed; allow that module and use the path there",
            path,
        )
    return found


def check_strings(allowed: Iterable[str], name: str = "allowed") -> tuple[str, ...]:
    """Check an iterable of strings, and return them as a tuple.

    Args:
        allowed: The strings.
        name: Name of the parameter, for errors.

    Raises:
        TypeError: The value is a single string, which would be split into its characters, or
            contains other types.
    """
    if isinstance(allowed, str):
        raise TypeError(f"{name} must be a list, as in [{allowed!r}], got one string")
    return check_items(name, allowed, str, "an iterable of strings")


def _prefixes(allowed: Iterable[str]) -> list[tuple[str, ...]]:
    prefixes: list[tuple[str, ...]] = []
    for prefix in check_strings(allowed):
        parts = tuple(prefix.split("."))
        if not all(part.isidentifier() for part in parts):
            raise ValueError(
                "a prefix of handlers must be a module, a package or a class, such as "
                f"'myapp.handlers', got {prefix!r}"
            )
        prefixes.append(parts)
    return prefixes


def _is_allowed(parts: tuple[str, ...], prefixes: list[tuple[str, ...]]) -> bool:
    return any(parts[: len(prefix)] == prefix for prefix in prefixes)


def _defined_in(found: object) -> tuple[str, str]:
    """Return the module in which an object is defined, if known, and its name there."""
    while isinstance(found, functools.partial):
        found = found.func
    module_name: object = getattr(found, "__module__", None)
    return module_name if isinstance(module_name, str) else "", str(
        getattr(found, "__qualname__", "")
    )


def _not_allowed(path: str, prefixes: list[tuple[str, ...]]) -> str:
    if prefixes:
        under = ", ".join(".".join(prefix) for prefix in prefixes)
        return f"handler {path!r} is not imported: it is not under {under}"
    return (
        f"handler {path!r} is not imported: no handlers are allowed; "
        f"allow it with allowed_handlers=[{path.strip().rpartition('.')[0]!r}]"
    )


def _import_module(path: str, parts: tuple[str, ...]) -> tuple[ModuleType, tuple[str, ...]]:
    """Import the module of a path; return it with the rest of the path."""
    module = _import_if_exists(path, parts[0])
    if module is None:
        raise HandlerError(f"handler {path!r}: there is no module {parts[0]!r}", path)
    # The last part is an attribute, even if there is a module of the same name.
    for count in range(2, len(parts)):
        inner = (
            _import_if_exists(path, ".".join(parts[:count]))
            if hasattr(module, "__path__")
            else None
        )
        if inner is None:
            if not _has(path, module, parts[count - 1]):
                name = ".".join(parts[:count])
                raise HandlerError(f"handler {path!r}: there is no module {name!r}", path)
            return module, parts[count - 1 :]
        module = inner
    return module, parts[-1:]


def _import_if_exists(path: str, name: str) -> ModuleType | None:
    """Import a module whose parent is imported; return None if it does not exist."""
    known: ModuleType | None = sys.modules.get(name)
    if known is not None:
        return known
    try:
        # Distinguishes a missing module from one that fails to import another.
        if importlib.util.find_spec(name) is None:
            return None
        return importlib.import_module(name)
    # A script that is not meant to be imported may call `sys.exit()`.
    except (Exception, SystemExit) as error:
        what = "cannot be imported" if isinstance(error, ImportError) else "fails on import"
        raise HandlerError(
            f"handler {path!r}: its module {name!r} exists but {what}: "
            f"{type(error).__name__}: {error}",
            path,
        ) from error


def _attribute(path: str, module: ModuleType, names: tuple[str, ...]) -> LoadedHandler:
    found: object = module
    for count, name in enumerate(names):
        where = ".".join((module.__name__, *names[:count]))
        # Only classes are searched, since other attributes of a module may lead anywhere.
        if count and not inspect.isclass(found):
            raise HandlerError(
                f"handler {path!r}: {where!r} must be a module or a class, got "
                f"{type(found).__name__}",
                path,
            )
        if name.startswith("__") or not _has(path, found, name):
            kind = "class" if count else "module"
            raise HandlerError(f"handler {path!r}: {kind} {where!r} has no {name!r}", path)
        found = getattr(found, name)
    if isinstance(found, ModuleType) or not callable(found):
        raise HandlerError(
            f"handler {path!r} must be a class or a function, got {type(found).__name__}",
            path,
        )
    return found


def _has(path: str, owner: object, name: str) -> bool:
    try:
        return hasattr(owner, name)
    except Exception as error:
        # A module may create attributes lazily.
        raise HandlerError(
            f"handler {path!r}: {name!r} cannot be loaded: {type(error).__name__}: {error}", path
        ) from error
