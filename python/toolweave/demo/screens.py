"""Where the lines of a demo go: plain text for any stream, colours for a terminal."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TextIO

if TYPE_CHECKING:
    from typing_extensions import Self

Kind = Literal[
    "title",
    "note",
    "user",
    "prompt",
    "text",
    "thinks",
    "held",
    "call",
    "args",
    "ready",
    "mended",
    "result",
    "failed",
    "invalid",
    "skipped",
    "invented",
    "history",
    "end",
]

MARGIN = 9
"""Columns before a line's own text: its kind, right-aligned, and a space."""


@dataclass(frozen=True)
class Line:
    """One line to show."""

    kind: Kind
    text: str


class Screen(AbstractContextManager["Screen"], Protocol):
    """Takes lines as they are finished, and what stands below them as it grows."""

    def show(self, line: Line) -> None:
        """Show a line that is finished."""

    def grow(self, line: Line | None, held: str) -> None:
        """Show the line that is still growing, and what the parser holds back."""


def visible(text: str) -> str:
    """Text on one line, its line breaks and control characters spelled out."""
    return "".join(
        ch if ch.isprintable() else {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(ch, repr(ch)[1:-1])
        for ch in text
    )


class PlainScreen:
    """Finished lines as text, for pipes, files and terminals without colours."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._stream.flush()

    def show(self, line: Line) -> None:
        """Write one line."""
        if line.kind == "title":
            text = f"\n== {line.text} =="
        elif line.kind == "end":
            text = f"\n{line.text}"
        else:
            text = f"{line.kind:>{MARGIN - 1}} {line.text}".rstrip()
        # A tool name or an argument may hold what this stream cannot encode.
        encoding = self._stream.encoding or "utf-8"
        text = text.encode(encoding, "backslashreplace").decode(encoding)
        self._stream.write(text + "\n")

    def grow(self, line: Line | None, held: str) -> None:
        """Nothing: what is not finished cannot be taken back from a pipe."""
