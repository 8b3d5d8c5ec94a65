"""Rows of pending inputs: results, approvals and answers that any process may deliver."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, get_args

from sqlalchemy import Row, select, update

from .._aio.single_flight import ResultCache
from .._core import ToolCall, Validator
from ..exceptions import SchemaError, StoreError
from ..executor._deferred import Resolution
from ..kinds import Outcome
from ._checks import to_json
from ._damage import (
    DamagedError,
    object_of,
    optional_text,
    pending_call,
    stored_resolution,
    text_of,
)
from ._records import PendingKind, StoredPendingInput, to_datetime

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from ._database import Database

_log = logging.getLogger("toolweave.store")


async def resolve(
    connection: AsyncConnection,
    database: Database,
    chat_id: str,
    key: str,
    resolution: Resolution,
    limit: int,
    now: int,
) -> Outcome:
    """Deliver a pending input of a locked chat; only the first result counts.

    Raises:
        MessageError: The result is too long.
        StoreError: The schema cannot be read; the input stays pending.
        ValidationError: The answer does not match its schema; the input stays pending.
    """
    row = await _find(connection, database, chat_id, key)
    if row is None or row.status == "closed":
        return Outcome.NOT_FOUND
    if row.result_json is not None:
        found, problem = stored_resolution(row)
        is_same = problem is None and _same(found, resolution)
        return Outcome.DUPLICATE if is_same else Outcome.CONFLICT
    if row.schema_json is not None and not resolution.is_error:
        _schema(row).validate(resolution.value)
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
    """Return the result delivered for a key, if any."""
    row = await _find(connection, database, chat_id, key)
    return None if row is None or row.result_json is None else stored_resolution(row)[0]


async def list_pending(
    connection: AsyncConnection, database: Database, chat_id: str
) -> list[StoredPendingInput]:
    """Return the pending inputs of a chat, oldest first."""
    table = database.tables.pending
    statement = (
        select(table)
        .where(
            table.c.chat_id == chat_id,
            # An input with a damaged status counts as pending.
            table.c.status.not_in(["resolved", "closed"]),
            table.c.result_json.is_(None),
        )
        .order_by(table.c.created_utc, table.c.key)
    )
    return [_pending(row) for row in await connection.execute(statement)]


async def key_exists(
    connection: AsyncConnection, database: Database, chat_id: str, key: str
) -> bool:
    """Return True if a key is or was used for a pending input."""
    return await _find(connection, database, chat_id, key) is not None


async def _find(
    connection: AsyncConnection, database: Database, chat_id: str, key: str
) -> Row[Any] | None:
    table = database.tables.pending
    statement = select(table).where(table.c.chat_id == chat_id, table.c.key == key)
    return (await connection.execute(statement)).first()


def _schema(row: Row[Any]) -> Validator:
    """Return the validator of an answer.

    Raises:
        StoreError: The schema cannot be read, so that only an error can be delivered.
    """
    try:
        return Validator(object_of(row.schema_json, "schema_json"))
    except (DamagedError, SchemaError) as error:
        text = f"answers to the question {row.key!r} of the chat {row.chat_id!r} cannot be checked"
        raise StoreError(f"{text}: {_describe(error)}") from error


def _same(one: Resolution, other: Resolution) -> bool:
    # Compared as JSON: in Python 1 and True are equal.
    return one.is_error == other.is_error and ResultCache.key(
        "", {"value": one.value}
    ) == ResultCache.key("", {"value": other.value})


def _pending(row: Row[Any]) -> StoredPendingInput:
    """Convert a row; a damaged one, with its readable columns and a description of the damage."""
    problems: list[str] = []
    kind: PendingKind = row.kind if row.kind in get_args(PendingKind) else "unreadable"
    if kind == "unreadable":
        problems.append("kind is unknown")
    try:
        call = pending_call(row)
    except DamagedError as error:
        problems.append(str(error))
        call = ToolCall(text_of(row.call_id), "", {})
    schema: dict[str, Any] | None = None
    if row.schema_json is not None:
        try:
            schema = object_of(row.schema_json, "schema_json")
        except DamagedError as error:
            problems.append(str(error))
    if problems:
        extra = {"chat_id": row.chat_id, "key": row.key, "error": "; ".join(problems)}
        _log.error("a pending input cannot be read", extra=extra)
    return StoredPendingInput(
        key=text_of(row.key),
        kind=kind,
        call=call,
        run_id=optional_text(row.run_id),
        question=optional_text(row.question),
        schema=schema,
        note=optional_text(row.note),
        chat_id=row.chat_id,
        created=to_datetime(row.created_utc),
        problem=f"the row of the key {row.key!r} is damaged: {'; '.join(problems)}"
        if problems
        else None,
    )


def _describe(error: DamagedError | SchemaError) -> str:
    return str(error) if isinstance(error, DamagedError) else "schema_json is not a JSON Schema"
