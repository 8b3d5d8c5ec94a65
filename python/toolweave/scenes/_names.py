"""The match of names that models write."""

from __future__ import annotations

import difflib
import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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
