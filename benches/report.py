"""Tables and targets as Markdown, written between markers of a document."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BEGIN = "<!-- begin: {command} -->"
END = "<!-- end: {command} -->"


@dataclass(frozen=True)
class Target:
    """Target with its measured value."""

    what: str
    limit: float
    measured: float
    at_least: float | None = None
    """Lower limit, if the target is a range."""

    @property
    def met(self) -> bool:
        """True if the measured value is within the limits."""
        return self.measured <= self.limit and (
            self.at_least is None or self.measured >= self.at_least
        )

    def row(self) -> list[str]:
        """Return the target as a row of the table."""
        limit = f"at most {self.limit:g}"
        if self.at_least is not None:
            limit = f"{self.at_least:g} to {self.limit:g}"
        return [self.what, limit, f"{self.measured:.2f}", "pass" if self.met else "**miss**"]


@dataclass
class Section:
    """Section of the report."""

    title: str
    note: str
    header: list[str]
    rows: list[list[str]]
    targets: list[Target] = field(default_factory=list)

    def markdown(self) -> str:
        """Return the section with its tables."""
        parts = [f"## {self.title}", self.note, table(self.header, self.rows)]
        if self.targets:
            rows = [target.row() for target in self.targets]
            parts.append(table(["target", "limit", "measured", ""], rows))
        return "\n\n".join(parts) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def conditions(command: str, method: str) -> str:
    """Return the place, time and method of the measurement."""
    command = " ".join([command, *sys.argv[1:]])
    return (
        f"`{command}` on {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}: "
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {method}."
    )


def write(document: Path, sections: Sequence[Section], command: str, method: str) -> None:
    """Replace the text between the markers of a command in a document."""
    text = document.read_text(encoding="utf-8") if document.exists() else "# Benchmarks\n"
    begin, end = BEGIN.format(command=command), END.format(command=command)
    if begin not in text:
        text = f"{text.rstrip()}\n\n{begin}\n{end}\n"
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    body = "\n".join(section.markdown() for section in sections)
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text(
        f"{before}{begin}\n\n{conditions(command, method)}\n\n{body}\n{end}{after}",
        encoding="utf-8",
    )
