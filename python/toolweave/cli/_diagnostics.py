"""Printing of diagnostics in the style of compilers."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from ..registry._files import shorten
from ._excerpt import escaped, excerpt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import Diagnostic

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_QUIET = "\x1b[34m"
_HELP = "\x1b[36m"
_SEVERITIES = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m"}

_MIN_WIDTH, _MAX_WIDTH = 40, 120


@dataclass(frozen=True)
class DiagnosticPrinter:
    """Formatter of diagnostics for a stream."""

    colours: bool = False
    width: int = 100
    """Width of a line in cells."""
    encoding: str = "utf-8"
    """Encoding of the stream."""

    @staticmethod
    def of(stream: TextIO, environment: Mapping[str, str]) -> DiagnosticPrinter:
        """Return a formatter for a stream, with colours for terminals unless NO_COLOR is set."""
        terminal = stream.isatty()
        wanted = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        width = shutil.get_terminal_size((100, 24)).columns if terminal else 100
        return DiagnosticPrinter(
            terminal and wanted,
            min(max(width, _MIN_WIDTH), _MAX_WIDTH),
            stream.encoding or "utf-8",
        )

    def show(self, name: str, line: str, found: Diagnostic) -> str:
        """Format a diagnostic with its line.

        Args:
            name: The file.
            line: The line of the file.
            found: The diagnostic.
        """
        colour = _SEVERITIES[found.severity]
        place = self._paint(f"{self._plain(name)}:{found.line}:{found.column}:", _BOLD)
        severity = self._paint(f"{found.severity}:", colour)
        lines = [f"{place} {severity} {self._plain(found.message)} [{found.code}]"]
        number = f" {found.line} "
        gutter = " " * len(number)
        if line:
            part = excerpt(
                line,
                found.column,
                found.length,
                width=max(self.width - len(number) - 2, 20),
                encoding=self.encoding,
            )
            mark = self._paint("^" * part.length, colour)
            lines.append(f"{self._paint(f'{number}|', _QUIET)} {part.text}")
            lines.append(f"{self._paint(f'{gutter}|', _QUIET)} {' ' * part.offset}{mark}")
        if found.hint is not None:
            hint = self._paint("help:", _HELP)
            lines.append(f"{self._paint(f'{gutter}=', _QUIET)} {hint} {self._plain(found.hint)}")
        return "\n".join(lines) + "\n\n"

    def _plain(self, text: str) -> str:
        return escaped(shorten(text), self.encoding)

    def _paint(self, text: str, colour: str) -> str:
        return f"{colour}{text}{_RESET}" if self.colours else text


def count_noun(number: int, what: str) -> str:
    """Return a number with its noun, in the singular or the plural."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
