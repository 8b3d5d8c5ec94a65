"""A client that loses its connection five times a second receives every event in the end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fault_scenarios.dropped_clients import drop, reread_from_start
from killable_servers import TEST_TIMEOUT


@pytest.mark.parametrize("form", ["native", "ag-ui", "ai-sdk"])
def test_a_client_that_is_dropped_repeatedly_receives_everything_once(
    form: str, tmp_path: Path
) -> None:
    dropping = drop(f"sqlite:///{tmp_path / 'chats.db'}", tmp_path, form, rounds=15)
    drops, _ = asyncio.run(asyncio.wait_for(dropping, TEST_TIMEOUT))
    assert drops >= 3


def test_a_dropped_client_of_the_ai_sdk_receives_the_run_from_its_start(
    tmp_path: Path,
) -> None:
    starting = reread_from_start(f"sqlite:///{tmp_path / 'chats.db'}", tmp_path, rounds=15)
    times, _ = asyncio.run(asyncio.wait_for(starting, TEST_TIMEOUT))
    assert times >= 3
