"""The watchdog of event loops reports callbacks that block one, and nothing else."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from loop_watchdog import SAMPLE, LoopBlockedError, Watchdog, machine_slowdown, watching

SHORT, LONG = 0.001, 0.06


def spin(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def by_step(act: Callable[[], object]) -> None:
    async def main() -> None:
        await asyncio.sleep(0)
        act()

    asyncio.run(main())


def by_callback(act: Callable[[], object]) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(act)
        await asyncio.sleep(0)

    asyncio.run(main())


def by_timer(act: Callable[[], object]) -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_later(0, act)
        await asyncio.sleep(0.01)

    asyncio.run(main())


def test_the_speed_of_the_machine_is_measured_by_work() -> None:
    in_order = sum(a < b for a, b in pairwise(SAMPLE))
    assert len(SAMPLE) // 3 < in_order < 2 * len(SAMPLE) // 3
    assert 1.0 <= machine_slowdown() <= 3.0


@pytest.mark.parametrize("way", [by_step, by_callback, by_timer])
def test_a_callback_that_holds_the_loop_is_named(
    way: Callable[[Callable[[], object]], None],
) -> None:
    watchdog = Watchdog(LONG / 2000)
    with watching(watchdog):
        way(lambda: spin(LONG))
    assert watchdog.longest >= LONG
    with pytest.raises(LoopBlockedError, match="main" if way is by_step else "lambda"):
        watchdog.check()
    watchdog.check()


def test_time_that_is_not_spent_on_the_loop_is_not_counted() -> None:
    def collect() -> None:
        # As expensive as a collection may be in a process with a large heap.
        kept = [[number] for number in range(80_000)]
        gc.collect()
        del kept

    async def main() -> None:
        time.sleep(LONG)  # noqa: ASYNC251 - waiting takes no CPU time
        await asyncio.to_thread(spin, LONG)

    watchdog = Watchdog()
    with watching(watchdog):
        asyncio.run(main())
        longest = watchdog.longest
        assert longest < LONG / 2
        before = time.thread_time()
        by_step(collect)
        assert watchdog.longest < time.thread_time() - before
    watchdog.check()


def test_a_large_input_is_allowed_for() -> None:
    watchdog = Watchdog(LONG / 2000)
    watchdog.input(int(1.5 * LONG / 40e-9))
    with watching(watchdog):
        by_step(lambda: spin(LONG))
    watchdog.check()


def test_the_innermost_watchdog_counts() -> None:
    outer, inner = Watchdog(), Watchdog()
    with watching(outer):
        with watching(inner):
            by_step(lambda: spin(LONG))
        by_step(lambda: spin(SHORT))
    assert inner.longest >= LONG > outer.longest
