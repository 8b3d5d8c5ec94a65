"""Text of a registry in lines, as its diagnostics count them."""

from __future__ import annotations

import codecs
import re
from functools import cached_property

_MAX_MESSAGE = 1000
"""Maximum length of a message, since a name may be as long as the file."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LATIN_1 = re.compile(
    rb"<\?xml[^>]{0,512}?encoding\s*=\s*[\"'](iso-?8859-1|iso_8859-1|latin-?1|l1)[\"']",
    re.IGNORECASE,
)


class SourceText:
    """Text in lines, with columns in characters. A byte order mark does not count.

    Args:
        source: The text, or its bytes. Invalid bytes are decoded as U+FFFD.
    """

    def __init__(self, source: str | bytes) -> None:
        self._source = source

    @cached_property
    def lines(self) -> list[str]:
        """Lines without their ends. Only a line feed ends a line, as in XML."""
        text = self._source if isinstance(self._source, str) else _decoded(self._source)
        return [line.removesuffix("\r") for line in text.split("\n")]

    def line(self, number: int) -> str:
        """Return a line by number, from 1; empty if there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def find(self, text: str, first: int, behind: int) -> tuple[int, int] | None:
        """Return the line and column of a text, searched from line `first` and before `behind`."""
        for number in range(first, min(behind, len(self.lines) + 1)):
            column = self.lines[number - 1].find(text)
            if column >= 0:
                return number, column + 1
        return None


def shorten(text: str) -> str:
    """Cut the middle out of a long message, which may quote anything."""
    if len(text) <= _MAX_MESSAGE:
        return text
    return f"{text[: _MAX_MESSAGE - 200]} ... {text[-200:]}"


def _decoded(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    encoding = "latin-1" if _LATIN_1.match(data) else "utf-8"
    return data.decode(encoding, errors="replace")
