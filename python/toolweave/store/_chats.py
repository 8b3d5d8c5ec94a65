"""Creation, listing, export and deletion of chats."""

from __future__ import annotations

import json
import logging
import re
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    LargeBinary,
    Row,
    RowMapping,
    Table,
    Text,
    and_,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

from ..exceptions import ChatLimitError, StoreError
from ._checks import to_json
from ._columns import safe_text
from ._damage import DamagedError, object_of
from ._records import Chat, PurgeResult, to_datetime
from ._watching import GONE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from ._database import Database

_log = logging.getLogger("toolweave.store")

_MAX_METADATA_BYTES = 1 << 20
"""Maximum size of the metadata of a chat, in bytes of JSON."""

MAX_PREVIEW_CHARS = 2_000
"""Number of characters of a message's JSON that are read for its preview."""

_TEXT = re.compile(r'"text"\s*:\s*"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)')
"""Pattern of a text in truncated JSON; it ends before an incomplete escape sequence."""

_BATCH_SIZE = 500
"""Number of rows read or deleted at a time."""


async def create(
    connection: AsyncConnection,
    database: Database,
    chat_id: str,
    now: int,
    *,
    user_id: str | None,
    metadata: dict[str, Any],
    exist_ok: bool,
    max_chats: int | None,
) -> Chat:
    """Create a chat.

    Raises:
        ChatLimitError: The user already has `max_chats` chats.
        MessageError: The metadata is not JSON, or is too long.
        StoreError: The chat already exists, and `exist_ok` is not set.
    """
    row = {
        "id": chat_id,
        "user_id": user_id,
        "created_utc": now,
        "updated_utc": now,
        "last_event": 0,
        "last_message": 0,
        "revision": 0,
        "metadata_json": to_json(metadata, "the metadata of a chat", _MAX_METADATA_BYTES),
    }
    chats = database.tables.chats
    if max_chats is not None and user_id is not None and database.is_postgresql:
        # Transactions that create chats concurrently would not see each other's.
        key = f"{database.channel} {user_id}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(blake2b(key, digest_size=8).digest(), "big", signed=True)
        await connection.execute(select(func.pg_advisory_xact_lock(number)))
    insert = postgresql.insert if database.is_postgresql else sqlite.insert
    statement = insert(chats).values(row).on_conflict_do_nothing().returning(chats.c.id)
    created = (await connection.execute(statement)).first()
    if created is None and not exist_ok:
        raise StoreError(f"the chat {chat_id!r} already exists")
    if created is not None and max_chats is not None and user_id is not None:
        some = select(chats.c.id).where(chats.c.user_id == user_id).limit(max_chats + 1)
        counted = await connection.execute(select(func.count()).select_from(some.subquery()))
        if counted.scalar_one() > max_chats:
            raise ChatLimitError(f"a user can have at most {max_chats} chats", user_id, max_chats)
    found = await find(connection, database, chat_id)
    if found is None:
        raise StoreError(f"the chat {chat_id!r} was deleted while it was created", True)
    return found


async def find(connection: AsyncConnection, database: Database, chat_id: str) -> Chat | None:
    """Return a chat, or None if it does not exist."""
    chats = database.tables.chats
    row = (await connection.execute(select(chats).where(chats.c.id == chat_id))).first()
    return None if row is None else _chat(row)


async def newest(
    connection: AsyncConnection,
    database: Database,
    *,
    user_id: str | None,
    limit: int,
    before: str | None,
) -> list[Chat]:
    """Return chats, newest first."""
    chats = database.tables.chats
    statement = select(chats).order_by(chats.c.created_utc.desc(), chats.c.id.desc()).limit(limit)
    if user_id is not None:
        statement = statement.where(chats.c.user_id == user_id)
    if before is not None:
        last = await find(connection, database, before)
        if last is None:
            return []
        row = select(chats.c.created_utc).where(chats.c.id == before).scalar_subquery()
        statement = statement.where(
            or_(chats.c.created_utc < row, and_(chats.c.created_utc == row, chats.c.id < before))
        )
    return [_chat(row) for row in await connection.execute(statement)]


async def previews(
    connection: AsyncConnection, database: Database, chat_ids: Sequence[str]
) -> dict[str, str]:
    """Return the beginning of the first user message of each chat that has one."""
    chats, messages = database.tables.chats, database.tables.messages
    first = (
        select(func.substr(messages.c.message_json, 1, MAX_PREVIEW_CHARS))
        .where(
            messages.c.chat_id == chats.c.id,
            messages.c.kind == "text",
            messages.c.role == "user",
        )
        .order_by(messages.c.sequence_number)
        .limit(1)
        .scalar_subquery()
    )
    found: dict[str, str] = {}
    for place in range(0, len(chat_ids), _BATCH_SIZE):
        some = chats.c.id.in_(chat_ids[place : place + _BATCH_SIZE])
        rows = await connection.execute(select(chats.c.id, first.label("opening")).where(some))
        found.update({row.id: preview_of(row.opening) for row in rows if row.opening is not None})
    return {chat_id: opening for chat_id, opening in found.items() if opening}


def preview_of(message: str) -> str:
    """Return the text in the beginning of a message's JSON; empty if it is damaged."""
    found = _TEXT.search(message)
    if found is None:
        return ""
    try:
        return safe_text(json.loads(f'"{found[1]}"'))
    except ValueError:
        return ""


async def remove(connection: AsyncConnection, database: Database, chat_ids: list[str]) -> int:
    """Delete chats with their contents."""
    tables = database.tables
    chats = tables.chats
    # Lock the rows of the chats first: current writers have finished then, and later ones find no
    # chat. Rows are deleted explicitly, since the caller's engine may not enforce foreign keys.
    locked = select(chats.c.id).where(chats.c.id.in_(chat_ids)).order_by(chats.c.id)
    ids = [row.id for row in await connection.execute(locked.with_for_update())]
    for table in (tables.messages, tables.events, tables.calls, tables.pending, tables.runs):
        await connection.execute(delete(table).where(table.c.chat_id.in_(ids)))
    # The conversation of a chat goes with it: another chat may be created with the same id.
    conversations = tables.conversations
    await connection.execute(delete(conversations).where(conversations.c.key.in_(ids)))
    await connection.execute(delete(chats).where(chats.c.id.in_(ids)))
    if database.is_postgresql:
        for chat_id in ids:
            notification = func.pg_notify(database.channel, f"{GONE} {chat_id}")
            await connection.execute(select(notification))
    return len(ids)


async def purge(database: Database, before: int) -> PurgeResult:
    """Delete chats and conversations that have not been written to since a time."""
    tables = database.tables
    chats, runs, conversations = tables.chats, tables.runs, tables.conversations
    running = exists().where(runs.c.chat_id == chats.c.id, runs.c.status == "running")
    old = select(chats.c.id).where(chats.c.updated_utc < before, ~running).limit(_BATCH_SIZE)

    async def some_chats(connection: AsyncConnection) -> int:
        found = await connection.execute(old.with_for_update(skip_locked=True))
        return await remove(connection, database, [row.id for row in found])

    async def old_conversations(connection: AsyncConnection) -> int:
        gone = delete(conversations).where(conversations.c.updated_utc < before)
        return (await connection.execute(gone)).rowcount

    count = 0
    while deleted := await database.write(some_chats):
        count += deleted
    return PurgeResult(count, await database.write(old_conversations))


async def export(database: Database, chat_id: str) -> AsyncGenerator[str, None]:
    """Export a chat as lines of JSON."""
    tables = database.tables
    chat = await database.read(lambda connection: find(connection, database, chat_id))
    if chat is None:
        return
    yield _line(
        "chat",
        {
            "chatId": chat.chat_id,
            "userId": chat.user_id,
            "created": chat.created.isoformat(),
            "updated": chat.updated.isoformat(),
            "metadata": chat.metadata,
        },
    )
    for name, table, order in (
        ("message", tables.messages, "sequence_number"),
        ("event", tables.events, "sequence_number"),
        ("run", tables.runs, "id"),
        ("tool_call", tables.calls, "id"),
        ("pending_result", tables.pending, "key"),
    ):
        after: Any = None
        while rows := await database.read(partial(_page, table, chat_id, order, after)):
            for row in rows:
                yield _line(name, _exported(row))
            after = rows[-1][order]


async def _page(
    table: Table, chat_id: str, order: str, after: object, connection: AsyncConnection
) -> Sequence[RowMapping]:
    column = table.c[order]
    statement = select(table).where(table.c.chat_id == chat_id).order_by(column).limit(_BATCH_SIZE)
    if after is not None:
        # Compare with the raw value: a damaged one could not be bound to the column.
        if isinstance(after, bytes):
            last = literal(after, LargeBinary())
        else:
            last = literal(after, Text() if isinstance(after, str) else column.type)
        statement = statement.where(column > last)
    return (await connection.execute(statement)).mappings().all()


def _exported(row: RowMapping) -> dict[str, Any]:
    """Convert a row to a JSON object, with the values of its JSON columns parsed."""
    fields: dict[str, Any] = {}
    for name, value in row.items():
        if value is None:
            continue
        if name.endswith("_json"):
            try:
                fields[name.removesuffix("_json")] = json.loads(value)
                continue
            except (TypeError, ValueError, RecursionError):
                pass  # damaged: exported as text
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        fields[name] = value
    return fields


def _line(kind: str, fields: dict[str, Any]) -> str:
    return json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))


def _chat(row: Row[Any]) -> Chat:
    metadata: dict[str, Any] = {}
    problem: str | None = None
    try:
        metadata = object_of(row.metadata_json, "metadata_json")
    except DamagedError as error:
        problem = f"the row of the chat {row.id!r} is damaged: {error}"
        _log.error("a chat cannot be read", extra={"chat_id": row.id, "error": str(error)})
    return Chat(
        chat_id=row.id,
        user_id=row.user_id,
        created=to_datetime(row.created_utc),
        updated=to_datetime(row.updated_utc),
        last_event=row.last_event,
        last_message=row.last_message,
        metadata=metadata,
        problem=problem,
    )
