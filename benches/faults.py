"""Faults and load with real processes, for a minute each: lost events and delays of results.

The scenarios are those of the test suite, which runs them for a few seconds.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from fault_scenarios.competing_writers import take_turns
from fault_scenarios.dropped_clients import drop, reread_from_start
from fault_scenarios.killed_servers import kill_at_all_points
from fault_scenarios.restarted_postgres import restart_under
from postgres_server import PostgresServer
from report import Section
from stream_load import Load, Outcome, apply_load

SECONDS = 60.0
QUICK = 10.0
TIMEOUT = 600.0

Once = Callable[[str, Path, int], Awaitable[tuple[int, int]]]
"""Function that runs one round of a fault, given a fresh database, a folder and the number of the
round. It returns two counts."""


@contextmanager
def database() -> Generator[PostgresServer, None, None]:
    """Run a PostgreSQL server."""
    server = PostgresServer()
    try:
        server.initialise()
        server.start()
        yield server
    finally:
        server.close()


async def repeat(
    once: Once, server: PostgresServer | None, seconds: float
) -> tuple[int, int, int, float]:
    """Repeat a fault for a number of seconds.

    Returns:
        The number of rounds, the sums of both counts, and the duration.
    """
    times = first = second = 0
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        with tempfile.TemporaryDirectory(prefix="toolweave-faults-") as folder:
            url = f"sqlite:///{folder}/chats.db"
            if server is not None:
                url = await asyncio.to_thread(server.create)
            counts = await asyncio.wait_for(once(url, Path(folder), times), TIMEOUT)
        times, first, second = times + 1, first + counts[0], second + counts[1]
    return times, first, second, time.monotonic() - started


def faults(*, quick: bool = False) -> Section:
    """Run all faults at once, since losses are measured, not speed."""
    seconds = QUICK if quick else SECONDS

    async def run() -> list[list[str]]:
        with database() as steady, database() as shaken:
            plans: list[tuple[str, str, PostgresServer | None, Once]] = [
                (
                    f"kill -9 at any point of a run, {name}",
                    "runs killed; events sent",
                    server,
                    lambda url, folder, seed: kill_at_all_points(url, folder, seed),
                )
                for name, server in (("SQLite", None), ("PostgreSQL", steady))
            ]
            plans += [
                (
                    f"two servers write to one chat, {name}",
                    "refused as busy; events sent",
                    server,
                    lambda url, folder, _: take_turns(url, folder, 10),
                )
                for name, server in (("SQLite", None), ("PostgreSQL", steady))
            ]
            plans.append(
                (
                    "PostgreSQL restarted three times under 5 runs",
                    "tools run; events sent",
                    shaken,
                    lambda url, folder, _: restart_under(
                        shaken, url, folder, restarts=3, rounds=60
                    ),
                )
            )
            plans += [
                (
                    f"connection dropped every 200 ms, {form}",
                    "drops; payloads sent",
                    None,
                    lambda url, folder, _, form=form: drop(url, folder, form, 100),  # type: ignore[misc]
                )
                for form in ("native", "ag-ui", "ai-sdk")
            ]
            plans.append(
                (
                    "the same, sent from the start each time, ai-sdk",
                    "drops; payloads sent",
                    None,
                    lambda url, folder, _: reread_from_start(url, folder, 100),
                )
            )
            done = await asyncio.gather(
                *[repeat(once, server, seconds) for _, _, server, once in plans]
            )
            return [
                [what, f"{took:.0f}", str(times), counted, f"{first:,}; {second:,}", "0", "0"]
                for (what, counted, _, _), (times, first, second, took) in zip(
                    plans, done, strict=True
                )
            ]

    return Section(
        "Faults",
        "Real server processes, over HTTP, all rows at once. After each round the events that each "
        "client received are compared with the log, the history with what providers accept, and "
        "the results with what the tools have written to a file; a difference ends the benchmark "
        f"with an error. {machine()}",
        ["", "seconds", "rounds", "counted", "", "lost", "twice"],
        asyncio.run(run()),
    )


def streams(*, quick: bool = False) -> Section:
    """Run many streams of busy chats on one server process."""
    load = Load(50, 20, SECONDS, words=10, pause=0.5)
    if quick:
        load = Load(10, 20, QUICK, words=10, pause=0.5)
    before = machine()

    def on(url: str) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="toolweave-faults-") as folder:
            place = url or f"sqlite:///{folder}/chats.db"
            return asyncio.run(apply_load(place, Path(folder), load, TIMEOUT))

    with database() as server:
        outcomes = {"SQLite": on(""), "PostgreSQL": on(server.create())}
    count = load.chats * load.readers
    rows = []
    for name, came in outcomes.items():
        held = (came.connected - came.idle) / count / 1024
        at_the_end = (came.busy - came.idle) / count / 1024
        figures = [
            f"{came.took:.0f}",
            f"{came.events / came.took:,.0f}",
            f"{came.received / came.took:,.0f}",
            f"{came.results:,}",
            *(f"{seconds * 1000:,.0f}" for seconds in (came.p50, came.p99, came.longest)),
            f"{held:.0f}; {at_the_end:.0f}",
            f"{came.cpu:.0%}",
            "0; 0; 0",
        ]
        rows.append([name, *figures])
    return Section(
        "Streams",
        f"{count:,} connections read {load.chats} chats in which a model writes a word every "
        f"{load.pause:g} s and calls a tool every {load.words} words, for {load.seconds:g} s, on "
        "one server process; the readers are one other process on the same machine. Text is "
        "stored in batches of 50 ms, results at once. The delay of a result is measured from the "
        "end of its tool to the client, in milliseconds, through the database. Memory is that of "
        "the server per stream, once all are connected and at the end (including the chats "
        f"themselves). The processor time is the server's, of one core. {before}",
        [
            "",
            "seconds",
            "events stored/s",
            "events sent/s",
            "results sent",
            "p50",
            "p99",
            "longest",
            "KiB per stream",
            "processor",
            "lost; twice; out of order",
        ],
        rows,
    )


def machine() -> str:
    """Return the load of the machine before the benchmark."""
    return f"Load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores."
