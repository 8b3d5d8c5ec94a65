"""Excerpts of lines for terminals, with the position of a mark under the part that is meant.

Characters that a terminal would not show are escaped: control characters, unusual spaces, and
those that its encoding lacks. Tabs are four cells wide at any position. A long line is cut to the
part around the mark.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

ELLIPSIS = "..."
TAB = "    "


class Excerpt(NamedTuple):
    """Excerpt of a line, with the position of the mark in cells of the terminal."""

    text: str
    offset: int
    """Start of the mark, from 0."""
    length: int
    """Length of the mark, at least 1."""


def excerpt(line: str, column: int, length: int, *, width: int, encoding: str) -> Excerpt:
    """Return an excerpt of a line around some characters.

    Args:
        line: The line, of any length.
        column: The column of the first character, from 1; it may be behind the line.
        length: The number of characters, at least 1.
        width: Maximum width in cells, at least 20.
        encoding: The encoding of the terminal.
    """
    first = min(max(column - 1, 0), len(line))
    last = min(first + max(length, 1), len(line))
    # A mark on a combining character marks its base character.
    least = max(0, first - width)
    while least < first < len(line) and cell(line[first], encoding)[1] == 0:
        first -= 1
    start, end = _window(line, first, width, encoding)
    before = [cell(character, encoding) for character in line[start:first]]
    shown = [cell(character, encoding) for character in line[first:end]]
    marked = shown[: max(last - first, 0)]
    head = ELLIPSIS if start > 0 else ""
    tail = ELLIPSIS if end < len(line) else ""
    return Excerpt(
        head + "".join(text for text, _ in before + shown) + tail,
        len(head) + sum(wide for _, wide in before),
        max(1, sum(wide for _, wide in marked)),
    )


def _window(line: str, first: int, width: int, encoding: str) -> tuple[int, int]:
    """Return the range of characters that fit into the width around one of them."""
    room = width - 2 * len(ELLIPSIS)
    # Two thirds of the width behind it, the rest before it.
    end, right = _extent(line, first, 1, room - room // 3, encoding)
    start, left = _extent(line, first, -1, room - right, encoding)
    if start == 0:
        end, _ = _extent(line, first, 1, room - left, encoding)
    return start, end


def _extent(line: str, at: int, step: int, room: int, encoding: str) -> tuple[int, int]:
    """Return the position reached from `at` within some cells, and the number of cells used."""
    used = 0
    # Bounded, since a line may consist of characters without a width.
    for _ in range(4 * max(room, 0)):
        index = at if step > 0 else at - 1
        if not 0 <= index < len(line):
            break
        wide = cell(line[index], encoding)[1]
        if used + wide > room:
            break
        used += wide
        at += step
    return at, used


def escaped(text: str, encoding: str) -> str:
    """Return a text with escapes, on one line."""
    return "".join(cell(character, encoding)[0] for character in text)


def cell(character: str, encoding: str) -> tuple[str, int]:
    """Return the text that is shown for a character, and its width in cells."""
    if " " <= character <= "~":
        return character, 1
    if character == "\t":
        return TAB, len(TAB)
    # Spaces that XML does not know are escaped too, since they look like spaces.
    if not character.isprintable() or not _is_encodable(encoding, character):
        shown = character.encode("ascii", "backslashreplace").decode("ascii")
        if shown == character:
            shown = f"\\x{ord(character):02x}"
        return shown, len(shown)
    if unicodedata.category(character) in ("Mn", "Me") or "\u1160" <= character <= "\u11ff":
        return character, 0
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _is_encodable(encoding: str, character: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
