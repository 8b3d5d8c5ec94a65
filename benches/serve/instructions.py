"""Instructions of `toolweave-serve` for each token and each request, by callgrind.

    make profile-serve                                  # needs valgrind
    make profile-serve ARGS="--parts --program FILE"    # a build with its symbols: where they go

Each case is run three times: some streams, as many of twice the tokens, and twice as many streams.
The difference of two runs has nothing of the start. Instructions are those of user space.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from endpoint.control import provider
from endpoint.instructions import Function, part_of, read, shares
from report import table
from serve.costs import CASES, Case, Size, Upstream, batch
from serve.servers import TOOLWEAVE, toolweave

STREAMS = 4
TOKENS = 200
TICK = 0.03
"""Seconds between two tokens: callgrind is 50 times slower, and each must come by itself."""

Functions = dict[tuple[str, str], Function]


@dataclass(frozen=True)
class Cost:
    """Functions with their instructions, in the three runs of a case."""

    base: Functions
    longer: Functions
    more: Functions

    @property
    def token(self) -> float:
        """Instructions per token of a stream."""
        return (total(self.longer) - total(self.base)) / (STREAMS * TOKENS)

    @property
    def request(self) -> float:
        """Instructions per request, without the tokens of its reply."""
        return (total(self.more) - total(self.base)) / STREAMS - self.token * TOKENS

    def parts(self) -> dict[str, float]:
        """Return the instructions per token of each part of the program."""
        base, longer = shares(self.base), shares(self.longer)
        return {part: (longer[part] - base[part]) / (STREAMS * TOKENS) for part in longer}

    def functions(self) -> dict[str, list[tuple[float, str]]]:
        """Return the functions of each part with their own instructions per token."""
        found: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for (name, module), function in self.longer.items():
            before = self.base.get((name, module), Function()).own
            own = (function.own - before) / (STREAMS * TOKENS)
            found[part_of(name, module) or "(callers')"].append((own, name))
        return found


def total(functions: Functions) -> float:
    """Return the instructions of all functions."""
    return sum(function.own for function in functions.values())


@contextmanager
def profile() -> Iterator[tuple[list[str], Path]]:
    """Yield the command that counts the instructions of a program, and where it writes them."""
    with tempfile.TemporaryDirectory(prefix="toolweave-callgrind-") as folder:
        out = Path(folder) / "profile"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        yield [*command, "--compress-strings=no", "--compress-pos=no"], out


def run(case: Case, size: Size, program: Path) -> Functions:
    """Return the functions of a server that has answered a batch of streams."""
    with profile() as (command, out), provider() as port:
        with toolweave(port, case.mode, under=command, program=program) as proxy:
            asyncio.run(batch(case, proxy, Upstream(port), size))
        return read(out)


def measured(case: Case, program: Path) -> Cost:
    """Measure a case."""
    size = Size(tokens=TOKENS, tick=TICK, concurrency=STREAMS)
    return Cost(
        run(case, size, program),
        run(case, replace(size, tokens=2 * TOKENS), program),
        run(case, replace(size, concurrency=2 * STREAMS), program),
    )


def main() -> None:
    """Measure all cases, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", type=Path, default=TOOLWEAVE, help="a `toolweave-serve`")
    parser.add_argument("--parts", action="store_true", help="print where they go")
    parser.add_argument(
        "--rest", type=int, default=0, help="print the N costliest functions of each part"
    )
    parser.add_argument("--only", metavar="WORD", default="", help="cases with a word in the name")
    given = parser.parse_args()
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed")
    rows: list[list[str]] = []
    for case in CASES:
        if case.serve is not toolweave or given.only not in case.label:
            continue
        cost = measured(case, given.program)
        rows.append([case.label, f"{cost.token:,.0f}", f"{cost.request:,.0f}"])
        if given.parts:
            parts = sorted(cost.parts().items(), key=lambda item: -item[1])
            print(table([case.label, "per token"], [[part, f"{own:,.0f}"] for part, own in parts]))
        for part, found in cost.functions().items() if given.rest else ():
            print(f"\n{part}")
            for own, name in sorted(found, reverse=True)[: given.rest]:
                print(f"  {own:10,.1f}  {name[:150]}")
    print(table(["", "instructions per token", "per request"], rows))


if __name__ == "__main__":
    main()
