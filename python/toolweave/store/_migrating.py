"""Creation and migration of the tables."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect
from sqlalchemy.schema import CreateSchema

from ..exceptions import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection

    from ._database import Database

_log = logging.getLogger("toolweave.store")

_FOLDER = Path(__file__).with_name("_migrations")


async def migrate(database: Database, *, change: bool) -> None:
    """Migrate the tables to the current revision, if necessary.

    Servers that start at once wait for each other, and one of them migrates.

    Args:
        database: The database.
        change: True if the tables may be changed.

    Raises:
        StoreError: The tables are newer than this package, or older and must not be changed.
    """

    async def read_revision(connection: AsyncConnection) -> str | None:
        return await connection.run_sync(_revision, database)

    async def work(connection: AsyncConnection) -> None:
        await database.lock_name(connection, f"toolweave {database.schema or ''} {database.prefix}")
        await connection.run_sync(_upgrade, database)

    found = await database.read(read_revision)
    head = _scripts().get_current_head()
    if found == head:
        return
    _check_known(found, database)
    if not change:
        got = "no tables of a store" if found is None else repr(found)
        raise StoreError(
            f"the database {database} must have the tables of revision {head!r}, got {got}; "
            "open it with migrate=True"
        )
    await database.write(work)


def _revision(connection: Connection, database: Database) -> str | None:
    return _context(connection, database).get_current_revision()


def _upgrade(connection: Connection, database: Database) -> None:
    # Another server may have migrated while this one waited for the lock.
    before = _revision(connection, database)
    _check_known(before, database)
    if before == _scripts().get_current_head():
        return
    schema = database.schema
    if schema is not None and not inspect(connection).has_schema(schema):
        connection.execute(CreateSchema(schema))

    def steps(revision: Any, _: MigrationContext) -> Sequence[Any]:
        return _scripts()._upgrade_revs("head", revision)  # pyright: ignore[reportPrivateUsage]

    context = _context(connection, database, fn=steps)
    context.run_migrations(op=Operations(context), schema=schema, prefix=database.prefix)
    _log.info(
        "the tables of a store are up to date",
        extra={"before": before, "revision": _scripts().get_current_head()},
    )


def _context(connection: Connection, database: Database, **options: Any) -> MigrationContext:
    return MigrationContext.configure(
        connection,
        opts={
            "version_table": database.tables.version,
            "version_table_schema": database.schema,
            "target_metadata": database.tables.metadata,
            **options,
        },
    )


def _check_known(revision: str | None, database: Database) -> None:
    if revision is not None and revision not in _known_revisions():
        raise StoreError(
            f"the tables in the database {database} are newer than this version of toolweave: "
            f"the revision must be at most {_scripts().get_current_head()!r}, got {revision!r}; "
            "update toolweave"
        )


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory(_FOLDER)


@cache
def _known_revisions() -> frozenset[str]:
    return frozenset(script.revision for script in _scripts().walk_revisions())
