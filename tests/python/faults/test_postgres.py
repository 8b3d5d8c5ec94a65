"""PostgreSQL that restarts during runs: all operations wait for it, and then continue."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fault_scenarios.restarted_postgres import restart_under
from killable_servers import TEST_TIMEOUT
from postgres_server import PostgresServer


def test_runs_and_streams_go_on_when_postgresql_has_restarted(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    restarting = restart_under(postgres_server, postgres_url, tmp_path, restarts=2, rounds=20)
    asyncio.run(asyncio.wait_for(restarting, TEST_TIMEOUT))
