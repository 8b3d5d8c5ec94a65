"""Assignment of the pieces of a reply to its messages."""

from __future__ import annotations

from typing import Literal, TypeAlias

MAX_SEPARATE_CALLS = 1000
"""Number of calls of a reply that texts can separate into messages. Later calls share the last
message with calls, and the texts around them are joined. Otherwise a reply of short texts and calls
could become a hundred thousand messages."""

PartKind: TypeAlias = Literal["text", "reasoning"]
"""Kind of a part without calls."""


def calls_id(generation_id: str, group: int = 0) -> str:
    """Return the id of a message with calls of a reply.

    Args:
        generation_id: Id of the reply.
        group: Number of the message among those with calls, from 0.
    """
    return f"{generation_id}.calls{group + 1 if group else ''}"


class PartNumbers:
    r"""Numbering of texts, reasoning and calls in a stream, equal to that of `ReplyRun.messages`.

    Consecutive pieces of one kind form a message. White space alone is not a message, and its
    number is reused: calls separated only by white space share a message, and the white space goes
    to the start of the following text.

    Example:
        >>> numbers = PartNumbers()
        >>> pieces = [("text", " "), ("reasoning", "Hm"), ("text", "Hello"), ("text", "!")]
        >>> [numbers.place(kind, piece) for kind, piece in pieces]
        [0, 0, 1, 1]
        >>> numbers.call(0), numbers.place("text", "\n"), numbers.call(1)
        (0, 2, 0)
        >>> numbers.place("text", "So"), numbers.call(2)
        (2, 1)
    """

    __slots__ = ("_after_calls", "_group", "_groups", "_is_message", "_kind", "_number")

    def __init__(self) -> None:
        self._number = 0
        self._kind: PartKind | Literal["calls"] | None = None
        # True if there is a message with that number.
        self._is_message = False
        # True if the current part directly follows calls.
        self._after_calls = False
        self._group = -1
        self._groups: dict[int, int] = {}

    def place(self, kind: PartKind, piece: str) -> int:
        """Return the number of the message that a piece belongs to, if it becomes one."""
        if kind != self._kind and piece:
            self._number += self._is_message
            self._after_calls = self._kind == "calls"
            self._kind = kind
            self._is_message = False
        if kind == self._kind and not self._is_message:
            self._is_message = kind == "reasoning" or (bool(piece) and not piece.isspace())
        return self._number

    def call(self, index: int) -> int:
        """Return the number of the message that a call belongs to, among those with calls.

        Args:
            index: Index of the call in the reply. Its first event decides its position.
        """
        group = self._groups.get(index)
        if group is not None:
            return group
        if index >= MAX_SEPARATE_CALLS and self._group >= 0:
            return self._group
        continues = self._kind == "calls" or (
            self._kind == "text" and self._after_calls and not self._is_message
        )
        if not continues:
            self._group += 1
            self._number += self._is_message
            self._kind, self._is_message = "calls", False
        self._groups[index] = self._group
        return self._group
