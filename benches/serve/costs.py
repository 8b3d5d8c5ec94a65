"""CPU time, memory and delay that a proxy adds to a stream."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import statistics
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from endpoint import wire
from endpoint.control import provider, send_command
from report import Section, Target
from serve.servers import LITELLM, Proxy, litellm, toolweave
from serve.streams import Reply, Stream, opened

IDLE = 2.0
QUIET = 1.0
"""Seconds without data after which all proxies have passed on what they have."""


@dataclass(frozen=True)
class Case:
    """Proxy and the form of the replies that it passes on."""

    label: str
    form: str
    serve: Callable[[int, str], AbstractContextManager[Proxy]]
    mode: str = "recover"

    @property
    def with_tools(self) -> bool:
        """True if requests have tools."""
        return self.form != "prose"


CASES = (
    Case("LiteLLM, without tools", "prose", litellm),
    Case("`toolweave-serve`, without tools", "prose", toolweave),
    Case("LiteLLM, native call", "native", litellm),
    Case("`toolweave-serve`, native call", "native", toolweave),
    Case("`toolweave-serve`, call as text, recovered", "call", toolweave),
    Case("`toolweave-serve`, call as text, `natural`", "call", toolweave, "natural"),
)
PAIRS = ((0, 1), (2, 3))
"""Positions of cases of both proxies with the same replies, LiteLLM's first."""


@dataclass(frozen=True)
class Size:
    """Numbers of streams and tokens."""

    tokens: int = 300
    tick: float = 0.02
    """Seconds between two tokens of a stream."""
    concurrency: int = 16
    batches: int = 3
    open: tuple[int, ...] = (200, 1_000)
    """Numbers of streams that are open when memory is measured."""
    part: int = 50
    """Number of tokens that these have received."""
    part_tick: float = 0.1

    @property
    def streams(self) -> int:
        """Number of streams of which the CPU time is measured."""
        return self.concurrency * self.batches


QUICK = Size(tokens=100, batches=1, open=(20, 50), part=20)


@dataclass(frozen=True)
class Cost:
    """Cost of a case."""

    cpu: float
    """CPU seconds per stream."""
    memory: list[float]
    """KiB per stream, for each number of open streams."""
    delays: list[float]
    """Seconds to the first token, in ascending order."""


class Upstream:
    """Groups of replies of the provider."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._names = map("g{}".format, itertools.count())

    def open(self, form: str, tokens: int, tick: float) -> str:
        """Open a group, and return its name."""
        name = next(self._names)
        send_command(self.port, "open", group=name, form=form, tokens=tokens, tick=tick)
        return name

    def go(self, group: str, **until: int) -> None:
        """Send the replies of a group, or their pieces before a position."""
        send_command(self.port, "go", group=group, **until)


def expected(form: str, tokens: int) -> Reply:
    """Return the reply that a client must receive."""
    call = wire.call_text(0) if form == "call" else ""
    text = "".join(wire.text_tokens(form, tokens)).replace(call, "", 1)
    arguments = json.loads(wire.call_arguments(0))
    return Reply(text, [] if form == "prose" else [(wire.CALL_NAME, arguments)])


def check(came: Reply, reply: Reply) -> None:
    """Raise `AssertionError` unless this is the reply; space around a call may differ."""
    if came.calls != reply.calls or came.text.split() != reply.text.split():
        message = f"{came} came where the reply was {reply}"
        raise AssertionError(message)


async def batch(case: Case, proxy: Proxy, upstream: Upstream, size: Size) -> None:
    """Read streams at once, and check what was received."""
    group = upstream.open(case.form, size.tokens, size.tick)
    streams = await asyncio.gather(
        *[opened(proxy.port, group, with_tools=case.with_tools) for _ in range(size.concurrency)]
    )
    await asyncio.gather(*[stream.begin() for stream in streams])
    upstream.go(group)
    reply = expected(case.form, size.tokens)
    for came in await asyncio.gather(*[stream.reply() for stream in streams]):
        check(came, reply)


async def cpu_per_stream(case: Case, proxy: Proxy, upstream: Upstream, size: Size) -> float:
    """Return the CPU seconds of a stream, without those of an idle process."""
    clock = asyncio.get_running_loop().time
    await batch(case, proxy, upstream, size)
    before = proxy.cpu()
    await asyncio.sleep(IDLE)
    idle = (proxy.cpu() - before) / IDLE
    before, begun = proxy.cpu(), clock()
    for _ in range(size.batches):
        await batch(case, proxy, upstream, size)
    return (proxy.cpu() - before - idle * (clock() - begun)) / size.streams


async def open_in_turn(
    case: Case, proxy: Proxy, upstream: Upstream, size: Size, count: int
) -> list[Stream]:
    """Open streams one after the other, and send a part of their replies to all of them."""
    group = upstream.open(case.form, size.tokens, size.part_tick)
    streams: list[Stream] = []
    for _ in range(count):
        streams.append(await opened(proxy.port, group, with_tools=case.with_tools))
        await streams[-1].begin()
    upstream.go(group, until=size.part)
    await asyncio.sleep(size.part * size.part_tick)
    received = -1
    while (now := sum(len(stream.received) for stream in streams)) > received:
        received = now
        await asyncio.sleep(QUIET)
    return streams


def delays(streams: list[Stream]) -> list[float]:
    """Return the seconds to the first token, in ascending order."""
    return sorted(stream.first_at - stream.asked_at for stream in streams if stream.first_at)


async def measured(case: Case, proxy: Proxy, upstream: Upstream, size: Size) -> Cost:
    """Measure a case."""
    cpu = await cpu_per_stream(case, proxy, upstream, size)
    before = proxy.memory()
    streams: list[Stream] = []
    memory: list[float] = []
    for count in size.open:
        more = count - len(streams)
        streams += await open_in_turn(case, proxy, upstream, size, more)
        memory.append((proxy.memory() - before) / count / 1024)
    for stream in streams:
        stream.close()
    return Cost(cpu, memory, delays(streams[: size.open[0]]))


async def alone(case: Case, upstream: Upstream, size: Size) -> list[float]:
    """Return the seconds to the first token of the upstream itself."""
    proxy = Proxy(upstream.port)
    streams = await open_in_turn(case, proxy, upstream, size, size.open[0])
    for stream in streams:
        stream.close()
    return delays(streams)


def percentile_95(ascending: list[float]) -> float:
    """Return the 95th percentile."""
    return statistics.quantiles(ascending, n=20)[-1]


def run(*, quick: bool = False) -> Section:
    """Measure all cases, one after the other, with one upstream."""
    size = QUICK if quick else Size()
    load = os.getloadavg()[0]
    rows: list[list[str]] = []
    costs: list[Cost] = []
    with provider() as port:
        upstream = Upstream(port)
        for case in CASES:
            print(f"serve: {case.label}", file=sys.stderr)
            with case.serve(port, case.mode) as proxy:
                direct = asyncio.run(alone(case, upstream, size))
                cost = asyncio.run(measured(case, proxy, upstream, size))
            costs.append(cost)
            added = statistics.median(cost.delays) - statistics.median(direct)
            added_late = percentile_95(cost.delays) - percentile_95(direct)
            rows.append(
                [
                    case.label,
                    f"{cost.cpu / size.tokens * 1e6:,.1f}",
                    f"{cost.cpu * 1e3:,.2f}",
                    f"{1 / cost.cpu:,.1f}",
                    *(f"{memory:,.0f}" for memory in cost.memory),
                    f"{added * 1e3:.1f}; {added_late * 1e3:.1f}",
                ]
            )
    return Section("Proxies", note(size, load), header(size), rows, targets(costs, size))


def header(size: Size) -> list[str]:
    """Return the names of the columns."""
    return [
        "",
        "CPU us per token",
        "CPU ms per stream",
        "streams per CPU second",
        *(f"{count:,} streams, KiB" for count in size.open),
        "added to the first token, ms: median; p95",
    ]


def note(size: Size, load: float) -> str:
    """Return how this was measured."""
    return (
        f"One upstream replays replies of {size.tokens} tokens of 4 characters, each in a chunk of "
        f"about 300 bytes, {size.concurrency} at once with a token every {size.tick * 1e3:g} ms: "
        "prose; prose with a native call; prose with a call in the text. Beside the upstream runs "
        f"one proxy at a time, LiteLLM {litellm_version()} or `toolweave-serve`, as a process with "
        "one worker and its own log, over the loopback. What clients receive is compared with what "
        f"was sent. CPU is user and system time of the proxy's process for {size.streams} streams "
        "after as many as run at once, without that of the idle process. Memory is the growth of "
        "the resident memory per stream, once the streams have received "
        f"{size.part + 1} tokens and wait for the rest. The last column is the time from a request "
        f"to its first token, less that of the upstream alone, of {size.open[0]} requests one "
        "after the other. Times depend on what else the machine does, CPU hardly; the load before "
        f"was {load:.1f} on {os.cpu_count()} cores."
    )


def litellm_version() -> str:
    """Return the version of LiteLLM in its environment."""
    names = (
        re.match(r"litellm-([\d.]+)\.dist-info", path.name)
        for path in LITELLM.parents[1].glob("lib/*/site-packages/litellm-*.dist-info")
    )
    return next(name[1] for name in names if name)


def targets(costs: list[Cost], size: Size) -> list[Target]:
    """Return the targets relative to LiteLLM, and those of memory."""
    found: list[Target] = []
    for peer, case_at in PAIRS:
        what = f"{CASES[case_at].label}: CPU per stream, relative to LiteLLM"
        found.append(Target(what, 0.05, costs[case_at].cpu / costs[peer].cpu))
    for case, cost in zip(CASES, costs, strict=True):
        if case.serve is toolweave:
            what = f"{case.label}: KiB per stream, {size.open[-1]:,} streams"
            found.append(Target(what, 64, cost.memory[-1]))
    return found
