"""NaN and infinities in results: written by name, never silently as null."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from toolweave.executor._results import to_text

NAMES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-9, 9) | st.just("x"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=8,
)


def named(value: Any) -> Any:
    """Return the value with names in place of non-finite numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return next(name for name, each in NAMES.items() if repr(each) == repr(value))
    if isinstance(value, dict):
        return {key: named(item) for key, item in value.items()}
    if isinstance(value, list):
        return [named(item) for item in value]
    return value


@settings(max_examples=effort(60))
@given(VALUES)
def test_every_value_is_kept_and_only_none_is_null(value: Any) -> None:
    text = to_text({"value": value})
    assert json.loads(text, parse_constant=_refuse)["value"] == named(value)


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def test_a_non_finite_result_is_written_by_name() -> None:
    assert [to_text(value) for value in NAMES.values()] == list(NAMES)
