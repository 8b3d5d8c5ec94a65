"""Screens for the lines of a replay: plain text for any stream, colours for a terminal."""

from __future__ import annotations

import unicodedata
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from typing_extensions import Self


class LineKind(Enum):
    """Kind of a line; the value is its label."""

    TITLE = "title"
    NOTE = "note"
    USER = "user"
    PROMPT = "prompt"
    TEXT = "text"
    THINKS = "thinks"
    HELD = "held"
    CALL = "call"
    ARGS = "args"
    REPAIRED = "repaired"
    STARTS = "starts"
    WORKS = "works"
    RESULT = "result"
    FAILED = "failed"
    INVALID = "invalid"
    ALL = "all"
    SKIPPED = "skipped"
    INVENTED = "invented"
    HISTORY = "history"
    END = "end"


MARGIN = 9
"""Columns before a line's own text: its kind, right-aligned, and a space."""


@dataclass(frozen=True)
class Line:
    """One line to show."""

    kind: LineKind
    text: str


class Screen(AbstractContextManager["Screen"], Protocol):
    """An output for finished lines, with a growing line below them."""

    def show(self, line: Line) -> None:
        """Show a finished line."""

    def grow(self, line: Line | None, held: str) -> None:
        """Show the growing line, and the text that the parser holds back."""


# Not escapes, which could be confused with those of JSON.
SIGNS = {"\n": "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}", "\t": "\N{RIGHTWARDS ARROW TO BAR}"}


def visible(text: str) -> str:
    """Return text on one line: symbols for line breaks and tabs, escapes for the invisible."""
    return "".join(ch if _is_visible(ch) else SIGNS.get(ch) or repr(ch)[1:-1] for ch in text)


def shortened(text: str, most: int) -> str:
    """Return text of at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def harmless(text: str) -> str:
    """Return a line of untrusted text with control characters escaped."""
    return "".join(ch if _is_visible(ch) or ch == "\t" else repr(ch)[1:-1] for ch in text)


def _is_visible(ch: str) -> bool:
    # Of all spaces, only the plain one counts as printable.
    return ch.isprintable() or unicodedata.category(ch) == "Zs"


class PlainScreen:
    """Finished lines as text, for pipes, files and terminals without colours."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        """Return at once: all lines are already written."""

    def show(self, line: Line) -> None:
        """Write one line."""
        text = harmless(line.text)
        match line.kind:
            case LineKind.TITLE:
                text = f"\n== {text} =="
            case LineKind.END:
                text = f"\n{text}"
            case _:
                text = f"{line.kind.value:>{MARGIN - 1}} {text}".rstrip()
        # Show each line at once.
        self._stream.write(text + "\n")
        self._stream.flush()

    def grow(self, line: Line | None, held: str) -> None:
        """Ignore it: an unfinished line could not be redrawn in a pipe."""
