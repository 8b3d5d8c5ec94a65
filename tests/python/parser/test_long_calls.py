"""Validation of long calls releases the interpreter and has the same outcome as of short ones."""

from __future__ import annotations

import json
import threading
import time
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
from effort import effort
from toolweave import FunctionContract, Parser, TextDelta, ToolCallUpdate, UpdateReader

LONG = 200_000
"""More bytes than a call that is validated with the interpreter held."""

SCHEMA = {
    "type": "object",
    "properties": {
        "pad": {"type": "string"},
        "count": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)
written = st.one_of(
    values.map(lambda value: json.dumps({"count": 1, "more": value})[1:]),
    values.map(lambda value: json.dumps({"count": value}, ensure_ascii=False)[1:]),
    st.sampled_from(
        [
            '"count": "7", "tags": [1, "a"]}',
            "count: 1, tags: ['a', 'b',],}",
            '"count": True, "other": None}',
            '"count": 123456789012345678901234567890}',
            '"count": 1e999}',
            f'"count": {"9" * 5000}}}',
            '"count": [1, 2}',
            '"tags": "\\ud800"}',
            '"tags": [1] "x": 2}',
            '"count"}',
        ]
    ),
)


def judged(payload: str) -> Any:
    parser = Parser([FunctionContract("F", parameters=SCHEMA)], deltas=False)
    events = [*parser.push(f"<F>{payload}</F>"), *parser.finish()]
    [call] = [each for each in events if isinstance(each, (tw.ToolCall, tw.InvalidToolCall))]
    return call


def without_long_text(call: Any) -> Any:
    """Return a call without the text that makes it long."""
    if isinstance(call, tw.ToolCall):
        rest = {name: value for name, value in call.arguments.items() if name != "pad"}
        # Repairs in that text quote it.
        return repr(rest), [repair for repair in call.repairs if repair.path != "/pad"]
    places = [(each.path, each.keyword, each.expected) for each in call.violations if each.path]
    return call.kind, places


@settings(max_examples=effort(60))
@given(written)
def test_long_and_short_calls_have_the_same_outcome(payload: str) -> None:
    short, long = (judged(f'{{"pad": "{"x" * size}", {payload}') for size in (1, LONG))
    assert without_long_text(long) == without_long_text(short)


@pytest.mark.parametrize("native", [False, True])
def test_a_reader_reports_its_buffered_bytes(native: bool) -> None:
    reader = UpdateReader(Parser(["F"]))
    reader.push(TextDelta("Sure."))
    assert reader.buffered == 0
    text = '{"a": "' + "x" * 1000
    reader.push(ToolCallUpdate("c", 0, "F", text) if native else TextDelta(f"<F>{text}"))
    assert reader.buffered >= 1000


def test_other_threads_run_while_a_long_call_is_validated() -> None:
    reply = '<F>{"a": [' + "1," * 100_000 + "1,]}</F>"

    def push() -> float:
        parser = Parser(["F"], deltas=False)
        begun = time.perf_counter()
        parser.push(reply)
        return time.perf_counter() - begun

    def waits() -> float:
        """Return how long another thread waits for the interpreter during validation of a call."""
        asked, listening = threading.Event(), threading.Event()
        begun: list[float] = []
        waited: list[float] = []

        def wake() -> None:
            listening.set()
            asked.wait()
            waited.append(time.perf_counter() - begun[0])

        thread = threading.Thread(target=wake)
        thread.start()
        listening.wait()
        begun.append(time.perf_counter())
        asked.set()
        push()
        thread.join()
        return waited[0]

    taken = min(push() for _ in range(3))
    assert median(waits() for _ in range(5)) < taken / 4
