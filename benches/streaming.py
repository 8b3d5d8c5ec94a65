"""Microseconds per token while a reply streams, and their growth."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import peers
from attacks import ATTACKS
from measure import Start, Timing, race, slope
from peers import PEERS
from replies import Reply, all_replies, cut
from report import Section, Target

if TYPE_CHECKING:
    from collections.abc import Sequence

# A token inside an opening tag cannot be distinguished from text until the tag ends. The attribute
# below keeps the tag open up to the maximum length.
HELD = cut('<tool_call name="GetWeather" note="' + "x" * 460)


@dataclass(frozen=True)
class Effort:
    """Time to spend on measurements."""

    repeats: int
    seconds: float
    budget: float
    small: bool

    @classmethod
    def quick(cls) -> Effort:
        """Return the effort for quick checks."""
        return cls(repeats=3, seconds=0.15, budget=0.5, small=True)

    @classmethod
    def full(cls) -> Effort:
        """Return the effort for published results."""
        return cls(repeats=5, seconds=1.0, budget=10.0, small=False)

    def with_budget(self, budget: float) -> Effort:
        """Return the same effort with another budget for slow peers."""
        return replace(self, budget=budget)

    def race(self, contestants: dict[str, Start], tokens: Sequence[str]) -> dict[str, Timing]:
        """Run one race at this effort."""
        return race(
            contestants,
            tokens,
            budget=self.budget,
            repeats=self.repeats,
            seconds=self.seconds,
        )


Results = dict[tuple[str, str, str], Timing]
"""Timings by peer, case and size."""


def replies(effort: Effort) -> Section:
    """Run all peers on ordinary replies."""
    cases = all_replies(quick=effort.small)
    results: Results = {}
    for case, sizes in cases.items():
        slow: set[str] = set()
        for reply in sizes:
            print(f"streaming: {case} {reply.size}", file=sys.stderr)
            for name, timing in race_reply(effort, reply, slow).items():
                results[name, case, reply.size] = timing
                if not timing.complete:
                    slow.add(name)
    columns = [(case, reply.size) for case, sizes in cases.items() for reply in sizes]
    rows: list[list[str]] = []
    for peer in PEERS:
        cells = [cell(results, peer.name, case, size) for case, size in columns]
        growth = [growth_of(results, peer.name, case, sizes) for case, sizes in cases.items()]
        known = [value for value in growth if value is not None]
        rows.append([peer.label, *cells, f"{max(known):.2f}" if known else "-"])
    return Section(
        "Streaming",
        "Microseconds per token of 4 characters. `>`: stopped at its budget, so this is a lower "
        "bound; `n/r`: not run, because a shorter reply exceeded the budget; `-`: reads only "
        "JSON, and is given only the arguments. A floor is a method in Rust that takes a token and "
        "returns (a) an empty tuple, (b) a tuple of one event. Growth is the largest slope of time "
        "against length on a log-log plot; 1 is linear. Targets exclude the time to build the "
        "value of the call, which every parser needs.",
        ["", *(f"{case} {size}" for case, size in columns), "growth"],
        rows,
        targets(effort, results, cases),
    )


def race_reply(effort: Effort, reply: Reply, slow: set[str]) -> dict[str, Timing]:
    """Race all peers on one reply, grouped by the text that they read."""
    heats: dict[str, dict[str, Start]] = {}
    for peer in PEERS:
        text = peer.text(reply)
        if text is not None and peer.name not in slow:
            heats.setdefault(text, {})[peer.name] = peer.start
    timings: dict[str, Timing] = {}
    for text, contestants in heats.items():
        timings |= effort.race(contestants, cut(text))
    return timings


def cell(results: Results, name: str, case: str, size: str) -> str:
    """Return a cell of the table."""
    if (name, case, size) in results:
        return str(results[name, case, size])
    ran = any(key[:2] == (name, case) for key in results)
    return "n/r" if ran else "-"


def growth_of(results: Results, name: str, case: str, sizes: Sequence[Reply]) -> float | None:
    """Return the slope of one peer on one case."""
    found = [results.get((name, case, reply.size)) for reply in sizes]
    return slope([timing for timing in found if timing is not None])


def targets(effort: Effort, results: Results, cases: dict[str, list[Reply]]) -> list[Target]:
    """Return the targets relative to the floors of the same run."""

    built = {case: building(effort, sizes[-1]) for case, sizes in cases.items()}

    def ratio(name: str, floor: str, case: str) -> float:
        """Return the ratio for the longest reply, without building the value of its call."""
        reply = cases[case][-1]
        took = results[name, case, reply.size].seconds - built[case]
        return took / results[floor, case, reply.size].seconds

    found = [
        Target(
            "text token through `push`, relative to floor (b)",
            1.5,
            ratio(peers.PUSH, peers.FLOOR_EVENT, "text"),
        )
    ]
    found += [
        Target(
            f"argument token with its `ToolCallDelta` ({case}), relative to floor (b)",
            1.8,
            ratio(peers.PUSH, peers.FLOOR_EVENT, case),
        )
        for case in ("string", "array")
    ]
    found += [
        Target(
            f"argument token with `deltas=False` ({case}), relative to floor (a)",
            1.5,
            ratio(peers.PUSH_WITHOUT_DELTAS, peers.FLOOR_NOTHING, case),
        )
        for case in ("string", "array")
    ]
    found.append(Target("held-back token, relative to floor (a)", 1.5, held_back(effort)))
    found += [
        Target(f"{name} ({case}), relative to floor (b)", 0.5, ratio(peer, peers.FLOOR_EVENT, case))
        for name, peer in (("`push_many`", peers.PUSH_MANY), ("`parse_stream`", peers.PARSE_LIST))
        for case in cases
    ]
    for case, sizes in cases.items():
        apart = {
            (peers.PUSH, case, reply.size): replace(timing, seconds=timing.seconds - cost)
            for reply in sizes
            if (timing := results[peers.PUSH, case, reply.size])
            and (cost := building(effort, reply)) >= 0
        }
        growth = growth_of(apart, peers.PUSH, case, sizes)
        if growth is not None:
            found.append(Target(f"growth of `push` ({case})", 1.1, growth, at_least=0.9))
    return found


def building(effort: Effort, reply: Reply) -> float:
    """Return the seconds to build the value of the reply's only call, if it has one."""
    arguments = reply.arguments
    if arguments is None:
        return 0.0
    contestants: dict[str, Start] = {"built": lambda: peers.ValueBuild(arguments)}
    return effort.race(contestants, cut(reply.text))["built"].seconds


def held_back(effort: Effort) -> float:
    """Return the cost of tokens that could still be a tag, relative to floor (a)."""

    def start() -> peers.Push:
        return peers.push_parser()

    floor = next(peer for peer in PEERS if peer.name == peers.FLOOR_NOTHING)
    timings = effort.race({"toolweave": start, "floor": floor.start}, HELD)
    return timings["toolweave"].seconds / timings["floor"].seconds


def attacks(effort: Effort) -> Section:
    """Run this package on hostile replies, which no other contestant can parse in time."""
    sizes = {"40 KB": 40_000, "400 KB": 400_000}
    if effort.small:
        sizes = {"20 KB": 20_000, "80 KB": 80_000}
    rows: list[list[str]] = []
    largest = 0.0
    for attack in ATTACKS:
        print(f"attack: {attack.name}", file=sys.stderr)
        timings: list[Timing] = []
        for chars in sizes.values():
            timing = effort.race({"toolweave": peers.push_parser}, attack.chunks(chars))[
                "toolweave"
            ]
            # A single chunk is fed as one token; count its actual tokens.
            timings.append(replace(timing, tokens=len(cut(attack.text(chars)))))
        growth = slope(timings)
        rows.append([attack.name, *map(str, timings), "-" if growth is None else f"{growth:.2f}"])
        largest = max(largest, math.inf if growth is None else growth)
    return Section(
        "Hostile replies",
        "Microseconds per token (of 4 characters, even in a single chunk) through `push`.",
        ["", *sizes, "growth"],
        rows,
        [Target("the largest growth", 1.1, largest)],
    )
