"""The tables of a store: as migrations make them, and created by one server only."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.schema import CreateSchema

from effort import effort
from stored_runs import driver_url
from toolweave import StoreError
from toolweave.store import MessageStore
from toolweave.store._database import Database
from toolweave.store._tables import REVISION, Tables
from toolweave.store._upgrading import known_revisions, upgrade

T = TypeVar("T")

WORKER = """
import asyncio, sys
from toolweave.store import MessageStore

async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    async with MessageStore(sys.argv[1]) as store:
        await store.create_chat(sys.argv[2])

asyncio.run(main())
"""


def with_connection(url: str, work: Callable[[Connection], T]) -> T:
    async def main() -> T:
        engine = create_async_engine(driver_url(url))
        try:
            async with engine.begin() as connection:
                return await connection.run_sync(work)
        finally:
            await engine.dispose()

    return asyncio.run(main())


def open_once(url: str, **options: Any) -> None:
    async def main() -> None:
        async with MessageStore(url, **options):
            pass

    asyncio.run(main())


def definitions(connection: Connection, prefix: str) -> set[str]:
    """Return the database's definitions of tables and indexes with a prefix, without the prefix."""
    if connection.dialect.name == "sqlite":
        query = f"SELECT sql FROM sqlite_master WHERE tbl_name LIKE '{prefix}%'"
    else:
        query = f"SELECT indexdef FROM pg_indexes WHERE tablename LIKE '{prefix}%'"
    rows = connection.execute(text(query)).scalars()
    return {" ".join(row.replace(prefix, "").split()) for row in rows if row}


def run_migrations(
    connection: Connection, url: str, schema: str | None = None, prefix: str = ""
) -> None:
    """Run all migrations in an empty database, like a store of each earlier version in turn."""
    if schema is not None:
        connection.execute(CreateSchema(schema))
    upgrade(connection, Database(url, schema, prefix))


def options_of(url: str) -> dict[str, Any]:
    return {"schema": "chat_store"} if url.startswith("postgres") else {}


@pytest.mark.parametrize("prefix", ["", "tw_"])
@pytest.mark.parametrize("is_new", [True, False])
def test_new_and_migrated_databases_have_the_tables_as_they_are_described(
    store_url: str, prefix: str, is_new: bool
) -> None:
    options = options_of(store_url)
    if is_new:
        open_once(store_url, table_prefix=prefix, **options)

    def work(connection: Connection) -> None:
        schema = options.get("schema")
        if not is_new:
            run_migrations(connection, store_url, schema, prefix)
        tables = Tables(schema, prefix)
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table": tables.version.name,
                "version_table_schema": schema,
                "include_schemas": schema is not None,
                "include_name": lambda name, kind, _: kind != "schema" or name == schema,
                "compare_server_default": True,
            },
        )
        assert compare_metadata(context, tables.metadata) == []
        names = set(inspect(connection).get_table_names(schema=schema))
        described = [*tables.metadata.tables.values(), tables.version]
        assert names == {table.name for table in described}
        assert context.get_current_revision() == REVISION

    with_connection(store_url, work)
    open_once(store_url, table_prefix=prefix, migrate=False, **options)


def test_new_and_migrated_databases_have_the_same_indexes(store_url: str) -> None:
    # Alembic does not compare the conditions of partial indexes.
    open_once(store_url, table_prefix="new_")

    def work(connection: Connection) -> None:
        run_migrations(connection, store_url, prefix="migrated_")
        new = definitions(connection, "new_")
        assert new == definitions(connection, "migrated_")
        assert any("version" in each for each in new)

    with_connection(store_url, work)


def test_the_last_migration_leads_to_the_described_tables() -> None:
    assert max(known_revisions()) == REVISION


def test_a_table_of_another_program_is_not_used(store_url: str) -> None:
    with_connection(store_url, lambda c: c.execute(text("CREATE TABLE runs (id integer)")))
    with pytest.raises(StoreError, match="runs"):
        open_once(store_url)
    assert with_connection(store_url, lambda c: inspect(c).get_table_names()) == ["runs"]


def test_a_newer_database_is_refused(store_url: str) -> None:
    open_once(store_url)
    newer = text("UPDATE store_version SET version_num = '9999'")
    with_connection(store_url, lambda connection: connection.execute(newer))
    with pytest.raises(StoreError, match=r"newer than this version.*'9999'.*update toolweave"):
        open_once(store_url)


def test_tables_are_not_created_with_migrate_false(store_url: str) -> None:
    with pytest.raises(StoreError, match=r"no tables of a store.*migrate=True"):
        open_once(store_url, migrate=False)
    assert with_connection(store_url, lambda c: inspect(c).get_table_names()) == []
    open_once(store_url)
    open_once(store_url, migrate=False)


def test_stores_with_different_prefixes_are_separate(store_url: str) -> None:
    async def main() -> None:
        # Concurrently on one event loop: migrations have no global state.
        stores = [MessageStore(store_url, table_prefix=prefix) for prefix in ("a_", "b_", "")]
        await asyncio.gather(*(store.__aenter__() for store in stores))
        await asyncio.gather(*(store.create_chat("c") for store in stores))
        await asyncio.gather(*(store.__aexit__(None, None, None) for store in stores))

    asyncio.run(main())


def test_servers_that_start_at_once_create_the_tables_once(store_url: str) -> None:
    servers = effort(4, at_least=2)
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WORKER, store_url, f"c{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(servers)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    # Start all at once: `communicate` would wait for each.
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * servers, errors

    async def chats() -> int:
        async with MessageStore(store_url) as store:
            return len(await store.chats())

    assert asyncio.run(chats()) == servers


def test_schemas_are_of_postgresql_only() -> None:
    with pytest.raises(ValueError, match="schema must be None for SQLite"):
        MessageStore("sqlite://", schema="chat_store")
