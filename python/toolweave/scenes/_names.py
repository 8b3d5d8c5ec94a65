"""Names that providers accept, and the match of names that models write."""

from __future__ import annotations

import difflib
import functools
import re
from typing import TYPE_CHECKING

from ..tools._names import RESERVED_TAGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LONGEST = 64


def provider_name(name: str, taken: Iterable[str] = ()) -> str:
    """Return the name as providers accept it: at most 64 letters, digits, ``_`` and ``-``.

    Example:
        >>> provider_name("General Requests"), provider_name("Café"), provider_name("?!")
        ('General_Requests', 'Caf', 'scene')
        >>> provider_name("a b", taken=["a_b"])
        'a_b_2'

    Args:
        name: Any name.
        taken: Names in use; a number is appended to a name that would equal one of them.
    """
    plain = re.sub(r"_{2,}", "_", re.sub(r"[^a-zA-Z0-9_-]+", "_", name)).strip("_")
    if plain[:1].isdigit() or plain[:1] == "-" or plain.lower() in RESERVED_TAGS:
        plain = f"scene_{plain}"
    base = (plain or "scene")[:_LONGEST].rstrip("_")
    known = set(taken)
    found, number = base, 1
    while found in known:
        number += 1
        tail = f"_{number}"
        found = base[: _LONGEST - len(tail)] + tail
    return found


@functools.lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """Return a key that is equal for names that differ in separators and case only."""
    return re.sub(r"[\W_]+", "", name).casefold()


def match(name: str, known: Sequence[str]) -> int | None:
    """Return the position of the known name that a written name refers to, or None.

    That is an equal name, or the only one that differs in separators and case only.

    Example:
        >>> match("general-requests", ["Weather", "General_Requests"])
        1

    Args:
        name: The name that the model wrote.
        known: The known names.
    """
    if name in known:
        return known.index(name)
    folded = fold(name)
    nearest = [position for position, each in enumerate(known) if fold(each) == folded]
    return nearest[0] if folded and len(nearest) == 1 else None


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the most similar known name, or None if none is similar."""
    found = difflib.get_close_matches(name[:100], list(known)[:500], n=1, cutoff=0.6)
    return found[0] if found else None
