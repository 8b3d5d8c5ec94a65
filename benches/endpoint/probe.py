"""What a process takes: CPU time, memory, and turns of its event loop that come late."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from dataclasses import dataclass

PAUSE = 0.001
MARK = "os_getloadavg"
"""The function in C by which a profiler sees where what is measured begins and ends."""


@dataclass(frozen=True)
class Spent:
    """CPU seconds of a process, all threads, up to a moment."""

    user: float
    system: float
    at: float

    @classmethod
    def now(cls) -> Spent:
        """Up to now."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return cls(usage.ru_utime, usage.ru_stime, time.monotonic())

    def since(self, before: Spent) -> Spent:
        """What was spent since."""
        return Spent(self.user - before.user, self.system - before.system, self.at - before.at)

    def less(self, idle: Spent) -> Spent:
        """Without what would have been spent all the same, by an idle time before."""
        share = self.at / idle.at
        return Spent(self.user - idle.user * share, self.system - idle.system * share, self.at)


def mark() -> None:
    """Where what is measured begins, or ends."""
    os.getloadavg()


def resident() -> int:
    """Bytes of memory in use; where the system does not say, those at the peak."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * resource.getpagesize()
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Stalls:
    """For how long a task that sleeps a millisecond did not have its turn, at the worst."""

    def __init__(self) -> None:
        self.working = 0.0
        """In CPU seconds of the loop's thread: what others do on a busy machine does not count."""
        self.waiting = 0.0
        """In seconds, beyond the millisecond."""
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
        """Watches no longer."""
        self._task.cancel()
