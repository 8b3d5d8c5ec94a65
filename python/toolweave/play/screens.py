"""Where the lines of a replay go: plain text for any stream, colours for a terminal."""

from __future__ import annotations

import unicodedata
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from typing_extensions import Self


class LineKind(Enum):
    """What a line shows; the value is its label."""

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
    """Takes lines as they are finished, and what stands below them as it grows."""

    def show(self, line: Line) -> None:
        """Show a line that is finished."""

    def grow(self, line: Line | None, held: str) -> None:
        """Show the line that is still growing, and what the parser holds back."""


# Not as escapes: next to JSON, which has some of its own, those would be misread.
SIGNS = {"\n": "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}", "\t": "\N{RIGHTWARDS ARROW TO BAR}"}


def visible(text: str) -> str:
    """Text on one line: signs for line breaks and tabs, escapes for what cannot be seen."""
    return "".join(ch if _is_visible(ch) else SIGNS.get(ch) or repr(ch)[1:-1] for ch in text)


def harmless(text: str) -> str:
    """One line of foreign text, without what a terminal would obey."""
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
        """Nothing is left to show."""

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
        # Whoever waits for the next line has this one before their eyes.
        self._stream.write(text + "\n")
        self._stream.flush()

    def grow(self, line: Line | None, held: str) -> None:
        """Nothing: what is not finished cannot be taken back from a pipe."""
