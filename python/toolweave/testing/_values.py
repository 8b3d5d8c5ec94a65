"""Comparison of values with expected ones, and short texts of values for failure messages."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

_MISSING = object()


class _ShortRepr(reprlib.Repr):
    """A `repr` of bounded length and depth; functions appear by their names."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxdict = self.maxlist = self.maxtuple = 8
        self.maxstring = self.maxother = 80
        self.maxlong = 40

    def repr_function(self, function: Any, _: int) -> str:
        return f"<predicate {function.__name__}>"

    def repr_ellipsis(self, _: object, __: int) -> str:
        return "..."


_SHORT = _ShortRepr()


def shown(value: object) -> str:
    """Return a text of a value for people, of bounded length."""
    return value.__name__ if isinstance(value, type) else _SHORT.repr(value)


def shown_call(name: str, arguments: Mapping[str, Any] | None, *, others: bool = False) -> str:
    """Return a call as it would be written in Python, of bounded length.

    Args:
        name: Name of the tool.
        arguments: Arguments; None for any.
        others: True if further arguments are accepted.
    """
    if arguments is None:
        return f"{_cut(name)}(...)"
    written = [f"{_cut(key)}={shown(value)}" for key, value in list(arguments.items())[:8]]
    if others or len(arguments) > 8:
        written.append("...")
    return f"{_cut(name)}({', '.join(written)})"


def differences(expected: object, made: object, path: str = "") -> Iterator[str]:
    """Yield the differences of a value from the expected one, with their paths.

    An expected value may be a class (the value is an instance), a predicate, a pattern that is
    searched in a text, or any object that compares equal, such as `unittest.mock.ANY`. Mappings
    and sequences are compared item by item. True and 1 differ, as in JSON; 1 and 1.0 do not.
    """
    if _are(Mapping, expected, made):
        fields, given = cast("tuple[Mapping[str, object], Mapping[str, object]]", (expected, made))
        yield from compare_fields(fields, given, path)
    elif _are((list, tuple), expected, made):
        items, found = cast("tuple[Sequence[object], Sequence[object]]", (expected, made))
        yield from _compare_items(items, found, path)
    elif not _equal(expected, made):
        yield f"{path or 'value'}: expected {shown(expected)}, got {shown(made)}"


def _are(kinds: type | tuple[type, ...], *values: object) -> bool:
    return all(isinstance(value, kinds) for value in values)


def compare_fields(
    expected: Mapping[str, object],
    made: Mapping[str, object],
    path: str = "",
    *,
    others: bool = False,
) -> Iterator[str]:
    """Yield the differences of fields.

    Args:
        expected: Expected fields.
        made: Fields to check.
        path: Path of the mapping in the arguments.
        others: True to accept further fields.
    """
    for key, value in expected.items():
        inner = f"{path}.{key}" if path else key
        given = made.get(key, _MISSING)
        if given is _MISSING:
            yield f"{inner}: expected {shown(value)}, but it is missing"
        else:
            yield from differences(value, given, inner)
    if not others:
        for key in made:
            if key not in expected:
                yield f"{f'{path}.{key}' if path else key}: unexpected, {shown(made[key])}"


def _compare_items(expected: Sequence[object], made: Sequence[object], path: str) -> Iterator[str]:
    if len(expected) != len(made):
        yield f"{path or 'value'}: expected {len(expected)} items, got {len(made)}"
    for index, (value, given) in enumerate(zip(expected, made)):  # noqa: B905 - reported above
        yield from differences(value, given, f"{path}[{index}]")


def _equal(expected: object, made: object) -> bool:
    if isinstance(expected, type):
        return isinstance(made, expected) and (expected is bool or not isinstance(made, bool))
    if isinstance(expected, re.Pattern):
        return isinstance(made, str) and cast("re.Pattern[str]", expected).search(made) is not None
    if callable(expected):
        return _holds(cast("Callable[[object], object]", expected), made)
    if isinstance(expected, bool) != isinstance(made, bool) and isinstance(
        expected, (bool, int, float)
    ):
        return False
    return bool(expected == made)


def _holds(predicate: Callable[[object], object], made: object) -> bool:
    """Return True if a predicate accepts a value; one that raises an error does not."""
    try:
        return bool(predicate(made))
    except (TypeError, ValueError, LookupError, AttributeError):
        return False


def _cut(name: str) -> str:
    return name if len(name) <= 80 else f"{name[:77]}..."
