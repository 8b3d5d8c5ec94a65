"""Hypothesis profiles and garbage collection of all suites."""

from __future__ import annotations

import gc

from hypothesis import HealthCheck, settings

from effort import EFFORT, effort

# Nothing is garbage while tests are imported and collected.
gc.disable()

# The same examples on every machine, and no clock: a property that fails for one
# fails for all. `pytest --hypothesis-profile=explore` goes looking for new ones.
_SHARED = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "derandomized", _SHARED, derandomize=True, database=None, max_examples=effort(60)
)
settings.register_profile("explore", _SHARED, max_examples=5000)
settings.load_profile("derandomized")


def pytest_collection_finish() -> None:
    """Leave what was imported out of garbage collections, and for a change collect less often.

    A collection calls back Hypothesis, and comes by default with every 700 or 2,000 objects.
    """
    gc.freeze()
    if EFFORT in ("quick", "normal"):
        gc.set_threshold(20_000)
    gc.enable()
