"""Results, approvals and answers that somebody is waited for, in whatever process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, select, update

from .._core import ToolCall, Validator
from ..executor.cache import ResultCache
from ..executor.deferred import Resolution
from ..kinds import Outcome
from .checks import object_from, to_json
from .records import StoredPending, moment

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from .database import Database


async def resolve(
    connection: AsyncConnection,
    database: Database,
    chat_id: str,
    key: str,
    resolution: Resolution,
    limit: int,
    now: int,
) -> Outcome:
    """Says what is awaited, in a chat that is locked; only the first result counts.

    Raises:
        MessageError: The result is too long.
        ValidationError: The answer to a question does not fit its schema; it is awaited still.
    """
    row = await _find(connection, database, chat_id, key)
    if row is None or row.status == "closed":
        return Outcome.NOT_FOUND
    if row.result_json is not None:
        is_same = _same(_resolution(row.result_json), resolution)
        return Outcome.DUPLICATE if is_same else Outcome.CONFLICT
    if row.schema_json is not None and not resolution.is_error:
        Validator(object_from(row.schema_json)).validate(resolution.value)
    fields = {"value": resolution.value, "isError": resolution.is_error}
    table = database.tables.pending
    await connection.execute(
        update(table)
        .where(table.c.chat_id == chat_id, table.c.key == key)
        .values(
            status="resolved",
            result_json=to_json(fields, "a result", limit),
            resolved_utc=now,
        )
    )
    return Outcome.RESOLVED


async def resolution(
    connection: AsyncConnection, database: Database, chat_id: str, key: str
) -> Resolution | None:
    """What has come for a key, if it has."""
    row = await _find(connection, database, chat_id, key)
    return None if row is None or row.result_json is None else _resolution(row.result_json)


async def awaited(
    connection: AsyncConnection, database: Database, chat_id: str
) -> list[StoredPending]:
    """What is awaited in a chat, the oldest first."""
    table = database.tables.pending
    statement = (
        select(table)
        .where(table.c.chat_id == chat_id, table.c.status == "awaited")
        .order_by(table.c.created_utc, table.c.key)
    )
    return [_pending(row) for row in await connection.execute(statement)]


async def is_taken(connection: AsyncConnection, database: Database, chat_id: str, key: str) -> bool:
    """Whether something is or was awaited under a key."""
    return await _find(connection, database, chat_id, key) is not None


async def _find(
    connection: AsyncConnection, database: Database, chat_id: str, key: str
) -> Row[Any] | None:
    table = database.tables.pending
    statement = select(table).where(table.c.chat_id == chat_id, table.c.key == key)
    return (await connection.execute(statement)).first()


def _resolution(text: str) -> Resolution:
    found = json.loads(text)
    return Resolution(found["value"], bool(found["isError"]))


def _same(one: Resolution, other: Resolution) -> bool:
    # By their JSON: in Python 1 and True are equal.
    return one.is_error == other.is_error and ResultCache.key(
        "", {"value": one.value}
    ) == ResultCache.key("", {"value": other.value})


def _pending(row: Row[Any]) -> StoredPending:
    call = object_from(row.call_json)
    return StoredPending(
        key=row.key,
        kind=row.kind,
        call=ToolCall(call["id"], call["name"], call["arguments"]),
        run_id=row.run_id,
        question=row.question,
        schema=None if row.schema_json is None else object_from(row.schema_json),
        note=row.note,
        chat_id=row.chat_id,
        created=moment(row.created_utc),
    )
