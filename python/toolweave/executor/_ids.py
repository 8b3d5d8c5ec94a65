"""Ids of calls, unique within a reply even if the provider's ids are not."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ._results import utf8

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger("toolweave.executor")


def make_call_id(factory: Callable[[int], object], position: int) -> str:
    """Return the id that a factory creates, or ``call_N`` if that id is invalid.

    Raises:
        TypeError: The factory did not return a string.
    """
    given = factory(position)
    if not isinstance(given, str):
        raise TypeError(f"id_factory must return a string, got {type(given).__name__}")
    if given and utf8(given) == given:
        return given
    counted = f"call_{position}"
    _log.warning(
        "id_factory must return a non-empty id without lone surrogates, got an invalid one; "
        "using another id",
        extra={"returned": ascii(given), "tool_call_id": counted},
    )
    return counted


class CallIds:
    """Unique ids for the calls of a reply. Missing and repeated ids are replaced.

    Args:
        factory: Factory of ids for calls without one, from their position in the reply.

    Example:
        >>> ids = CallIds()
        >>> [ids.unique(given, position) for position, given in enumerate(["a", "a", "", "a"])]
        ['a', 'a#2', 'call_2', 'a#3']
    """

    __slots__ = ("_factory", "_used")

    def __init__(self, factory: Callable[[int], str] | None = None) -> None:
        self._factory = factory
        # How often each id has been requested.
        self._used: dict[str, int] = {}

    def unique(self, given: str, position: int) -> str:
        """Return a unique id for the call at a position, counted from 0."""
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
