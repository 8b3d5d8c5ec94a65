"""Ids of calls that are unique within a reply, whatever the provider gave."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .results import utf8

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger("toolweave.executor")


def make_call_id(factory: Callable[[int], object], position: int) -> str:
    """Return the id that a factory gives, or ``call_N`` in place of one that cannot be used.

    Raises:
        TypeError: The factory returned no str.
    """
    given = factory(position)
    if not isinstance(given, str):
        raise TypeError(f"id_factory must return a str, not {type(given).__name__}")
    if given and utf8(given) == given:
        return given
    counted = f"call_{position}"
    _log.warning(
        "id_factory must return ids that are not empty and without lone surrogates; "
        "another id is used",
        extra={"returned": ascii(given), "tool_call_id": counted},
    )
    return counted


class CallIds:
    """Hands out ids: the given ones, and others where one is missing or was there before.

    Args:
        factory: Gives an id to a call that has none, from its position in the reply.

    Example:
        >>> ids = CallIds()
        >>> [ids.unique(given, position) for position, given in enumerate(["a", "a", "", "a"])]
        ['a', 'a#2', 'call_2', 'a#3']
    """

    __slots__ = ("_factory", "_used")

    def __init__(self, factory: Callable[[int], str] | None = None) -> None:
        self._factory = factory
        # How often each has been asked for.
        self._used: dict[str, int] = {}

    def unique(self, given: str, position: int) -> str:
        """The id of the call at a position, from 0."""
        if given and given not in self._used:
            self._used[given] = 1
            return given
        if not given:
            factory = self._factory
            given = f"call_{position}" if factory is None else make_call_id(factory, position)
        unique = given
        while unique in self._used:
            self._used[given] += 1
            unique = f"{given}#{self._used[given]}"
        self._used[unique] = 1
        return unique
