"""Instructions of the parser in Rust, by callgrind: all dialects at once beside `natural` alone.

    make instructions                        # builds what reads the replies; needs valgrind
    make instructions ARGS="--before FILE"   # beside an earlier version's

Instructions do not depend on what else the machine does. The first limit is on all dialects at
once; the second, given an earlier version's figures (`--save`), on `natural` alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from replies import (
    PROSE,
    SCHEMAS,
    Reply,
    array_reply,
    cut,
    mixed_reply,
    repeated,
    string_reply,
    text_reply,
)
from report import Section, Target, write
from written import DIALECTS, replies

_DATA = json.loads(Path(__file__).with_name("replies.json").read_text(encoding="utf-8"))
HARNESS = Path(__file__).parent / "counting" / "target" / "release" / "toolweave-counting"
NATURAL = "natural"
AUTO = "auto"
AT_ONCE = 1.3
"""Limit for all dialects at once, relative to `natural` alone."""
BEFORE = 1.03
"""Limit for `natural` alone, relative to an earlier version."""
CHUNK = 4096


@dataclass(frozen=True)
class Case:
    """Reply, cut into chunks, for one choice of dialects."""

    name: str
    dialect: str
    chunks: list[str]
    validated: bool = False

    @property
    def chars(self) -> int:
        """Length of the reply."""
        return sum(map(len, self.chunks))

    @property
    def key(self) -> str:
        """Name of the case in a file of figures."""
        return f"{self.dialect}: {self.name}{', validated' if self.validated else ''}"


def natural_replies() -> dict[str, list[str]]:
    """Return the replies that both choices of dialects read, in chunks."""
    plain: list[Reply] = [
        text_reply("10k", 10_000),
        mixed_reply("10k", 10_000),
        string_reply("100 KB", 100_000),
        array_reply("100 KB", 100_000),
    ]
    found = {f"{reply.case} {reply.size}": reply.tokens for reply in plain}
    markdown = repeated(_DATA["markdown"], 40_000)
    many = '<GetWeather>{"location": "x"}</GetWeather>\n' * 1_000
    found["Markdown 40 KB"] = cut(markdown)
    found["1,000 tiny calls"] = cut(many)
    prose = repeated(PROSE, 40_000)
    for name, text in (("text", prose), ("Markdown", markdown), ("tiny calls", many)):
        found[f"{name} in chunks of {CHUNK:,}"] = cut(text, CHUNK)
    found["mixed in chunks of 4,096"] = cut(mixed_reply("10k", 10_000).text, CHUNK)
    return found


def dialect_replies() -> list[Case]:
    """Return replies of each dialect, for it alone and for all at once."""
    return [
        Case(f"{dialect}, {case} {sizes[-1].size}", name, list(sizes[-1].chunks), validated=True)
        for dialect in DIALECTS
        for case, sizes in replies(dialect, quick=True).items()
        for name in (dialect, AUTO)
    ]


def counted(harness: Path, case: Case) -> int:
    """Run one case under callgrind, and return its instructions."""
    with tempfile.TemporaryDirectory(prefix="toolweave-counts-") as folder:
        plan, out = Path(folder) / "plan.json", Path(folder) / "callgrind.out"
        about: dict[str, Any] = {"tools": SCHEMAS, "cases": [asdict(case)]}
        plan.write_text(json.dumps(about), encoding="utf-8")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += ["--toggle-collect=*toolweave_counting::measured*", str(harness), str(plan)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        found = re.search(r"^summary: (\d+)", out.read_text("utf-8"), re.MULTILINE)
        return int(found[1]) if found else 0


def section(
    harness: Path, before: dict[str, int] | None, only: str | None
) -> tuple[Section, dict[str, int]]:
    """Count all cases.

    Returns:
        The section of the report, and the instructions of each case.
    """
    choices = (NATURAL, AUTO) if only is None else (only,)
    shared = [
        Case(name, dialect, chunks, validated)
        for validated in (False, True)
        for name, chunks in natural_replies().items()
        for dialect in choices
    ]
    written = dialect_replies() if only is None else []
    cases = [*shared, *written]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(lambda case: counted(harness, case), cases)
        figures = {case.key: count for case, count in zip(cases, counts, strict=True)}
    rows: list[list[str]] = []
    targets: list[Target] = []
    for case in cases:
        count = figures[case.key]
        alone = figures.get(case.key.replace(f"{AUTO}: ", f"{NATURAL}: ", 1))
        named = case.name.split(",", 1)[0]
        if case.dialect == AUTO and case in written:
            alone = figures[case.key.replace(f"{AUTO}: ", f"{named}: ", 1)]
        ratio = count / alone if case.dialect == AUTO and alone else None
        earlier = (before or {}).get(case.key)
        rows.append(
            [
                case.key,
                f"{count / case.chars * 4:,.1f}",
                "-" if ratio is None else f"{ratio:.2f}",
                "-" if earlier is None else f"{count / earlier:.3f}",
            ]
        )
        if ratio is not None and case not in written:
            targets.append(Target(f"{case.key}: relative to one dialect", AT_ONCE, ratio))
        if earlier is not None and case.dialect == NATURAL:
            targets.append(Target(f"{case.key}: relative to before", BEFORE, count / earlier))
    return (
        Section(
            "Instructions",
            "Instructions in user space for 4 characters of a reply, in Rust. `auto` reads all "
            "dialects at once, and is compared with the reply's own dialect alone. Frames alone, "
            "or with arguments validated and their values built.",
            ["", "instructions", "relative to one dialect", "relative to before"],
            rows,
            targets,
        ),
        figures,
    )


def main() -> int:
    """Count, print the tables, and return 1 if a target was missed with `--check`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--harness", type=Path, default=HARNESS, help="the program to run")
    parser.add_argument("--before", type=Path, help="figures of an earlier version")
    parser.add_argument("--save", type=Path, help="the file to write the figures to")
    parser.add_argument("--only", choices=(NATURAL,), help="one choice of dialects")
    parser.add_argument("--output", type=Path, help="the document to write the tables into")
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    options = parser.parse_args()
    before = json.loads(options.before.read_text("utf-8")) if options.before else None
    found, figures = section(options.harness, before, options.only)
    print(found.markdown())
    if options.output:
        write(options.output, [found], "python benches/counts.py", "callgrind")
    if options.save:
        options.save.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 1 if options.check and not all(target.met for target in found.targets) else 0


if __name__ == "__main__":
    sys.exit(main())
