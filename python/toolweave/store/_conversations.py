"""Conversations of scenes in the database of a store."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy import delete, select, update

from .._checks import check_methods, check_number
from ..conversations import Conversation
from ..exceptions import StoreError
from ._values import checked_id, to_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from sqlalchemy.ext.asyncio import AsyncConnection

    from ._store import MessageStore

_log = logging.getLogger("toolweave.store")


@dataclass
class _LocalLock:
    """The lock of a conversation within this process."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    user_count: int = 0
    """Number of tasks that hold it or wait for it."""
    owner: str | None = None
    """Owner in the database while the lock is held."""


class StoreConversations:
    """A `ConversationStore` for `SceneManager`, in the database of a `MessageStore`.

    Its lock holds across all processes that use the same tables. Within a process, tasks acquire it
    in first-in, first-out order; among processes, the first to ask once it is free acquires it.

    Args:
        store: The store; it must be open while conversations are used.
        lease: Seconds after which the lock of a dead process expires. A live process renews its
            lease for as long as it holds the lock.

    Raises:
        ValueError: `lease` is out of range.
    """

    def __init__(self, store: MessageStore, *, lease: float = 30.0) -> None:
        check_methods("store", store, "a MessageStore", "create_chat", "watch")
        check_number("lease", lease, above=0)
        self._store = store
        self._database = store.database
        self._lease = lease
        self._local_locks: dict[str, _LocalLock] = {}

    def __repr__(self) -> str:
        return f"StoreConversations({self._store!r})"

    async def load(self, key: str) -> Conversation | None:
        """Load a conversation as it was saved last; None if it does not exist.

        Raises:
            StoreError: The stored conversation cannot be read.
        """
        table = self._database.tables.conversations
        statement = select(table.c.conversation_json).where(table.c.key == key)
        found = (await self._database.query(statement)).first()
        if found is None:
            return None
        try:
            return Conversation.from_dict(json.loads(found.conversation_json))
        except (TypeError, ValueError) as error:
            raise StoreError(f"the conversation {key!r} cannot be read: {error}") from error

    async def save(self, conversation: Conversation) -> None:
        """Save a conversation, replacing the one with its key.

        Raises:
            MessageError: The conversation cannot be written as JSON, or is too long.
            StoreError: The lock that was held for it was lost meanwhile.
        """
        key = checked_id(conversation.key, "the key of a conversation")
        table, locks = self._database.tables.conversations, self._database.tables.locks
        text = to_json(conversation.to_dict(), f"the conversation {key!r}", self._store.max_bytes)
        values = {"updated_utc": self._store.now(), "conversation_json": text}
        insert = self._database.insert(table).values(key=key, **values)
        statement = insert.on_conflict_do_update(index_elements=["key"], set_=values)
        local_lock = self._local_locks.get(key)
        owner = None if local_lock is None else local_lock.owner

        async def work(connection: AsyncConnection) -> None:
            if owner is not None:
                held = select(locks.c.owner).where(locks.c.key == key).with_for_update()
                row = (await connection.execute(held)).first()
                if row is None or row.owner != owner:
                    raise StoreError(f"the lock of the conversation {key!r} was lost")
            await connection.execute(statement)

        await self._database.write(work)

    async def delete(self, key: str) -> bool:
        """Delete a conversation.

        Returns:
            True if it existed.
        """
        table = self._database.tables.conversations
        return bool(await self._database.execute(delete(table).where(table.c.key == key)))

    @asynccontextmanager
    async def lock(self, key: str) -> AsyncGenerator[None, None]:
        """Hold the lock of a conversation while it is loaded, continued and saved."""
        checked_id(key, "the key of a conversation")
        local_lock = self._local_locks.setdefault(key, _LocalLock())
        local_lock.user_count += 1
        try:
            async with local_lock.lock, self._acquired(key, local_lock):
                yield
        finally:
            local_lock.user_count -= 1
            if not local_lock.user_count:
                del self._local_locks[key]

    @asynccontextmanager
    async def _acquired(self, key: str, local_lock: _LocalLock) -> AsyncGenerator[None, None]:
        owner = uuid.uuid4().hex
        try:
            is_acquired = await self._try_acquire(key, owner)
            while not is_acquired:
                await asyncio.sleep(self._store.poll)
                is_acquired = await self._try_acquire(key, owner)
            local_lock.owner = owner
            renewing = asyncio.create_task(self._renew(key, owner))
            try:
                yield
            finally:
                renewing.cancel()
                await asyncio.wait([renewing])
        finally:
            local_lock.owner = None
            await self._release(key, owner)

    async def _try_acquire(self, key: str, owner: str) -> bool:
        """Acquire the lock if it is free or its lease has expired; return True if acquired."""
        table = self._database.tables.locks
        now = self._store.now()
        claim = {"owner": owner, "lease_utc": now + round(self._lease * 1000)}
        insert = self._database.insert(table).values(key=key, **claim)
        statement = insert.on_conflict_do_update(
            index_elements=["key"], set_=claim, where=table.c.lease_utc < now
        ).returning(table.c.owner)
        found = await self._database.write(lambda connection: connection.execute(statement))
        return found.first() is not None

    async def _renew(self, key: str, owner: str) -> None:
        table = self._database.tables.locks
        while True:
            await asyncio.sleep(self._lease / 3)
            until = self._store.now() + round(self._lease * 1000)
            statement = (
                update(table)
                .where(table.c.key == key, table.c.owner == owner)
                .values(lease_utc=until)
            )
            try:
                await self._database.execute(statement)
            except StoreError as error:
                _log.warning("a lock cannot be renewed", extra={"error": str(error)})

    async def _release(self, key: str, owner: str) -> None:
        table = self._database.tables.locks
        statement = delete(table).where(table.c.key == key, table.c.owner == owner)
        try:
            await self._database.execute(statement)
        except StoreError as error:
            # The lock is free once its lease has expired.
            _log.warning("a lock cannot be released", extra={"error": str(error)})
