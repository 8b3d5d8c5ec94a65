"""Comparison of calls with the expected ones, by the rules of BFCL.

Strings are equal if they differ only in case, white space and the characters ``,./-_*^'"``, numbers
if their values are. Objects are compared by key; each key of an expected object has alternatives.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ._case import Alternatives, ExpectedCall

_IGNORED = re.compile(r"[\s,./\-_*^'\"]+")

MAX_DEPTH = 128
"""Maximum nesting of values, that of the parser."""


def pair_calls(
    calls: Sequence[tuple[str, Mapping[str, Any]]],
    expected: Sequence[ExpectedCall],
    defaults: Mapping[str, Mapping[str, Any]],
) -> tuple[list[int], list[int]]:
    """Pair calls with expected ones in any order, as many as possible.

    Args:
        calls: Names and arguments.
        expected: The expected calls.
        defaults: Default values of the parameters, by tool.

    Returns:
        The indices of the calls and of the expected calls that have no partner.
    """
    fits = [
        [
            number
            for number, wanted in enumerate(expected)
            if wanted.name == name and matches(arguments, wanted.arguments, defaults.get(name, {}))
        ]
        for name, arguments in calls
    ]
    partner: dict[int, int] = {}

    def assign(call: int, seen: set[int]) -> bool:
        """Find a partner for a call, moving those of others. The depth is that of `expected`."""
        for wanted in fits[call]:
            if wanted in seen:
                continue
            seen.add(wanted)
            if wanted not in partner or assign(partner[wanted], seen):
                partner[wanted] = call
                return True
        return False

    for call in range(len(calls)):
        assign(call, set())
    paired = set(partner.values())
    return (
        [call for call in range(len(calls)) if call not in paired],
        [wanted for wanted in range(len(expected)) if wanted not in partner],
    )


def matches(
    arguments: Mapping[str, Any],
    wanted: Mapping[str, Alternatives],
    defaults: Mapping[str, Any] | None = None,
) -> bool:
    """Return True if arguments are right.

    An argument that is not expected is right if it is None or the default of its parameter.

    Args:
        arguments: The arguments.
        wanted: The alternatives of each argument.
        defaults: Default values of the parameters.
    """
    return _object_matches(arguments, wanted, defaults or {}, 0)


def _object_matches(
    value: Mapping[str, Any],
    wanted: Mapping[str, Alternatives],
    defaults: Mapping[str, Any],
    depth: int,
) -> bool:
    for name, alternatives in wanted.items():
        given = value.get(name)
        if isinstance(alternatives, str):
            continue
        if given is None:
            if None not in alternatives and "" not in alternatives:
                return False
        elif not any(_equal(given, other, depth + 1) for other in alternatives):
            return False
    return all(
        given is None or (name in defaults and _equal(given, exactly(defaults[name]), depth + 1))
        for name, given in value.items()
        if name not in wanted
    )


def _equal(given: object, wanted: object, depth: int) -> bool:
    if depth > MAX_DEPTH:
        return False
    if isinstance(given, bool) or isinstance(wanted, bool):
        return given is wanted
    if isinstance(given, (int, float)) and isinstance(wanted, (int, float)):
        return given == wanted
    if isinstance(given, str) and isinstance(wanted, str):
        return plain(given) == plain(wanted)
    if isinstance(given, Mapping) and isinstance(wanted, Mapping):
        inner = cast("Mapping[str, Alternatives]", wanted)
        return _object_matches(cast("Mapping[str, Any]", given), inner, {}, depth)
    if isinstance(given, (list, tuple)) and isinstance(wanted, (list, tuple)):
        items = cast("Sequence[object]", given)
        others = cast("Sequence[object]", wanted)
        return len(items) == len(others) and all(
            _equal(item, other, depth + 1) for item, other in zip(items, others, strict=True)
        )
    return given is None and wanted is None


def exactly(value: Any) -> Any:
    """Return a value as an alternative: in objects, each value is its only alternative."""
    if isinstance(value, Mapping):
        return {name: [exactly(each)] for name, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [exactly(each) for each in cast("Sequence[Any]", value)]
    return value


def plain(text: str) -> str:
    """Return a text without the differences that do not count."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = _IGNORED.sub("", unicodedata.normalize("NFKC", folded))
    # Both case folding and removal can undo the normal form: marks that a comma separated are then
    # marks of one letter.
    return unicodedata.normalize("NFKC", kept)
