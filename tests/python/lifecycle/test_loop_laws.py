"""Cost of reducing and encoding the events of a large chat, per byte of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from encoded_runs import EventLog
from loop_watchdog import Watchdog, many
from toolweave import StreamReducer
from toolweave.web.encoders import AgUiEncoder, AiSdkEncoder, Encoder


def many_pieces() -> EventLog:
    log = EventLog().started()
    for number in range(many(4_000)):
        log.text(f"g{number}", 0, "word ", "<é> ")
    return log.finished()


def large_pieces() -> EventLog:
    log = EventLog().started()
    log.text("g", 0, *["word <é> " * 20_000] * many(8))
    return log.finished()


LOGS = {"many pieces": many_pieces, "large pieces": large_pieces}


@pytest.mark.parametrize("made", LOGS.values(), ids=list(LOGS))
def test_a_snapshot(loop_watchdog: Watchdog, made: Callable[[], EventLog]) -> None:
    events = [json.dumps(event) for event in made().events]
    loop_watchdog.input(sum(map(len, events)))

    async def main() -> None:
        reducer = StreamReducer()
        for event in events:
            reducer.push(event)
            await asyncio.sleep(0)
        snapshot = reducer.snapshot()
        await asyncio.sleep(0)
        assert len(reducer.messages()) == len(snapshot["messages"])

    asyncio.run(main())


def agents() -> Encoder:
    return AgUiEncoder(thread_id="t", run_id="r")


@pytest.mark.parametrize("encoder", [AiSdkEncoder, agents])
@pytest.mark.parametrize("made", LOGS.values(), ids=list(LOGS))
def test_encoding(
    loop_watchdog: Watchdog, encoder: Callable[[], Encoder], made: Callable[[], EventLog]
) -> None:
    events: list[dict[str, Any]] = made().events
    loop_watchdog.input(max(len(json.dumps(event)) for event in events))

    async def main() -> None:
        encoding = encoder()
        for event in events:
            encoding.encode(event)
            await asyncio.sleep(0)
        encoding.close()

    asyncio.run(main())
