"""Cost of a token, and stalls of the event loop."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from endpoint.control import BENCHES, in_process, provider
from endpoint.readers import APART, READERS
from report import Section, Target

APART_PYTHON = BENCHES.parent / ".venvs" / "bench-litellm" / "bin" / "python"
TOOLWEAVE_READERS = ("http", "http-parsed")


@dataclass(frozen=True)
class Load:
    """Number of concurrent streams and of tokens in each, one every `tick` seconds."""

    streams: int
    tokens: int
    tick: float

    def __str__(self) -> str:
        return f"{self.streams:,}"


LOADS = (Load(1, 2_500, 0.002), Load(100, 100, 0.05), Load(1_000, 100, 0.1))
QUICK = (Load(1, 1_000, 0.002), Load(100, 50, 0.05), Load(1_000, 40, 0.1))


@dataclass(frozen=True)
class Measured:
    """Cost of the cheapest of several runs of a reader, and the longest stall of its loop."""

    label: str
    user: float
    system: float
    """Like `user`, in microseconds per token."""
    memory: float
    """KiB per stream."""
    stall: float
    stall_by_clock: float
    """Like `stall`, in milliseconds."""


def python_of(reader: str) -> Path:
    """Return the interpreter that a reader runs in."""
    return APART_PYTHON if reader in APART else Path(sys.executable)


def measure(load: Load, readers: list[str], rounds: int) -> dict[str, Measured]:
    """Measure all readers under one load, in turns, with one server."""
    runs: dict[str, list[dict[str, Any]]] = {reader: [] for reader in readers}
    watched: dict[str, dict[str, Any]] = {}
    groups = map("g{}".format, itertools.count())
    with provider() as port:
        for round_number in range(rounds + 1):
            for reader in readers:
                # Stalls are measured in the last round, since that takes CPU time.
                watching = round_number == rounds
                spec = {
                    "reader": reader,
                    "port": port,
                    "streams": load.streams,
                    "tokens": load.tokens,
                    "tick": load.tick,
                    "group": next(groups),
                    "stalls": watching,
                }
                print(f"endpoint: {load} streams, {reader}", file=sys.stderr)
                found = in_process("client", spec, str(python_of(reader)))
                if watching:
                    watched[reader] = found
                else:
                    runs[reader].append(found)
    tokens = load.streams * load.tokens
    measured: dict[str, Measured] = {}
    for reader in readers:
        least = min(runs[reader], key=lambda run: run["user"] + run["system"])
        measured[reader] = Measured(
            label=least["label"],
            user=least["user"] / tokens * 1e6,
            system=least["system"] / tokens * 1e6,
            memory=max(run["memory"] for run in runs[reader]) / load.streams / 1024,
            stall=watched[reader]["stall"] * 1e3,
            stall_by_clock=watched[reader]["stall_by_clock"] * 1e3,
        )
    return measured


def run(*, quick: bool = False) -> Section:
    """Run all readers under all loads."""
    readers = list(READERS)
    for reader in APART:
        if not python_of(reader).exists():
            print(f"{reader} is left out: there is no {python_of(reader)}", file=sys.stderr)
            readers.remove(reader)
    loads = QUICK if quick else LOADS
    results = {load: measure(load, readers, 1 if quick else 2) for load in loads}
    rows: list[list[str]] = []
    for reader in readers:
        found = [results[load][reader] for load in loads]
        rows.append(
            [
                found[0].label,
                *(f"{one.user:.1f}; {one.system:.1f}" for one in found),
                *(f"{one.memory:.0f}" for one in found[1:]),
                *(f"{one.stall:.1f}; {one.stall_by_clock:.1f}" for one in found[1:]),
            ]
        )
    return Section(
        "Streams from an endpoint",
        "One server process on the same machine sends all clients the same replies in OpenAI's "
        f"format: {loads[0].tokens:,} or {loads[1].tokens:,} tokens of 4 characters, each in a "
        "chunk of about 300 bytes, with a call in the text. A stream gets a token every "
        f"{', '.join(f'{load.tick * 1e3:g}' for load in loads)} ms (at "
        f"{', '.join(map(str, loads))} streams), all streams of a client at once, as from a server "
        "that works in batches. Each client is a new process with one event loop; the received "
        "texts are compared with what was sent. CPU microseconds per token of the whole process, "
        "user; system, from the start of the last stream to the end of all, minus those of an idle "
        "process. A client that cannot keep up reads several tokens at once, and pays less for "
        "each. Memory is in KiB per stream, from before the first connection to the end of the "
        "first stream, including the received text. A stall is the longest time in milliseconds "
        "that a task which sleeps for one did not run: in CPU time of the loop's thread (of which "
        "1 is no stall); in wall-clock time, on a busy machine. The last row only receives the "
        "bytes, the lower bound for an event loop without another thread.",
        [
            "",
            *(f"{load} streams, us" for load in loads),
            *(f"{load} streams, KiB" for load in loads[1:]),
            *(f"{load} streams, stall" for load in loads[1:]),
        ],
        rows,
        targets(results),
    )


def targets(results: dict[Load, dict[str, Measured]]) -> list[Target]:
    """Return the targets relative to other readers of the same run."""
    found: list[Target] = []
    for name in TOOLWEAVE_READERS:
        label = READERS[name].label
        for load, measured in results.items():
            user = measured[name].user
            for peer, limit in (("openai", 0.1), ("aiohttp", 0.5)):
                of_peer = f"that of {READERS[peer].label}"
                what = f"{label}, {load} streams: user CPU per token, relative to {of_peer}"
                found.append(Target(what, limit, user / measured[peer].user))
    for name in TOOLWEAVE_READERS:
        for load, measured in results.items():
            if load.streams == 1_000:
                what = f"{READERS[name].label}, {load} streams: longest stall, CPU milliseconds"
                found.append(Target(what, 10, measured[name].stall))
    return found
