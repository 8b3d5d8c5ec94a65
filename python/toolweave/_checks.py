"""Argument checks: each error names the parameter, the expected value and the given one.

A wrong type raises a `TypeError`, a wrong value a `ValueError`.

Example:
    >>> check_choice("mode", "fast", ("direct", "planning"))
    Traceback (most recent call last):
    ...
    ValueError: mode must be 'direct' or 'planning', got 'fast'
    >>> check_number("timeout", "1 s", above=0)
    Traceback (most recent call last):
    ...
    TypeError: timeout must be a number above 0, got '1 s'
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_LONGEST = 60
_PLAIN = (str, int, float, bool, type(None))


def got(value: object) -> str:
    """Describe a given value for an error: simple values by their repr, others by their type."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if not isinstance(value, _PLAIN):
        return f"an object of the type {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def wrong_type(name: str, wanted: str, value: object) -> TypeError:
    """Return the error for an argument of the wrong type."""
    return TypeError(f"{name} must be {wanted}, got {got(value)}")


def wrong_value(name: str, wanted: str, value: object) -> ValueError:
    """Return the error for an argument of the right type whose value is invalid."""
    return ValueError(f"{name} must be {wanted}, got {got(value)}")


def check_type(
    name: str, value: object, types: type | tuple[type, ...], wanted: str, *, none: bool = False
) -> None:
    """Raise unless a value is of one of the types.

    Args:
        name: The parameter.
        value: The given value.
        types: The accepted types.
        wanted: The types in words, such as ``a Toolset``.
        none: True to accept None as well.
    """
    if not (isinstance(value, types) or (none and value is None)):
        raise wrong_type(name, f"{wanted} or None" if none else wanted, value)


def check_text(name: str, value: object, *, none: bool = False, empty: bool = True) -> None:
    """Raise unless a value is a string; if `empty` is false, a non-empty one."""
    check_type(name, value, str, "a string", none=none)
    if value == "" and not empty:
        raise wrong_value(name, "a string that is not empty", value)


def check_flag(name: str, value: object, *, none: bool = False) -> None:
    """Raise unless a value is True or False."""
    check_type(name, value, bool, "True or False", none=none)


def check_count(
    name: str, value: object, least: int = 0, *, none: bool = False, most: int | None = None
) -> None:
    """Raise unless a value is an integer of at least `least` and at most `most`."""
    wanted = f"an integer of at least {least}"
    if most is not None:
        wanted += f" and at most {most}"
    if none:
        if value is None:
            return
        wanted += ", or None"
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(name, wanted, value)
    if value < least or (most is not None and value > most):
        raise wrong_value(name, wanted, value)


def check_number(
    name: str,
    value: object,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    none: bool = False,
) -> None:
    """Raise unless a value is a number in a range.

    NaN is refused. Infinity is accepted only if `most` is infinity.
    """
    bounds = [
        f"of at least {least:g}" if least is not None else "",
        f"above {above:g}" if above is not None else "",
        f"of at most {most:g}" if most not in (None, math.inf) else "",
    ]
    wanted = f"a number {' and '.join(filter(None, bounds))}".strip()
    if none:
        if value is None:
            return
        wanted += ", or None"
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise wrong_type(name, wanted, value)
    if (
        math.isnan(value)
        or (math.isinf(value) and most != math.inf)
        or (least is not None and value < least)
        or (above is not None and value <= above)
        or (most is not None and value > most)
    ):
        raise wrong_value(name, wanted, value)


def check_choice(name: str, value: object, choices: Collection[str], *, none: bool = False) -> None:
    """Raise unless a value is one of the choices, which the error lists."""
    if none and value is None:
        return
    *others, last = [repr(str(each)) for each in choices]
    wanted = f"{', '.join(others)} or {last}" if others else last
    if none:
        wanted += ", or None"
    if not isinstance(value, str):
        raise wrong_type(name, wanted, value)
    if value not in choices:
        raise wrong_value(name, wanted, value)


def check_callable(
    name: str, value: object, wanted: str, *parameters: str, none: bool = False
) -> None:
    """Raise unless a value can be called with these positional arguments.

    Args:
        name: The parameter.
        value: The given value.
        wanted: The expected value in words, such as ``a function of a turn``.
        parameters: The arguments that it is called with, in words.
        none: True to accept None as well.
    """
    if none and value is None:
        return
    wanted = f"{wanted} or None" if none else wanted
    if not callable(value):
        raise wrong_type(name, wanted, value)
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # functions written in C may have no signature
        return
    try:
        signature.bind(*parameters)
    except TypeError:
        called = ", ".join(parameters)
        raise TypeError(
            f"{name} must be {wanted}, called with ({called}); this one takes {signature}"
        ) from None


def check_methods(name: str, value: object, wanted: str, *methods: str, none: bool = False) -> None:
    """Raise unless an object has all of these methods. Classes are refused: instances are meant."""
    if none and value is None:
        return
    if isinstance(value, type) or not all(callable(getattr(value, each, None)) for each in methods):
        raise wrong_type(name, f"{wanted} or None" if none else wanted, value)


def check_mapping(name: str, value: object, *, none: bool = False) -> None:
    """Raise unless a value is a mapping with strings as keys."""
    if none and value is None:
        return
    wanted = "a mapping or None" if none else "a mapping"
    if not isinstance(value, Mapping):
        raise wrong_type(name, wanted, value)
    for key in cast("Mapping[object, Any]", value):
        if not isinstance(key, str):
            raise TypeError(f"{name} must have strings as keys, got {got(key)}")


def check_iterable(name: str, value: object, wanted: str) -> None:
    """Raise unless a value is iterable. Strings are refused: their characters are seldom meant."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise wrong_type(name, wanted, value)


def check_items(
    name: str, value: object, types: type | tuple[type, ...], wanted: str
) -> tuple[Any, ...]:
    """Return the items of an iterable; raise if one of them is of another type."""
    check_iterable(name, value, wanted)
    items = tuple(cast("Iterable[object]", value))
    for item in items:
        if not isinstance(item, types):
            raise TypeError(f"{name} must be {wanted}, got one with {got(item)}")
    return items


def check_known(
    given: Iterable[str], known: Collection[str], of: Callable[..., object] | None = None
) -> None:
    """Raise if an option is unknown; the error names the nearest known one, or lists them all.

    Args:
        given: The names of the options.
        known: The known names.
        of: The function that takes the options, whose own parameters the error names as well.
    """
    for each in given:
        if each in known:
            continue
        names = sorted({*known, *_parameters_of(of)})
        nearest = difflib.get_close_matches(each, names, 1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else f"the options are {', '.join(names)}"
        raise TypeError(f"unknown option {each!r}; {hint}")


def _parameters_of(function: Callable[..., object] | None) -> list[str]:
    """Return the names of the parameters that a function declares one by one."""
    if function is None:
        return []
    parameters = inspect.signature(function).parameters.values()
    named = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
    return [name for name in named if name != "self"]
