"""Names that providers take, and names that models write."""

from __future__ import annotations

import difflib
import functools
import re
from typing import TYPE_CHECKING

from ..tools.names import RESERVED_TAGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LONGEST = 64


def provider_name(name: str, taken: Iterable[str] = ()) -> str:
    """The name as providers take it: letters, digits, ``_`` and ``-``, at most 64 of them.

    Example:
        >>> provider_name("General Requests"), provider_name("Café"), provider_name("?!")
        ('General_Requests', 'Caf', 'scene')
        >>> provider_name("a b", taken=["a_b"])
        'a_b_2'

    Args:
        name: Any name.
        taken: Names that others have already: one that would be the same is numbered.
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
    """What names have in common that differ in separators and case only."""
    return re.sub(r"[\W_]+", "", name).casefold()


def match(name: str, known: Sequence[str]) -> int | None:
    """The position of the name that is meant.

    That is the same name, or the only one that differs in separators and case.

    Example:
        >>> match("general-requests", ["Weather", "General_Requests"])
        1

    Args:
        name: What the model wrote.
        known: The names that there are.
    """
    if name in known:
        return known.index(name)
    folded = fold(name)
    nearest = [position for position, each in enumerate(known) if fold(each) == folded]
    return nearest[0] if folded and len(nearest) == 1 else None


def closest(name: str, known: Iterable[str]) -> str | None:
    """The name that is spelled most like it, if one is."""
    found = difflib.get_close_matches(name[:100], list(known)[:500], n=1, cutoff=0.6)
    return found[0] if found else None
