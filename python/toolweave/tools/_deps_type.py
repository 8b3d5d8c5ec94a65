"""Checks of dependencies against the type that an agent or a tool needs."""

from __future__ import annotations

import typing
from typing import Any, get_args, get_origin

from .._checks import got
from ._signature import is_union


def check_deps_type(deps_type: Any) -> None:
    """Raise unless a value is a type, such as a class, a union or a protocol.

    Raises:
        TypeError: The value is not a type.
    """
    is_type = isinstance(deps_type, type) or get_origin(deps_type) is not None
    if not (deps_type is None or is_type or getattr(deps_type, "__module__", "") == "typing"):
        raise TypeError(f"deps_type must be a type, got {got(deps_type)}")


def check_deps(deps: object, deps_type: Any, owner: str) -> None:
    """Raise unless dependencies have a type, as far as `isinstance` shows.

    Args:
        deps: The dependencies.
        deps_type: The type; None for any.
        owner: The part of the program that needs them, for the error.

    Raises:
        TypeError: The dependencies are of another type.
    """
    if deps_type is not None and not has_type(deps, deps_type):
        # By type only, since dependencies may be secrets.
        given = "None" if deps is None else type(deps).__name__
        raise TypeError(f"deps must be {type_name(deps_type)} for {owner}, got {given}")


def has_type(value: object, kind: Any) -> bool:
    """Return False if a value is known not to have a type."""
    if is_union(kind):
        return any(has_type(value, member) for member in get_args(kind))
    if get_origin(kind) is typing.Annotated:
        return has_type(value, get_args(kind)[0])
    kind = get_origin(kind) or kind
    if not isinstance(kind, type):
        return True
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol or a TypedDict
        return True


def type_name(kind: Any) -> str:
    """Return the name of a type for errors."""
    return kind.__name__ if isinstance(kind, type) and get_origin(kind) is None else str(kind)
