"""Ids of calls that are unique within a reply, whatever the provider gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


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
            given = f"call_{position}" if self._factory is None else self._factory(position)
        unique = given
        while unique in self._used:
            self._used[given] += 1
            unique = f"{given}#{self._used[given]}"
        self._used[unique] = 1
        return unique
