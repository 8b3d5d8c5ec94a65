"""Measurements of a process: CPU time, memory, and stalls of its event loop."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from dataclasses import dataclass

PAUSE = 0.001
MARK = "os_getloadavg"
"""C function by which a profiler recognises the start and end of the measurement."""


@dataclass(frozen=True)
class Spent:
    """CPU seconds of all threads of a process, up to a moment."""

    user: float
    system: float
    at: float

    @classmethod
    def now(cls) -> Spent:
        """Return the CPU time up to now."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return cls(usage.ru_utime, usage.ru_stime, time.monotonic())

    def since(self, before: Spent) -> Spent:
        """Return the CPU time since an earlier moment."""
        return Spent(self.user - before.user, self.system - before.system, self.at - before.at)

    def less(self, idle: Spent) -> Spent:
        """Subtract the CPU time of an idle process, in proportion to the duration."""
        share = self.at / idle.at
        return Spent(self.user - idle.user * share, self.system - idle.system * share, self.at)


def mark() -> None:
    """Mark the start or the end of the measurement for a profiler."""
    os.getloadavg()


def resident() -> int:
    """Return the resident memory in bytes; the peak if the current value is unavailable."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * resource.getpagesize()
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Stalls:
    """Longest stall of the event loop, as seen by a task that sleeps for a millisecond."""

    def __init__(self) -> None:
        self.working = 0.0
        """Stall in CPU seconds of the loop's thread, which other processes do not affect."""
        self.waiting = 0.0
        """Stall in seconds of wall-clock time, beyond the millisecond."""
        self._task = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        spent, then = time.thread_time(), time.monotonic()
        while True:
            await asyncio.sleep(PAUSE)
            worked, now = time.thread_time(), time.monotonic()
            self.working = max(self.working, worked - spent)
            self.waiting = max(self.waiting, now - then - PAUSE)
            spent, then = worked, now

    def stop(self) -> None:
        """Stop the measurement."""
        self._task.cancel()
