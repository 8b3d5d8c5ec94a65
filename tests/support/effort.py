"""Effort of the suite: the number of examples of a property and of repetitions of a test.

`TOOLWEAVE_EFFORT` is `quick` (a second interpreter, which would replay the same examples), `normal`
(the gate, and older interpreters before a release), `full` (the default) or `long` (the newest
interpreter before a release).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

FACTORS = {"quick": 0.1, "normal": 0.15, "full": 1.0, "long": 4.0}
EFFORT = os.environ.get("TOOLWEAVE_EFFORT", "full")
if EFFORT not in FACTORS:
    raise ValueError(f"TOOLWEAVE_EFFORT must be one of {', '.join(FACTORS)}, got {EFFORT!r}")


def effort(count: int, at_least: int = 3) -> int:
    """Return the examples, repetitions or seconds for what gets `count` in a full run."""
    return max(min(at_least, count), round(count * FACTORS[EFFORT]))


def subset(values: Sequence[T], at_least: int = 2) -> list[T]:
    """Return the values to try of those of a full run: the first and the last, and some between."""
    count = min(effort(len(values), at_least), len(values))
    return [values[number * (len(values) - 1) // (count - 1)] for number in range(count)]
