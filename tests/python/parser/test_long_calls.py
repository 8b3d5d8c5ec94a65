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
            f'"count": {"9" * 5000}, "count": 1}}',
            f'"more": [{{"a": {"9" * 5000}, "a": 1e999, "a": 1}}]}}',
            '"count": 1e999, "count": 1}',
            '"count": [1, 2}',
            '"tags": "\\ud800"}',
            '"tags": [1] "x": 2}',
            '"count"}',
        ]
    ),
)


tagged = st.lists(
    st.tuples(
        st.sampled_from(["count", "tags", "a/b~", "\N{GRINNING FACE}"]),
        st.text(max_size=9).map(lambda text: (text, json.dumps(text, ensure_ascii=False)))
        | values.filter(lambda value: not isinstance(value, str))
        .map(json.dumps)
        .filter(lambda text: "Infinity" not in text)
        | st.sampled_from(["1e999", "9" * 5000, '[{"a": 1e999}]', "[" * 127 + "]" * 127]),
    ),
    max_size=5,
)
"""Arguments: the name, and text with its JSON, or only the JSON of another value."""


def judged(payload: str) -> Any:
    return only_call(f"<F>{payload}</F>", "natural")


def judged_in_tags(arguments: list[tuple[str, str | tuple[str, str]]]) -> Any:
    parameters = "".join(
        f'<｜DSML｜parameter name="{name}" string="{str(isinstance(value, tuple)).lower()}">'
        f"{value[0] if isinstance(value, tuple) else value}</｜DSML｜parameter>"
        for name, value in arguments
    )
    invoke = f'<｜DSML｜invoke name="F">{parameters}</｜DSML｜invoke>'
    return only_call(f"<｜DSML｜function_calls>{invoke}</｜DSML｜function_calls>", "deepseek_v32")


def only_call(reply: str, dialect: str) -> Any:
    contract = FunctionContract("F", parameters=SCHEMA)
    parser = Parser([contract], deltas=False, dialects=(dialect,))
    events = [*parser.push(reply), *parser.finish()]
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


@settings(max_examples=effort(60))
@given(tagged)
def test_arguments_in_tags_have_the_outcome_of_their_json(
    arguments: list[tuple[str, str | tuple[str, str]]],
) -> None:
    members = ", ".join(
        f"{json.dumps(name, ensure_ascii=False)}: {value[1] if isinstance(value, tuple) else value}"
        for name, value in arguments
    )
    right, call = judged(f"{{{members}}}"), judged_in_tags(arguments)
    assert type(call) is type(right)
    # As text, since the order of the members counts, and `1` is not `1.0`.
    if isinstance(right, tw.ToolCall):
        assert repr((call.arguments, call.repairs)) == repr((right.arguments, right.repairs))
    else:
        assert (call.kind, call.violations) == (right.kind, right.violations)
    long = judged_in_tags([("pad", ("x" * LONG, "")), *arguments])
    short = judged_in_tags([("pad", ("x", "")), *arguments])
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
