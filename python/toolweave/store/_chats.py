"""Operations of a store on chats: creation, import, listing, export and deletion."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import uuid
from datetime import timedelta
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

from ..exceptions import ChatLimitError, MessageError, StoreError
from ._base import StoreBase
from ._damage import DamagedError, object_of
from ._database import BATCH_SIZE, in_batches
from ._drafts import make_draft
from ._records import Chat, PurgeResult, to_datetime
from ._values import checked_id, checked_object, optional_id, safe_text, to_json
from ._watching import GONE
from ._writing import lock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence

    from sqlalchemy import Select
    from sqlalchemy.ext.asyncio import AsyncConnection

    from .._messages import Message

_log = logging.getLogger("toolweave.store")

_MAX_METADATA_BYTES = 1 << 20
"""Maximum size of the metadata of a chat, in bytes of JSON."""

MAX_PREVIEW_CHARS = 2_000
"""Number of characters of a message's JSON that are read for its preview."""

_TEXT = re.compile(r'"text"\s*:\s*"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)')
"""Pattern of a text in truncated JSON; it ends before an incomplete escape sequence."""


class ChatStore(StoreBase):
    """Operations on chats as a whole."""

    async def create_chat(
        self,
        chat_id: str | None = None,
        *,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        exist_ok: bool = False,
        max_chats: int | None = None,
    ) -> Chat:
        """Create a chat.

        Args:
            chat_id: Id of the chat, 1 to 255 characters long; None for a random one.
            user_id: Id of the user who owns it.
            metadata: Metadata, a JSON object.
            exist_ok: True to return an existing chat unchanged, even one of another user.
            max_chats: Maximum number of chats of the user, including this one; None for no limit.

        Raises:
            ChatLimitError: The user already has that many chats.
            StoreError: The chat already exists.
            ValueError: `max_chats` is below 1.
        """
        row = self._new_row(chat_id, user_id, metadata)
        if max_chats is not None and max_chats < 1:
            raise ValueError(f"max_chats must be at least 1, got {max_chats!r}")
        return await self._database.write(
            lambda connection: self._create(connection, row, exist_ok, max_chats)
        )

    async def import_chat(
        self,
        messages: Iterable[Message],
        chat_id: str | None = None,
        *,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Chat:
        """Create a chat from existing messages, in one transaction.

        Args:
            messages: The messages, for example from `parse_history` or `from_openai`. Messages
                without an id get one.
            chat_id: Id of the chat, 1 to 255 characters long; None for a random one.
            user_id: Id of the user who owns it.
            metadata: Metadata, a JSON object.

        Raises:
            StoreError: The chat already exists.
            MessageError: A message is invalid, too long or of another chat, or two messages share
                an id.
        """
        row = self._new_row(chat_id, user_id, metadata)
        # Imported histories may be of any length.
        draft = await asyncio.to_thread(make_draft, row["id"], self._limit, (), tuple(messages))
        if (twice := _first_repeated(message.id for message, _ in draft.messages)) is not None:
            raise MessageError(f"two messages have the id {twice!r}")

        async def work(connection: AsyncConnection) -> Chat:
            made = await self._create(connection, row)
            locked = await lock(connection, self._database, row["id"], row["updated_utc"])
            await locked.append(draft)
            return made

        return await self._database.write(work, starts_with_write=True)

    def _new_row(
        self, chat_id: str | None, user_id: str | None, metadata: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Return the row of a new chat."""
        chat_id = uuid.uuid4().hex if chat_id is None else checked_id(chat_id, "chat_id")
        optional_id(user_id, "user_id")
        fields = checked_object({} if metadata is None else metadata, "metadata")
        now = self.now()
        return {
            "id": chat_id,
            "user_id": user_id,
            "created_utc": now,
            "updated_utc": now,
            "last_event": 0,
            "last_message": 0,
            "revision": 0,
            "metadata_json": to_json(fields, "the metadata of a chat", _MAX_METADATA_BYTES),
        }

    async def _create(
        self,
        connection: AsyncConnection,
        row: dict[str, Any],
        exist_ok: bool = False,
        max_chats: int | None = None,
    ) -> Chat:
        chats, chat_id, user_id = self._tables.chats, row["id"], row["user_id"]
        if max_chats is not None and user_id is not None:
            # Transactions that create chats concurrently would not see each other's.
            await self._database.lock_name(connection, f"{self._database.channel} {user_id}")
        insert = self._database.insert(chats).values(row)
        statement = insert.on_conflict_do_nothing().returning(chats.c.id)
        created = (await connection.execute(statement)).first()
        if created is None and not exist_ok:
            raise StoreError(f"the chat {chat_id!r} already exists")
        if created is not None and max_chats is not None and user_id is not None:
            some = select(chats.c.id).where(chats.c.user_id == user_id).limit(max_chats + 1)
            counted = await connection.execute(select(func.count()).select_from(some.subquery()))
            if counted.scalar_one() > max_chats:
                text = f"a user can have at most {max_chats} chats"
                raise ChatLimitError(text, user_id, max_chats)
        found = (await connection.execute(self._by_id(chat_id))).first()
        if found is None:
            raise StoreError(f"the chat {chat_id!r} was deleted while it was created", True)
        return _chat(found)

    async def chat(self, chat_id: str) -> Chat | None:
        """Return a chat, or None if it does not exist."""
        row = (await self._database.query(self._by_id(chat_id))).first()
        return None if row is None else _chat(row)

    async def chats(
        self, *, user_id: str | None = None, limit: int = 100, before: str | None = None
    ) -> list[Chat]:
        """Return chats, newest first.

        Args:
            user_id: Owner of the chats; None for all users.
            limit: Maximum number of chats.
            before: Id of the last chat of the previous page.
        """
        columns = self._tables.chats.c
        statement = select(self._tables.chats).limit(limit)
        statement = statement.order_by(columns.created_utc.desc(), columns.id.desc())
        if user_id is not None:
            statement = statement.where(columns.user_id == user_id)
        if before is not None:
            # Null if there is no such chat; no chat is older than that.
            last = select(columns.created_utc).where(columns.id == before).scalar_subquery()
            is_same_age = and_(columns.created_utc == last, columns.id < before)
            statement = statement.where(or_(columns.created_utc < last, is_same_age))
        return [_chat(row) for row in await self._database.query(statement)]

    async def previews(self, chat_ids: Iterable[str]) -> dict[str, str]:
        """Return the beginning of the first user message of each chat, for chats without a title.

        Args:
            chat_ids: Ids of the chats. Chats without a user message are omitted from the result.
        """
        chats, messages = self._tables.chats, self._tables.messages
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
        for some in in_batches(list(chat_ids)):
            statement = select(chats.c.id, first.label("opening")).where(chats.c.id.in_(some))
            for row in await self._database.query(statement):
                if row.opening is not None and (preview := preview_of(row.opening)):
                    found[row.id] = preview
        return found

    async def delete_chat(self, chat_id: str) -> bool:
        """Delete a chat with its contents; an active run loses its chat.

        The conversation of `StoreConversations` whose key is the id of the chat is deleted as well.

        Returns:
            True if the chat existed.
        """
        gone = await self._database.write(lambda connection: self._remove(connection, [chat_id]))
        self._hub.publish(chat_id, GONE)
        return bool(gone)

    async def _remove(self, connection: AsyncConnection, chat_ids: list[str]) -> int:
        """Delete chats with their contents."""
        tables, chats = self._tables, self._tables.chats
        # Lock the rows of the chats first: current writers have finished then, and later ones find
        # no chat. Rows are deleted explicitly, since the caller's engine may not enforce foreign
        # keys.
        locked = select(chats.c.id).where(chats.c.id.in_(chat_ids)).order_by(chats.c.id)
        ids = [row.id for row in await connection.execute(locked.with_for_update())]
        for table in (tables.messages, tables.events, tables.calls, tables.pending, tables.runs):
            await connection.execute(delete(table).where(table.c.chat_id.in_(ids)))
        # The conversation of a chat goes with it: another chat may be created with the same id.
        conversations = tables.conversations
        await connection.execute(delete(conversations).where(conversations.c.key.in_(ids)))
        await connection.execute(delete(chats).where(chats.c.id.in_(ids)))
        if self._database.is_postgresql:
            for chat_id in ids:
                notification = func.pg_notify(self._database.channel, f"{GONE} {chat_id}")
                await connection.execute(select(notification))
        return len(ids)

    async def export_chat(self, chat_id: str) -> AsyncGenerator[str, None]:
        """Export a chat as lines of JSON; no lines if the chat does not exist.

        Each line is an object with a `type`: first the ``chat``, then every ``message``, ``event``,
        ``run``, ``tool_call`` and ``pending_result``.
        """
        chat = await self.chat(chat_id)
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
        tables = self._tables
        for name, table, order in (
            ("message", tables.messages, "sequence_number"),
            ("event", tables.events, "sequence_number"),
            ("run", tables.runs, "id"),
            ("tool_call", tables.calls, "id"),
            ("pending_result", tables.pending, "key"),
        ):
            after: Any = None
            while rows := await self._page(table, chat_id, order, after):
                for row in rows:
                    yield _line(name, _exported(row))
                after = rows[-1][order]

    async def _page(
        self, table: Table, chat_id: str, order: str, after: object
    ) -> Sequence[RowMapping]:
        column = table.c[order]
        of_chat = select(table).where(table.c.chat_id == chat_id)
        statement = of_chat.order_by(column).limit(BATCH_SIZE)
        if after is not None:
            # Compare with the raw value: a damaged one could not be bound to the column.
            if isinstance(after, bytes):
                last = literal(after, LargeBinary())
            else:
                last = literal(after, Text() if isinstance(after, str) else column.type)
            statement = statement.where(column > last)
        return (await self._database.query(statement)).mappings().all()

    async def purge(self, older_than: float | timedelta) -> PurgeResult:
        """Delete chats and conversations that have not been written to for a time.

        Args:
            older_than: Minimum time since the last write, in seconds. Chats with an active run are
                kept.
        """
        if isinstance(older_than, timedelta):
            older_than = older_than.total_seconds()
        before = self.now() - round(older_than * 1000)
        tables = self._tables
        chats, runs, conversations = tables.chats, tables.runs, tables.conversations
        running = exists().where(runs.c.chat_id == chats.c.id, runs.c.status == "running")
        old = select(chats.c.id).where(chats.c.updated_utc < before, ~running).limit(BATCH_SIZE)

        async def some_chats(connection: AsyncConnection) -> int:
            found = await connection.execute(old.with_for_update(skip_locked=True))
            return await self._remove(connection, [row.id for row in found])

        count = 0
        while deleted := await self._database.write(some_chats):
            count += deleted
        gone = delete(conversations).where(conversations.c.updated_utc < before)
        return PurgeResult(count, await self._database.execute(gone))

    def _by_id(self, chat_id: str) -> Select[Any]:
        chats = self._tables.chats
        return select(chats).where(chats.c.id == chat_id)


def preview_of(message: str) -> str:
    """Return the text in the beginning of a message's JSON; empty if it is damaged."""
    found = _TEXT.search(message)
    if found is None:
        return ""
    try:
        return safe_text(json.loads(f'"{found[1]}"'))
    except ValueError:
        return ""


def _first_repeated(ids: Iterable[str | None]) -> str | None:
    known: set[str | None] = set()
    for each in ids:
        if each in known:
            return each
        known.add(each)
    return None


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
