"""A server that is killed while it runs tools: the next one recovers its runs and continues."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fault_scenarios.killed_servers import kill_at_all_points
from killable_servers import TEST_TIMEOUT


def test_a_server_killed_anywhere_in_a_run_loses_nothing_and_runs_no_tool_twice(
    store_url: str, tmp_path: Path
) -> None:
    asyncio.run(asyncio.wait_for(kill_at_all_points(store_url, tmp_path, 20), TEST_TIMEOUT))
