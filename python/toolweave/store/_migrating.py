"""Creation of the tables, and migration of those of earlier versions."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sqlalchemy import insert, inspect, select
from sqlalchemy.schema import CreateSchema

from ..exceptions import StoreError
from ._tables import REVISION

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection

    from ._database import Database

_log = logging.getLogger("toolweave.store")


async def migrate(database: Database, *, change: bool) -> None:
    """Create the tables or migrate them to the current revision, if necessary.

    Servers that start at once wait for each other, and one of them changes the tables.

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
        await connection.run_sync(_change, database)

    found = await database.read(read_revision)
    if found == REVISION:
        return
    _check_known(found, database)
    if not change:
        got = "no tables of a store" if found is None else repr(found)
        raise StoreError(
            f"the database {database} must have the tables of revision {REVISION!r}, got {got}; "
            "open it with migrate=True"
        )
    await database.write(work)


def _revision(connection: Connection, database: Database) -> str | None:
    table = database.tables.version
    if not inspect(connection).has_table(table.name, database.schema):
        return None
    return connection.execute(select(table.c.version_num)).scalar()


def _change(connection: Connection, database: Database) -> None:
    # Another server may have migrated while this one waited for the lock.
    before = _revision(connection, database)
    _check_known(before, database)
    if before == REVISION:
        return
    if before is None:
        _create(connection, database)
    else:
        from ._upgrading import upgrade

        upgrade(connection, database)
    _log.info(
        "the tables of a store are up to date",
        extra={"before": before, "revision": REVISION},
    )


def _create(connection: Connection, database: Database) -> None:
    schema = database.schema
    if schema is not None and not inspect(connection).has_schema(schema):
        connection.execute(CreateSchema(schema))
    # A table of that name that is there already is not one of ours, and an error.
    database.tables.metadata.create_all(connection, checkfirst=False)
    database.tables.version.create(connection, checkfirst=False)
    connection.execute(insert(database.tables.version).values(version_num=REVISION))


def _check_known(revision: str | None, database: Database) -> None:
    if revision in (None, REVISION):
        return
    from ._upgrading import known_revisions

    if revision not in known_revisions():
        raise StoreError(
            f"the tables in the database {database} are newer than this version of toolweave: "
            f"the revision must be at most {REVISION!r}, got {revision!r}; update toolweave"
        )
