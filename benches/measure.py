"""CPU time of code that is fed token by token, fairly taken.

What is compared runs in the same process, in turns, and the least of several
runs counts: whatever else the machine does can only make a run slower. A
contestant that is too slow for its budget is stopped, and what it managed is a
lower bound.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

Clock = Callable[[], float]


class Session(Protocol):
    """One reply being parsed."""

    def feed(self, tokens: Sequence[str]) -> object:
        """Take some more tokens."""

    def finish(self) -> object:
        """Take the end of the reply."""


Start = Callable[[], Session]


@dataclass(frozen=True)
class Timing:
    """What a contestant took for one reply."""

    seconds: float
    tokens: int
    complete: bool
    """Whether it got through; if not, the time a token is a lower bound."""

    @property
    def per_token(self) -> float:
        """Microseconds a token."""
        return self.seconds / self.tokens * 1e6

    def __str__(self) -> str:
        value = self.per_token
        digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
        return f"{'' if self.complete else '>'}{value:,.{digits}f}"


def run_once(
    start: Start, tokens: Sequence[str], budget: float, clock: Clock = time.process_time
) -> Timing:
    """Feed all tokens, or as many as the budget (CPU seconds) allows."""
    session = start()
    done = 0
    # Looking at the clock costs as much as several tokens: look rarely, unless the
    # contestant is slow.
    block = 16
    begun = before = clock()
    while done < len(tokens):
        piece = tokens[done : done + block]
        session.feed(piece)
        done += len(piece)
        now = clock()
        if now - begun > budget and done < len(tokens):
            return Timing(now - begun, done, complete=False)
        if now - before < 0.005:
            block *= 2
        elif now - before > 0.05:
            block = max(1, block // 2)
        before = now
    session.finish()
    return Timing(clock() - begun, len(tokens), complete=True)


def race(
    contestants: dict[str, Start],
    tokens: Sequence[str],
    *,
    budget: float,
    repeats: int,
    seconds: float = 1.0,
) -> dict[str, Timing]:
    """Run all in turns and keep each one's best.

    At least `repeats` rounds; short runs are repeated until each has had about
    `seconds` of CPU time. Who runs out of budget does not run again.
    """
    best: dict[str, Timing] = {}
    spent = dict.fromkeys(contestants, 0.0)
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for round_number in range(500):
            racing = [
                name
                for name in contestants
                if name not in best
                or (best[name].complete and (round_number < repeats or spent[name] < seconds))
            ]
            if not racing:
                break
            for name in racing:
                timing = run_once(contestants[name], tokens, budget)
                spent[name] += timing.seconds
                if name not in best or timing.seconds < best[name].seconds:
                    best[name] = timing
    finally:
        if collecting:
            gc.enable()
    return best


def slope(timings: Sequence[Timing]) -> float | None:
    """The exponent of growth: 1.0 is linear, 2.0 quadratic; None with fewer than two sizes.

    A least-squares line through the logarithms of time and length.
    """
    points = [(math.log(t.tokens), math.log(t.seconds)) for t in timings if t.complete]
    if len(points) < 2:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
