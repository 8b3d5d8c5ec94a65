"""The store of chats."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING

from ..exceptions import ChatNotFoundError, MessageError, RunLostError
from . import _chats as chats
from . import _reading as reading
from . import _writing as writing
from ._checks import checked_id, checked_object, optional_id
from ._pending_store import PendingStore
from ._records import Chat, History, PendingInput, PurgeResult, StreamEvent, WriteResult
from ._run_store import RunStore
from ._watching import GONE, Watch

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from typing import Any

    from sqlalchemy.ext.asyncio import AsyncConnection

    from .._core import ToolCall, ToolResult
    from .._messages import Message
    from ._records import StoredMessage
    from ._writing import LockedChat


class MessageStore(RunStore, PendingStore):
    """A store of chats in a database: messages, events, runs, calls and pending inputs.

    Use it as an async context manager, on one event loop. Any number of stores, in any number of
    processes, may share a database. A write that has started is completed even if its caller is
    cancelled. Writes are atomic.

    Args:
        url: A URL such as ``sqlite:///chats.db``, ``sqlite://`` (in memory) or
            ``postgresql://user:password@host/database``; or an engine, which the store does not
            dispose of.
        schema: PostgreSQL schema of the tables; None for the first in the search path.
        table_prefix: Prefix of the names of the tables.
        migrate: True to create or update the tables when the store is opened.
        clock: Function that returns the time in seconds since 1970.
        poll: Interval at which to poll for changes to watched chats by other processes, in seconds,
            if the database does not notify.
        retry_timeout: Seconds to keep retrying while the server is unavailable, as during a
            restart, or while the file is locked when the store is opened.
        max_message_bytes: Maximum size of the JSON of a message, an event or an answer.

    Raises:
        StoreError: The URL is malformed, or of an unsupported database. When the store is opened:
            the database cannot be used.
        ImportError: The driver is not installed; the message names the extra.
        ValueError: An option is out of range.
    """

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
        chat_id = uuid.uuid4().hex if chat_id is None else checked_id(chat_id, "chat_id")
        optional_id(user_id, "user_id")
        fields = checked_object({} if metadata is None else metadata, "metadata")
        if max_chats is not None and max_chats < 1:
            raise ValueError(f"max_chats must be at least 1, got {max_chats!r}")
        now = self.now()
        return await self._database.write(
            lambda connection: chats.create(
                connection,
                self._database,
                chat_id,
                now,
                user_id=user_id,
                metadata=fields,
                exist_ok=exist_ok,
                max_chats=max_chats,
            )
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
        chat_id = uuid.uuid4().hex if chat_id is None else checked_id(chat_id, "chat_id")
        optional_id(user_id, "user_id")
        fields = checked_object({} if metadata is None else metadata, "metadata")
        # Imported histories may be of any length.
        draft = await asyncio.to_thread(self._draft, chat_id, (), tuple(messages))
        if (twice := _first_repeated(message.id for message, _ in draft.messages)) is not None:
            raise MessageError(f"two messages have the id {twice!r}")
        now = self.now()

        async def work(connection: AsyncConnection) -> Chat:
            made = await chats.create(
                connection,
                self._database,
                chat_id,
                now,
                user_id=user_id,
                metadata=fields,
                exist_ok=False,
                max_chats=None,
            )
            locked = await writing.lock(connection, self._database, chat_id, now)
            await writing.append(connection, self._database, locked, draft, now)
            return made

        return await self._database.write(work, starts_with_write=True)

    async def chat(self, chat_id: str) -> Chat | None:
        """Return a chat, or None if it does not exist."""
        return await self._database.read(
            lambda connection: chats.find(connection, self._database, chat_id)
        )

    async def chats(
        self, *, user_id: str | None = None, limit: int = 100, before: str | None = None
    ) -> list[Chat]:
        """Return chats, newest first.

        Args:
            user_id: Owner of the chats; None for all users.
            limit: Maximum number of chats.
            before: Id of the last chat of the previous page.
        """
        return await self._database.read(
            lambda connection: chats.newest(
                connection, self._database, user_id=user_id, limit=limit, before=before
            )
        )

    async def previews(self, chat_ids: Iterable[str]) -> dict[str, str]:
        """Return the beginning of the first user message of each chat, for chats without a title.

        Args:
            chat_ids: Ids of the chats. Chats without a user message are omitted from the result.
        """
        wanted = list(chat_ids)
        if not wanted:
            return {}
        return await self._database.read(
            lambda connection: chats.previews(connection, self._database, wanted)
        )

    async def delete_chat(self, chat_id: str) -> bool:
        """Delete a chat with its contents; an active run loses its chat.

        The conversation of `StoreConversations` whose key is the id of the chat is deleted as well.

        Returns:
            True if the chat existed.
        """
        gone = await self._database.write(
            lambda connection: chats.remove(connection, self._database, [chat_id])
        )
        self._hub.publish(chat_id, GONE)
        return bool(gone)

    def export_chat(self, chat_id: str) -> AsyncGenerator[str, None]:
        """Export a chat as lines of JSON; no lines if the chat does not exist.

        Each line is an object with a `type`: first the ``chat``, then every ``message``, ``event``,
        ``run``, ``tool_call`` and ``pending_result``.
        """
        return chats.export(self._database, chat_id)

    async def purge(self, older_than: float | timedelta) -> PurgeResult:
        """Delete chats and conversations that have not been written to for a time.

        Args:
            older_than: Minimum time since the last write, in seconds. Chats with an active run are
                kept.
        """
        if isinstance(older_than, timedelta):
            older_than = older_than.total_seconds()
        return await chats.purge(self._database, self.now() - round(older_than * 1000))

    async def write(
        self,
        chat_id: str,
        *,
        run_id: str | None = None,
        owner: str | None = None,
        generation_id: str | None = None,
        events: Iterable[Mapping[str, Any]] = (),
        messages: Iterable[Message] = (),
        started: Iterable[ToolCall] = (),
        finished: Iterable[tuple[ToolCall, ToolResult]] = (),
        pending: Iterable[PendingInput] = (),
    ) -> WriteResult:
        """Write to a chat in one transaction, with the next sequence numbers of the chat.

        Args:
            chat_id: Id of the chat.
            run_id: Id of the run that writes.
            owner: Owner of the run; if given, the write fails unless the run belongs to it.
            generation_id: Id of the reply that `started` and `finished` belong to. Ids of calls are
                unique only within a reply.
            events: Stream events; they get `chatId`, `sequenceNumber` and `timestampUtc`.
            messages: Messages. A message whose id is in the chat replaces that message in place; a
                message without an id gets one.
            started: Calls whose tool is about to be entered.
            finished: Finished calls with their results.
            pending: Inputs that the chat now waits for.

        Raises:
            ChatNotFoundError: The chat does not exist.
            RunLostError: The run does not belong to the owner, or has ended.
            MessageError: An event or a message is invalid, too long, or of another chat.
        """
        draft = await self._draft_async(chat_id, events, messages, started, finished, pending)

        async def work(connection: AsyncConnection, locked: LockedChat, now: int) -> WriteResult:
            if run_id is not None and owner is not None:
                await writing.check_owner(connection, self._database, run_id, owner)
            return await writing.append(
                connection,
                self._database,
                locked,
                draft,
                now,
                run_id=run_id,
                generation_id=generation_id,
            )

        try:
            return await self._transact(
                chat_id, work, len(draft.events), is_durable=not draft.only_events
            )
        except ChatNotFoundError as error:
            if run_id is not None and owner is not None:
                text = f"the chat of the run {run_id!r} was deleted"
                raise RunLostError(text, run_id) from error
            raise

    async def load(self, chat_id: str, *, after: int = 0, limit: int | None = None) -> History:
        """Load the messages of a chat as a history that a provider accepts.

        Calls without a result get the one stored when the tool returned, or one that says that they
        were interrupted; calls whose result is pending stay without one. Messages that cannot be
        returned are listed in `problems`. The history of a chat that does not exist is empty.

        A page is consistent with the whole chat, but only the page and its surroundings are read.

        Args:
            chat_id: Id of the chat.
            after: Sequence number of the message to start after.
            limit: Maximum number of messages; None for no limit.
        """
        return await self._database.read(
            lambda connection: reading.history(
                connection, self._database, chat_id, after=after, limit=limit
            ),
            snapshot=True,
        )

    async def message(self, chat_id: str, message_id: str) -> StoredMessage | None:
        """Return a message as it was written, or None if it does not exist.

        Raises:
            MessageError: The message cannot be read.
        """
        return await self._database.read(
            lambda connection: reading.message(connection, self._database, chat_id, message_id)
        )

    async def events(
        self,
        chat_id: str,
        *,
        after: int = 0,
        limit: int | None = 1000,
        run_id: str | None = None,
    ) -> list[StreamEvent]:
        """Return the events of a chat, in order.

        Args:
            chat_id: Id of the chat.
            after: Sequence number of the event to start after.
            limit: Maximum number of events; None for no limit.
            run_id: Id of the run whose events to return; None for all.
        """
        return await self._database.read(
            lambda connection: reading.events(
                connection, self._database, chat_id, after=after, limit=limit, run_id=run_id
            )
        )

    async def last_event(self, chat_id: str) -> int:
        """Return the sequence number of the last event; 0 if there is none."""
        found = await self.chat(chat_id)
        return 0 if found is None else found.last_event

    def watch(self, chat_id: str) -> Watch:
        """Return an async context manager that watches a chat. Read the chat after entering it."""
        return Watch(self._hub, chat_id)


def _first_repeated(ids: Iterable[str | None]) -> str | None:
    known: set[str | None] = set()
    for each in ids:
        if each in known:
            return each
        known.add(each)
    return None
