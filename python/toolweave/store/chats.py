"""Chats: made, listed, exported and deleted as a whole."""

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
from .checks import to_json
from .columns import safe_text
from .damage import DamagedError, object_of
from .records import Chat, PurgeResult, to_datetime
from .watching import GONE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from .database import Database

_log = logging.getLogger("toolweave.store")

_MAX_METADATA_BYTES = 1 << 20
"""In bytes of JSON."""

MAX_PREVIEW_CHARS = 2_000
"""How much of a message is read for its beginning, in characters of JSON."""

_TEXT = re.compile(r'"text"\s*:\s*"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)')
"""A text in JSON, as far as it goes; what is cut off in the middle of an escape ends before it."""

_BATCH_SIZE = 500
"""How many rows are read or deleted in one go."""


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
    """Makes a chat.

    Raises:
        ChatLimitError: The user has `max_chats` already.
        MessageError: The metadata are no JSON, or too long.
        StoreError: It is there already, and `exist_ok` is not set.
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
        # Of those who make one at once nobody would see the others'.
        key = f"{database.channel} {user_id}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(blake2b(key, digest_size=8).digest(), "big", signed=True)
        await connection.execute(select(func.pg_advisory_xact_lock(number)))
    insert = postgresql.insert if database.is_postgresql else sqlite.insert
    statement = insert(chats).values(row).on_conflict_do_nothing().returning(chats.c.id)
    made = (await connection.execute(statement)).first()
    if made is None and not exist_ok:
        raise StoreError(f"there is a chat {chat_id!r} already")
    if made is not None and max_chats is not None and user_id is not None:
        some = select(chats.c.id).where(chats.c.user_id == user_id).limit(max_chats + 1)
        counted = await connection.execute(select(func.count()).select_from(some.subquery()))
        if counted.scalar_one() > max_chats:
            raise ChatLimitError(f"a user has at most {max_chats} chats", user_id, max_chats)
    found = await find(connection, database, chat_id)
    if found is None:
        raise StoreError(f"the chat {chat_id!r} was deleted while it was made", True)
    return found


async def find(connection: AsyncConnection, database: Database, chat_id: str) -> Chat | None:
    """A chat, if there is one."""
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
    """Chats, the newest first."""
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
    """The beginning of the first text of a user in each chat that has one."""
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
    """The text of a message of which only the beginning was read; empty if it is damaged."""
    found = _TEXT.search(message)
    if found is None:
        return ""
    try:
        return safe_text(json.loads(f'"{found[1]}"'))
    except ValueError:
        return ""


async def remove(connection: AsyncConnection, database: Database, chat_ids: list[str]) -> int:
    """Deletes chats with all that is in them."""
    tables = database.tables
    chats = tables.chats
    # The rows of the chats first: who writes to one has finished then, and who comes later finds
    # nothing. Engines that are not ours may not have foreign keys switched on.
    locked = select(chats.c.id).where(chats.c.id.in_(chat_ids)).order_by(chats.c.id)
    ids = [row.id for row in await connection.execute(locked.with_for_update())]
    for table in (tables.messages, tables.events, tables.calls, tables.pending, tables.runs):
        await connection.execute(delete(table).where(table.c.chat_id.in_(ids)))
    # What scenes have kept of a chat is its own: another one may be made with the same id.
    conversations = tables.conversations
    await connection.execute(delete(conversations).where(conversations.c.key.in_(ids)))
    await connection.execute(delete(chats).where(chats.c.id.in_(ids)))
    if database.is_postgresql:
        for chat_id in ids:
            said = func.pg_notify(database.channel, f"{GONE} {chat_id}")
            await connection.execute(select(said))
    return len(ids)


async def purge(database: Database, before: int) -> PurgeResult:
    """Deletes chats and conversations that nobody has written to since a time."""
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
    """Everything about a chat, as lines of JSON."""
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
        # As the database has it, which may be nothing that could be written there now.
        if isinstance(after, bytes):
            last = literal(after, LargeBinary())
        else:
            last = literal(after, Text() if isinstance(after, str) else column.type)
        statement = statement.where(column > last)
    return (await connection.execute(statement)).mappings().all()


def _exported(row: RowMapping) -> dict[str, Any]:
    """A row with its JSON in place, as it is in the columns otherwise."""
    fields: dict[str, Any] = {}
    for name, value in row.items():
        if value is None:
            continue
        if name.endswith("_json"):
            try:
                fields[name.removesuffix("_json")] = json.loads(value)
                continue
            except (TypeError, ValueError, RecursionError):
                pass  # damaged: as it is
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
