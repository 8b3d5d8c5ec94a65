"""Migration of the tables of earlier versions, by Alembic.

Imported only where there are such tables: Alembic is a part of the time in which a server starts.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from ._database import Database

_FOLDER = Path(__file__).with_name("_migrations")


def upgrade(connection: Connection, database: Database) -> None:
    """Migrate the tables from their revision to the current one, in the current transaction."""

    def steps(revision: Any, _: MigrationContext) -> Sequence[Any]:
        return _scripts()._upgrade_revs("head", revision)  # pyright: ignore[reportPrivateUsage]

    context = MigrationContext.configure(
        connection,
        opts={
            "version_table": database.tables.version.name,
            "version_table_schema": database.schema,
            "target_metadata": database.tables.metadata,
            "fn": steps,
        },
    )
    operations = Operations(context)
    context.run_migrations(op=operations, schema=database.schema, prefix=database.prefix)


@cache
def known_revisions() -> frozenset[str]:
    """Return all revisions that the tables ever had, the current one included."""
    return frozenset(script.revision for script in _scripts().walk_revisions())


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory(_FOLDER)
