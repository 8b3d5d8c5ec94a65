"""Latency from a call's closing brace, as the server writes it, to the tool's function."""

from __future__ import annotations

import itertools
import os
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version

from endpoint.control import in_process, provider
from report import Section

RUNNERS = {
    "bare": "bytes from a socket, searched for the tag",
    "use-http": f"`NaturalToolUse(HttpModel)` (toolweave {version('toolweave')})",
    "agent-http": f"`Agent(HttpModel)` (toolweave {version('toolweave')})",
    "use-openai": f"for comparison: `NaturalToolUse(OpenAIModel)` (openai {version('openai')})",
}


@dataclass(frozen=True)
class Load:
    """Load on the server; see `provider.Group`."""

    streams: int
    calls: int
    tokens: int
    tick: float
    slots: int


# At 1,000 streams two tokens a second each, with which the client of OpenAI just keeps up.
LOADS = (Load(1, 150, 20, 0.002, 1), Load(1_000, 2, 10, 0.5, 500))
QUICK = (Load(1, 50, 20, 0.002, 1), Load(200, 2, 10, 0.2, 200))


def run(*, quick: bool = False) -> Section:
    """Run all runners under both loads, in turns."""
    loads = QUICK if quick else LOADS
    delays: dict[tuple[str, Load], list[float]] = {}
    groups = map("p{}".format, itertools.count())
    with provider() as port:
        for load in loads:
            for _ in range(1 if quick else 3):
                for runner in RUNNERS:
                    print(f"path: {load.streams} streams, {runner}", file=sys.stderr)
                    given = {"runner": runner, "port": port, "group": next(groups)}
                    found = in_process("calls", {**given, **asdict(load)})["delays"]
                    before = delays.setdefault((runner, load), found)
                    if at(found, 0.99) < at(before, 0.99):
                        delays[runner, load] = found
    rows = [
        [
            label,
            *(
                f"{microseconds:,.0f}"
                for load in loads
                for microseconds in (at(delays[runner, load], share) for share in (0.5, 0.99, 1))
            ),
        ]
        for runner, label in RUNNERS.items()
    ]
    return Section(
        "From a call to its function",
        "Microseconds from just before the server writes the chunk with a call's closing brace to "
        "the entry of the tool's function, by the clock that both processes share. The closing tag "
        "is in the same chunk, since a call is complete with its tag. "
        f"With {loads[0].streams} stream: {loads[0].calls} calls in one reply, one token every "
        f"{loads[0].tick * 1e3:g} ms. With {loads[1].streams:,} streams: "
        f"{loads[1].streams * loads[1].calls:,} calls, one token every {loads[1].tick * 1e3:g} ms "
        "per stream, with the streams staggered. Of several runs in turns, each in a new process, "
        "the one with the lowest p99. Load of the machine at the end: "
        f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.",
        [
            "",
            *(
                f"{load.streams:,} {'stream' if load.streams == 1 else 'streams'}, {name}"
                for load in loads
                for name in ("p50", "p99", "max")
            ),
        ],
        rows,
    )


def at(delays: list[float], share: float) -> float:
    """Return a quantile of the delays, in microseconds."""
    return delays[min(len(delays) - 1, int(share * len(delays)))] * 1e6
