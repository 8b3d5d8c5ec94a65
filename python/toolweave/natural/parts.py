"""Which message of a reply each piece of it belongs to."""

from __future__ import annotations

from typing import Literal, TypeAlias

PartKind: TypeAlias = Literal["text", "reasoning"]
"""What a model says: to the user, or to itself."""


class PartNumbers:
    """Numbers texts and thoughts while they come, as `ReplyRun.messages` does in the end.

    Text goes on in the same message until there is a thought, whatever calls are in between, and
    the other way round. A text of nothing but white space is no message and gives its number away.

    Example:
        >>> numbers = PartNumbers()
        >>> said = [("text", " "), ("reasoning", "Hm"), ("text", "Hello"), ("text", "!")]
        >>> [numbers.place(kind, piece) for kind, piece in said]
        [0, 0, 1, 1]
    """

    __slots__ = ("_counts", "_kind", "_number")

    def __init__(self) -> None:
        self._number = 0
        self._kind: PartKind | None = None
        # Whether there is a message with that number.
        self._counts = False

    def place(self, kind: PartKind, piece: str) -> int:
        """The number of the message that a piece belongs to, if it comes to be one."""
        if kind != self._kind and piece:
            self._number += self._counts
            self._kind = kind
            self._counts = False
        if kind == self._kind and not self._counts:
            self._counts = kind == "reasoning" or (bool(piece) and not piece.isspace())
        return self._number
