"""The benchmarks in Python: streaming, hostile replies, validation, execution, the loop, imports.

    make bench                        # all of it, the Rust benchmarks first
    python benches/run.py             # writes docs/benchmarks.md
    python benches/run.py --quick     # smaller sizes, only printed

Everything runs in one process, in turns, and is timed in CPU seconds, so that a
busy machine changes the figures little and the ratios less.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import core
import execution
import imports
import registry
import report
import scenes
import streaming
import validation

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"


def main() -> int:
    """Run what was asked for; 1 if a target was missed and `--check` given."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer repeats")
    parser.add_argument(
        "--only",
        choices=(
            "streaming",
            "attacks",
            "validation",
            "executor",
            "scenes",
            "registry",
            "imports",
        ),
        help="run one part",
    )
    parser.add_argument(
        "--budget", type=float, metavar="S", help="CPU seconds a slow peer may take for a reply"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    parser.add_argument("--output", type=Path, help="the document to write the tables into")
    options = parser.parse_args()
    effort = streaming.Effort.quick() if options.quick else streaming.Effort.full()
    if options.budget is not None:
        effort = effort.with_budget(options.budget)

    sections: list[report.Section] = []
    for name, part in (
        ("streaming", streaming.replies),
        ("attacks", streaming.attacks),
        ("validation", validation.run),
        ("executor", execution.run),
        ("scenes", scenes.run),
        ("registry", registry.run),
        ("imports", imports.run),
    ):
        if options.only in (None, name):
            sections.append(part(effort))
            print(sections[-1].markdown(), flush=True)

    rust = core.run()
    if rust is not None and options.only is None:
        sections.append(rust)
        print(rust.markdown(), flush=True)

    output = options.output or (None if options.quick or options.only else DOCUMENT)
    if output is not None:
        report.write(output, sections)
        print(f"written to {output}", file=sys.stderr)
    missed = [target for section in sections for target in section.targets if not target.met]
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
