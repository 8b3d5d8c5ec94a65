"""Fair measurement of CPU time of code that is fed token by token.

Contestants run in the same process, in turns, and the minimum of several runs counts, since other
load can only make a run slower. A contestant that exceeds its budget is stopped, and its result is
a lower bound.
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
    """Protocol of a session that parses one reply."""

    def feed(self, tokens: Sequence[str]) -> object:
        """Feed more tokens."""

    def finish(self) -> object:
        """End the reply."""


Start = Callable[[], Session]


@dataclass(frozen=True)
class Timing:
    """Time of a contestant for one reply."""

    seconds: float
    tokens: int
    complete: bool
    """True if it finished within its budget; otherwise the time per token is a lower bound."""

    @property
    def per_token(self) -> float:
        """Microseconds per token."""
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
    # Reading the clock costs as much as several tokens, so it is read rarely, unless the
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
    """Run all contestants in turns and keep the best time of each.

    There are at least `repeats` rounds; short runs are repeated until each has used about
    `seconds` of CPU time. A contestant that exceeds its budget is not run again.
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
    """Return the exponent of growth: 1.0 is linear, 2.0 quadratic; None with fewer than two sizes.

    A least-squares line through the logarithms of time and length.
    """
    points = [(math.log(t.tokens), math.log(t.seconds)) for t in timings if t.complete]
    if len(points) < 2:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
