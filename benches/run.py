"""Benchmarks in Python: parsing, validation, execution, faults and endpoints.

    make bench                        # all of it, the Rust benchmarks first
    python benches/run.py             # writes docs/reference/benchmarks.md
    python benches/run.py --quick     # smaller sizes, only printed

All except those with their own processes run in one process, in turns. Nearly all measure CPU
seconds, so that a busy machine changes the results little and the ratios less.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import report

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS = {
    "streaming": ("streaming", "replies"),
    "attacks": ("streaming", "attacks"),
    "partial": ("partial", "run"),
    "dialects": ("dialects", "run"),
    "validation": ("validation", "run"),
    "executor": ("execution", "run"),
    "scenes": ("scenes", "run"),
    "registry": ("registry", "run"),
    "imports": ("imports", "run"),
    "faults": ("faults", "faults"),
    "streams": ("faults", "streams"),
    "endpoint": ("endpoint.streams", "run"),
    "scoring": ("endpoint.scoring", "run"),
    "path": ("endpoint.path", "run"),
    "serve": ("serve.costs", "run"),
}
"""Module and function of each part, by name. Modules import their peers."""
WITH_PROCESSES = ("faults", "streams", "endpoint", "scoring", "path", "serve")
DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reference" / "benchmarks.md"


def part(name: str, *, quick: bool, budget: float | None) -> report.Section:
    """Run one part."""
    module, function = PARTS[name]
    run = cast("Callable[..., report.Section]", getattr(importlib.import_module(module), function))
    if name in WITH_PROCESSES:
        return run(quick=quick)
    effort = importlib.import_module("streaming").Effort
    chosen = effort.quick() if quick else effort.full()
    return run(chosen if budget is None else chosen.with_budget(budget))


def main() -> int:
    """Run the requested parts, and return 1 if a target was missed with `--check`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer repeats")
    parser.add_argument(
        "--only",
        choices=tuple(PARTS),
        help="run one part",
    )
    parser.add_argument(
        "--budget", type=float, metavar="S", help="CPU seconds a slow peer may take for a reply"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    parser.add_argument("--output", type=Path, help="the document to write the tables into")
    options = parser.parse_args()

    sections: list[report.Section] = []
    for name in PARTS if options.only is None else (options.only,):
        sections.append(part(name, quick=options.quick, budget=options.budget))
        print(sections[-1].markdown(), flush=True)

    if options.only is None:
        rust = importlib.import_module("core").run()
        if rust is not None:
            sections.append(rust)
            print(rust.markdown(), flush=True)

    output = options.output or (None if options.quick or options.only else DOCUMENT)
    if output is not None:
        method = "CPU time, minimum of several interleaved runs"
        report.write(output, sections, "python benches/run.py", method)
        print(f"written to {output}", file=sys.stderr)
    missed = [target for section in sections for target in section.targets if not target.met]
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
