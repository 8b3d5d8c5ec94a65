"""An interrupted run keeps the order of writing, wherever it broke off."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
import virtual_time
from effort import effort
from order_of_writing import (
    Piece,
    check_neighbours,
    events_of,
    of_messages,
    order,
    written_replies,
)
from toolweave.lifecycle import StreamReducer
from toolweave.store._interrupted import InterruptedRun


@settings(max_examples=effort(60))
@given(pieces=written_replies(), is_native=st.booleans(), end=st.integers(0, 60))
def test_an_interrupted_run_keeps_the_order_of_writing(
    pieces: list[Piece], is_native: bool, end: int
) -> None:
    events = virtual_time.run(events_of(pieces, is_native=is_native))
    interrupted = InterruptedRun("chat", "run", events[:end], {}, {})
    kept = [message for message in interrupted.messages if message.generation_id == "g"]
    # A native call is complete only when the reply is; one that was cut off is in no message.
    complete = {
        str(call["arguments"]["n"])
        for event in events[:end]
        if event["kind"] == "tools_call"
        for call in event["toolCalls"]
    }
    written = [piece for piece in order(pieces) if piece[0] != "call" or piece[1] in complete]
    seen = order(of_messages(kept))
    assert seen == written[: len(seen)]
    check_neighbours(kept)
    for message in kept:
        if isinstance(message, tw.ToolAggregateMessage):
            calls = [call.id for call in message.tool_calls]
            assert [result.tool_call_id for result in message.tool_results] == calls
    reducer = StreamReducer()
    log = [*events[:end]]
    for number, event in enumerate(interrupted.events, len(log) + 1):
        log.append({**event, "chatId": "chat", "sequenceNumber": number})
    for event in log:
        reducer.push(event)
    assert reducer.snapshot()["problems"] == []
