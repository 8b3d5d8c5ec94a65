"""Types of stream events and snapshots: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import assert_type

from toolweave import Message, StreamReducer, check_stream_event


def make() -> StreamReducer:
    StreamReducer(pending_timeout=None)
    StreamReducer(30)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    return StreamReducer(pending_timeout=30)


def reduce(reducer: StreamReducer, event: Mapping[str, object]) -> tuple[Message, ...]:
    check_stream_event(event)
    assert_type(reducer.push(event), bool)
    assert_type(reducer.push('{"kind": "run"}'), bool)
    reducer.push(b"{}")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(reducer.snapshot(), dict[str, Any])
    assert_type(reducer.snapshot(now=1.5), dict[str, Any])
    assert_type(reducer.missing, list[tuple[int, int]])
    assert_type(reducer.last_sequence_number, int)
    return reducer.messages("run")
