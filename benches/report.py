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

BEGIN = "<!-- begin: python benches/run.py -->"
END = "<!-- end: python benches/run.py -->"


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


def conditions() -> str:
    """Return the place, time and method of the measurement."""
    command = "python benches/run.py " + " ".join(sys.argv[1:])
    return (
        f"`{command.strip()}` on {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}: "
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        "CPU time, minimum of several interleaved runs."
    )


def write(document: Path, sections: Sequence[Section]) -> None:
    """Replace the text between the markers of a document."""
    text = document.read_text(encoding="utf-8") if document.exists() else "# Benchmarks\n"
    if BEGIN not in text:
        text = f"{text.rstrip()}\n\n{BEGIN}\n{END}\n"
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    body = "\n".join(section.markdown() for section in sections)
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text(
        f"{before}{BEGIN}\n\n{conditions()}\n\n{body}\n{END}{after}", encoding="utf-8"
    )
