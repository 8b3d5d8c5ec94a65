"""A line of a text in a terminal, with a mark under the part that something is said about.

What a terminal would not show as it stands is written as an escape: control characters, which
could say anything to a terminal, spaces of other kinds, and what its encoding does not have. Tabs
are four cells wide, wherever they stand. A long line is cut to the part around the mark.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

ELLIPSIS = "..."
TAB = "    "


class Excerpt(NamedTuple):
    """A part of a line, and where the mark goes. All numbers are cells of the terminal."""

    text: str
    offset: int
    """Where the mark begins, from 0."""
    length: int
    """How long it is, at least 1."""


def excerpt(line: str, column: int, length: int, *, width: int, encoding: str) -> Excerpt:
    """A part of a line around some characters, no wider than asked for.

    Args:
        line: The line, as long as it may be.
        column: The first of the characters, from 1; behind the line if there is none.
        length: How many they are, at least 1.
        width: How many cells there are, at least 20.
        encoding: What the terminal is written to in.
    """
    first = min(max(column - 1, 0), len(line))
    last = min(first + max(length, 1), len(line))
    # A mark on an accent is a mark on the letter that has it.
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
    """Which characters are shown: as much of the line as there is room for around one of them."""
    room = width - 2 * len(ELLIPSIS)
    # Two thirds behind it, and what these do not need before it.
    end, right = _extent(line, first, 1, room - room // 3, encoding)
    start, left = _extent(line, first, -1, room - right, encoding)
    if start == 0:
        end, _ = _extent(line, first, 1, room - left, encoding)
    return start, end


def _extent(line: str, at: int, step: int, room: int, encoding: str) -> tuple[int, int]:
    """How far one gets from a place in some cells, and how many of them that takes."""
    used = 0
    # What takes no room is counted as well: a line may consist of nothing else.
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
    """A text as it is shown in one line."""
    return "".join(cell(character, encoding)[0] for character in text)


def cell(character: str, encoding: str) -> tuple[str, int]:
    """What is shown for a character, and how many cells it takes."""
    if " " <= character <= "~":
        return character, 1
    if character == "\t":
        return TAB, len(TAB)
    # Spaces that are none of XML's count as well: a reader would take them for one.
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
