"""Two servers that write to the same chat: one run at a time, one answer per message."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fault_scenarios.competing_writers import take_turns
from killable_servers import TEST_TIMEOUT


def test_two_servers_that_write_to_one_chat_take_turns(store_url: str, tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(take_turns(store_url, tmp_path, 5), TEST_TIMEOUT))
