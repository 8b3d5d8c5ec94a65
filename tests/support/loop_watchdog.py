"""Measurement of how long callbacks block their event loop, for all loops of a process.

`watching` measures every callback on every `asyncio` loop and raises for those that were too long.
It counts the CPU time of the loop's thread rather than time on the clock, so that a busy machine
fails no test. The garbage collector, which runs when it likes, is left out, and so are callbacks
that import modules, as only the first of its kind does.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from statistics import median
from typing import Any

from toolweave import _core

BUDGET = 0.05
"""Seconds that a callback may take, whatever it is given."""

BYTE = 40e-9
"""Seconds that it may take for each byte of its input, if that is more."""

SLOWNESS = 4 if _core._is_debug_build else 1
"""Slowdown of a debug build of the module, which is not optimized as wheels are."""


def many(number: int) -> int:
    """Return the number, or less for a debug build of the module."""
    return number // (4 if SLOWNESS > 1 else 1)


SAMPLE = random.Random(1).sample(range(20_000), 20_000)
"""Numbers in no order, whose sorting measures the speed of the machine."""
_SAMPLE_SECONDS = 0.002
_MAX_SLOWDOWN = 3.0


def machine_slowdown() -> float:
    """Return how much slower this moment is than an idle core, from 1.0 to 3.0.

    CPU time grows with the load too: other processes share caches, memory and clock speed.
    """

    def sort() -> float:
        began = time.thread_time()
        sorted(SAMPLE)
        return time.thread_time() - began

    return min(max(median(sort() for _ in range(5)) / _SAMPLE_SECONDS, 1.0), _MAX_SLOWDOWN)


class LoopBlockedError(AssertionError):
    """A callback blocked the event loop for too long."""


class Watchdog:
    """The times that the callbacks of a test have taken.

    Args:
        allowance: Seconds that each may take in addition to those for its input.
    """

    def __init__(self, allowance: float = BUDGET) -> None:
        self.longest = 0.0
        """Seconds that the longest callback has taken."""
        self.late: list[str] = []
        """Descriptions of the callbacks that took too long."""
        self._budget = allowance * SLOWNESS
        self._others: tuple[str, ...] = ()

    def leave_out(self, *tasks: str) -> None:
        """Ignore tasks whose names have these prefixes: those of other packages."""
        self._others += tasks

    def owns(self, handle: asyncio.Handle) -> bool:
        """Return true if a callback is measured."""
        owner = getattr(handle._callback, "__self__", None)
        return not (
            self._others
            and isinstance(owner, asyncio.Task)
            and owner.get_name().startswith(self._others)
        )

    def input(self, size: int) -> None:
        """Extend the budget for an input of so many bytes."""
        self._budget = max(self._budget, BYTE * size * SLOWNESS)

    def took(self, seconds: float, describe: Callable[[], str]) -> None:
        """Record a callback."""
        self.longest = max(self.longest, seconds)
        if seconds <= self._budget:
            return
        budget = self._budget * machine_slowdown()
        if seconds > budget:
            self.late.append(f"{1000 * seconds:.0f} ms of {1000 * budget:.0f} ms: {describe()}")

    def check(self) -> None:
        """Raise for callbacks that took too long.

        Raises:
            LoopBlockedError: There are such callbacks.
        """
        late, self.late = self.late, []
        if late:
            shown = "\n  ".join(late[:10])
            raise LoopBlockedError(f"callbacks held their event loop for too long:\n  {shown}")


# Every loop written in Python calls this method for each callback.
_METHOD = "_run"
_run: Callable[[asyncio.Handle], None] = getattr(asyncio.Handle, _METHOD)
_current: list[Watchdog] = []
_collecting = threading.local()


@contextmanager
def watching(watchdog: Watchdog) -> Generator[Watchdog]:
    """Measure all callbacks of this process while the block runs; the innermost block counts."""
    _current.append(watchdog)
    if len(_current) == 1:
        setattr(asyncio.Handle, _METHOD, _measured)
        gc.callbacks.append(_collected)
    try:
        yield watchdog
    finally:
        _current.remove(watchdog)
        if not _current:
            setattr(asyncio.Handle, _METHOD, _run)
            gc.callbacks.remove(_collected)


def _measured(handle: asyncio.Handle) -> None:
    before = getattr(_collecting, "seconds", 0.0)
    modules = len(sys.modules)
    began = time.thread_time()
    try:
        _run(handle)
    finally:
        seconds = time.thread_time() - began
        if seconds > 0.001:
            seconds -= getattr(_collecting, "seconds", 0.0) - before
        if _current and len(sys.modules) == modules and _current[-1].owns(handle):
            _current[-1].took(seconds, lambda: _described(handle))


def _collected(phase: str, _: dict[str, int]) -> None:
    if phase == "start":
        _collecting.began = time.thread_time()
    else:
        spent = time.thread_time() - getattr(_collecting, "began", time.thread_time())
        _collecting.seconds = getattr(_collecting, "seconds", 0.0) + spent


@contextmanager
def left_out() -> Generator[None]:
    """Exclude the block, which is work of other packages, from the measurement."""
    began = time.thread_time()
    collected = getattr(_collecting, "seconds", 0.0)
    try:
        yield
    finally:
        _collecting.seconds = collected + time.thread_time() - began


def _described(handle: asyncio.Handle) -> str:
    callback: Any = handle._callback
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return f"a step of {owner!r}"
    return repr(callback)
