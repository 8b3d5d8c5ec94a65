"""Opening of stores: accepted URLs, errors, and no fallback to another database."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

from postgres_server import PostgresServer, free_port
from stored_runs import driver_url, text, with_store
from toolweave import StoreError
from toolweave.store import MessageStore

SECRET = "s3cr3t"


async def use(store: MessageStore) -> None:
    await store.create_chat("c")
    await asyncio.gather(*(store.write("c", events=[text("a")]) for _ in range(5)))
    assert await store.last_event("c") == 5


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite+aiosqlite://"])
def test_a_store_can_be_in_memory(url: str) -> None:
    with_store(url, use)


def test_a_file_is_made_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "with space.db"
    with_store(f"sqlite:///{path}", use)
    assert path.is_file()

    async def again(store: MessageStore) -> None:
        assert await store.last_event("c") == 5

    with_store(f"sqlite:///{path}", again)


@pytest.mark.parametrize("start", ["postgresql", "postgres", "postgresql+asyncpg"])
def test_postgresql_is_known_by_its_usual_names(postgres_url: str, start: str) -> None:
    with_store(f"{start}:{postgres_url.partition(':')[2]}", use)


def test_an_engine_of_the_caller_is_used_and_left_open(store_url: str) -> None:
    async def main() -> None:
        engine = create_async_engine(driver_url(store_url))
        for _ in range(2):
            async with MessageStore(engine) as store:
                await store.create_chat("c", exist_ok=True)
                await asyncio.gather(*(store.write("c", events=[text("a")]) for _ in range(5)))
        async with engine.connect() as connection:
            found = await connection.exec_driver_sql("SELECT last_event FROM chats")
            assert found.scalar_one() == 10
        await engine.dispose()

    asyncio.run(main())


def test_an_engine_with_another_isolation_serves_as_well(postgres_url: str) -> None:
    async def main() -> None:
        engine = create_async_engine(driver_url(postgres_url), isolation_level="SERIALIZABLE")
        async with MessageStore(engine) as store:
            await use(store)
        await engine.dispose()

    asyncio.run(main())


def test_an_engine_with_one_connection_for_all_serves_as_well() -> None:
    async def main() -> None:
        engine = create_async_engine("sqlite+aiosqlite://", poolclass=StaticPool)
        async with MessageStore(engine) as store:
            await use(store)
        await engine.dispose()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"postgresql://ann:{SECRET}@127.0.0.1:1/chats?password={SECRET}", "cannot be reached"),
        ("sqlite:////nowhere/at/all.db", "failed: unable to open database file"),
        (f"postgresql://ann@127.0.0.1:1/chats?colour={SECRET}", "rejects an option .*'colour'"),
        (f"mysql://ann:{SECRET}@localhost/chats", "SQLite or PostgreSQL"),
        (f"ann:{SECRET}@localhost", "must be like sqlite:///chats.db"),
        (f"postgresql://ann:{SECRET}@localhost:port/chats", "must be like"),
        ("", "must be like"),
    ],
)
def test_an_invalid_url_raises_without_side_effects(
    url: str, message: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG, "toolweave")
    with pytest.raises(StoreError, match=message) as failed:
        with_store(url, use)
    shown = "".join(traceback.format_exception(failed.value))
    assert SECRET not in str(failed.value)
    assert SECRET not in shown
    assert SECRET not in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_password_is_not_repeated(postgres_server: PostgresServer) -> None:
    # The server needs no password, but the user does not exist.
    url = f"postgresql://ann:{SECRET}@127.0.0.1:{postgres_server.port}/postgres"
    with pytest.raises(StoreError, match="ann") as failed:
        with_store(url, use)
    assert not failed.value.transient
    assert SECRET not in "".join(traceback.format_exception(failed.value))


def test_neither_passwords_nor_options_are_shown() -> None:
    store = MessageStore(f"postgresql://ann:{SECRET}@db:5432/chats?ssl=require&token={SECRET}")
    assert repr(store) == "MessageStore('postgresql+asyncpg://ann:***@db:5432/chats')"


def test_texts_are_in_no_error_and_in_no_log(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "toolweave")

    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.write("c", events=[text(SECRET)])
        async with store.database.engine.begin() as connection:
            await connection.exec_driver_sql("DROP TABLE events")
        with pytest.raises(StoreError, match="events") as failed:
            await store.write("c", events=[text(SECRET)])
        assert SECRET not in "".join(traceback.format_exception(failed.value))

    with_store(store_url, scenario)
    assert SECRET not in caplog.text


def test_a_store_is_used_inside_a_block_only(store_url: str) -> None:
    async def main() -> None:
        store = MessageStore(store_url)
        with pytest.raises(StoreError, match="async with"):
            await store.create_chat("c")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"poll": 0}, "poll"),
        ({"retry_timeout": -1}, "retry_timeout"),
        ({"max_message_bytes": 0}, "max_message_bytes"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MessageStore("sqlite://", **options)


@pytest.mark.parametrize(
    ("missing", "use", "extra"),
    [
        ("sqlalchemy", "import toolweave.store", "store"),
        ("alembic", "import toolweave.store", "store"),
        ("aiosqlite", "import toolweave.store as s; s.MessageStore('sqlite://')", "store"),
        ("asyncpg", "import toolweave.store as s; s.MessageStore('postgres://h/d')", "postgres"),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(missing: str, use: str, extra: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None\n{use}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        f"the package {missing} is not installed; pip install 'toolweave[{extra}]'" in done.stderr
    )


def test_opening_a_store_of_an_unreachable_server_fails_immediately() -> None:
    url = f"postgresql://ann@127.0.0.1:{free_port()}/chats"
    with pytest.raises(StoreError, match="cannot be reached") as failed:
        with_store(url, use, retry_timeout=1000.0)
    assert failed.value.transient
