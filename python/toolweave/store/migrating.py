"""Making and updating the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from .database import Database


async def migrate(database: Database, *, change: bool) -> None:
    """Brings the tables up to date."""

    async def work(connection: AsyncConnection) -> None:
        if change:
            await connection.run_sync(database.tables.metadata.create_all)

    await database.write(work)
