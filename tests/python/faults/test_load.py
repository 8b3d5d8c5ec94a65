"""Many streams of busy chats: every reader receives all events, once and in order."""

from __future__ import annotations

import asyncio
from pathlib import Path

from effort import effort
from killable_servers import TEST_TIMEOUT
from stream_load import Load, apply_load

LOAD = Load(chats=10, readers=20, seconds=effort(3))


def test_every_reader_of_busy_chats_receives_everything_once(
    store_url: str, tmp_path: Path
) -> None:
    outcome = asyncio.run(asyncio.wait_for(apply_load(store_url, tmp_path, LOAD), 2 * TEST_TIMEOUT))
    assert outcome.received == LOAD.readers * outcome.events
    # Each chat runs for the whole time; its throughput does not matter.
    assert outcome.results >= LOAD.chats * LOAD.readers
