"""Insertion of many rows without blocking the event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import insert

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Table
    from sqlalchemy.ext.asyncio import AsyncConnection

_T = TypeVar("_T")

_BATCH_SIZE = 500
"""Maximum number of rows in a statement: SQLAlchemy prepares all of them on the event loop."""


def in_batches(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """Return the parts of a sequence, each small enough for one statement."""
    return (items[start : start + _BATCH_SIZE] for start in range(0, len(items), _BATCH_SIZE))


async def insert_rows(
    connection: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert rows in batches, between which other tasks of the event loop run.

    Args:
        connection: The transaction.
        table: The table.
        rows: The rows, all with the same columns.
    """
    for batch in in_batches(rows):
        await connection.execute(insert(table), batch)
