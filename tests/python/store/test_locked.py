"""A file locked by others: opening a store waits for the retry timeout, and can be cancelled."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from stored_runs import text, with_store
from toolweave import StoreError
from toolweave.store import MessageStore

SOON = 5.0
"""Seconds far above the expected duration, and far below SQLite's busy timeout of 30 seconds."""


async def use(store: MessageStore) -> None:
    await store.create_chat("c", exist_ok=True)
    await store.write("c", events=[text("a")])


@contextmanager
def held(path: Path, how: str = "EXCLUSIVE") -> Generator[sqlite3.Connection, None, None]:
    """Lock the file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("CREATE TABLE IF NOT EXISTS mine (x)")
        other.execute(f"BEGIN {how}")
        yield other


@pytest.mark.parametrize("is_new", [True, False])
def test_opening_a_locked_file_waits_for_the_retry_timeout(tmp_path: Path, is_new: bool) -> None:
    path = tmp_path / "chats.db"
    if not is_new:
        with_store(f"sqlite:///{path}", use)
    with held(path):
        began = time.monotonic()
        with pytest.raises(StoreError, match="locked") as failed:
            with_store(f"sqlite:///{path}", use, retry_timeout=0.2)
        assert 0.2 <= time.monotonic() - began < SOON
        assert failed.value.transient
    with_store(f"sqlite:///{path}", use, retry_timeout=0.0)


def test_opening_a_locked_file_can_be_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"

    async def main() -> None:
        opening = asyncio.create_task(MessageStore(f"sqlite:///{path}").__aenter__())
        await asyncio.sleep(0.05)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    with held(path):
        began = time.monotonic()
        asyncio.run(main())
        assert time.monotonic() - began < SOON


def test_a_file_that_is_unlocked_in_time_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"

    async def main() -> None:
        with held(path) as other:
            opening = asyncio.create_task(MessageStore(f"sqlite:///{path}").__aenter__())
            await asyncio.sleep(0.25)
            other.execute("ROLLBACK")
        store = await opening
        await use(store)
        # From now on the driver itself waits for locks.
        async with store.database.engine.connect() as connection:
            found = await connection.exec_driver_sql("PRAGMA busy_timeout")
            waits = found.scalar_one()
        await store.__aexit__(None, None, None)
        assert waits == 30_000

    asyncio.run(main())
