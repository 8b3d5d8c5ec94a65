"""Which message of a reply each piece of it belongs to."""

from __future__ import annotations

from typing import Literal, TypeAlias

MAX_SEPARATE_CALLS = 1000
"""Calls of a reply, from the first, that texts separate: those after them share the last message
with calls, and the texts around them one text. A reply of nothing but short texts and calls would
be a hundred thousand messages."""

PartKind: TypeAlias = Literal["text", "reasoning"]
"""What a model says: to the user, or to itself."""


def calls_id(generation_id: str, group: int = 0) -> str:
    """The id of a message with calls of a reply.

    Args:
        generation_id: The reply.
        group: The number of the message among those with calls, from 0.
    """
    return f"{generation_id}.calls{group + 1 if group else ''}"


class PartNumbers:
    r"""Numbers texts, thoughts and calls while they come, as `ReplyRun.messages` does in the end.

    Each message holds what the model wrote without anything else in between. A text of nothing but
    white space is no message and gives its number away: calls with only that between them share a
    message, and the white space stands at the beginning of the text behind them.

    Example:
        >>> numbers = PartNumbers()
        >>> said = [("text", " "), ("reasoning", "Hm"), ("text", "Hello"), ("text", "!")]
        >>> [numbers.place(kind, piece) for kind, piece in said]
        [0, 0, 1, 1]
        >>> numbers.call(0), numbers.place("text", "\n"), numbers.call(1)
        (0, 2, 0)
        >>> numbers.place("text", "So"), numbers.call(2)
        (2, 1)
    """

    __slots__ = ("_after_calls", "_counts", "_group", "_groups", "_kind", "_number")

    def __init__(self) -> None:
        self._number = 0
        self._kind: PartKind | Literal["calls"] | None = None
        # Whether there is a message with that number.
        self._counts = False
        # Whether the part that comes just now stands behind calls, directly.
        self._after_calls = False
        self._group = -1
        self._groups: dict[int, int] = {}

    def place(self, kind: PartKind, piece: str) -> int:
        """The number of the message that a piece belongs to, if it comes to be one."""
        if kind != self._kind and piece:
            self._number += self._counts
            self._after_calls = self._kind == "calls"
            self._kind = kind
            self._counts = False
        if kind == self._kind and not self._counts:
            self._counts = kind == "reasoning" or (bool(piece) and not piece.isspace())
        return self._number

    def call(self, index: int) -> int:
        """The number of the message that a call belongs to, among those with calls.

        Args:
            index: The position of the call in the reply. It stands where it was first heard of.
        """
        group = self._groups.get(index)
        if group is not None:
            return group
        if index >= MAX_SEPARATE_CALLS and self._group >= 0:
            return self._group
        goes_on = self._kind == "calls" or (
            self._kind == "text" and self._after_calls and not self._counts
        )
        if not goes_on:
            self._group += 1
            self._number += self._counts
            self._kind, self._counts = "calls", False
        self._groups[index] = self._group
        return self._group
