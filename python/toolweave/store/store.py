"""A store of chats."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING

from ..exceptions import ChatNotFoundError, MessageError, RunLostError
from . import chats, reading, writing
from .checks import checked_id, checked_object, optional_id
from .pending_store import PendingStore
from .records import Chat, History, PendingInput, PurgeResult, StreamEvent, WriteResult
from .run_store import RunStore
from .watching import GONE, Watch

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from typing import Any

    from sqlalchemy.ext.asyncio import AsyncConnection

    from .. import Message, ToolCall, ToolResult
    from .records import StoredMessage
    from .writing import LockedChat


class MessageStore(RunStore, PendingStore):
    """Keeps chats in a database: messages, what happened, runs, calls and what is awaited.

    Use it as an async context manager, on one event loop. Any number of stores, in any number of
    processes, may share a database. A write that was begun is finished although its caller is
    cancelled; all of it is there afterwards, or nothing.

    Args:
        url: Such as ``sqlite:///chats.db``, ``sqlite://`` (in memory) or
            ``postgresql://user:password@host/database``; or an engine, which is not disposed of.
        schema: The schema of the tables, in PostgreSQL; None for the first of the search path.
        table_prefix: What the names of the tables begin with.
        migrate: Whether to make or update the tables when the store is opened.
        clock: The time in seconds since 1970.
        poll: How often to ask whether another process has changed a watched chat, in seconds, where
            the database does not tell.
        patience: For how many seconds to try again where the server is away, as in a restart, or
            where the file is locked when the store is opened.
        max_message_bytes: How long the JSON of a message, an event or an answer may be.

    Raises:
        StoreError: The URL is of no database that is known here, or cannot be read; when the store
            is opened, the database cannot be used.
        ImportError: The driver is not installed; says how to install it.
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
        """Makes a chat.

        Args:
            chat_id: Its id, 1 to 255 characters long; None for a new one.
            user_id: Whose it is.
            metadata: Anything else: a JSON object.
            exist_ok: Whether a chat that is there already is returned as it is, whosever it is.
            max_chats: How many chats the user may have with this one; None for any number.

        Raises:
            ChatLimitError: The user has that many already.
            StoreError: It is there already.
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
        """Makes a chat of what was said elsewhere, in one transaction.

        Args:
            messages: The messages, such as `parse_history` or `from_openai` return them; one
                without an id gets one.
            chat_id: Its id, 1 to 255 characters long; None for a new one.
            user_id: Whose it is.
            metadata: Anything else: a JSON object.

        Raises:
            StoreError: It is there already.
            MessageError: Something is no message, is too long, or of another chat; two messages
                share an id.
        """
        chat_id = uuid.uuid4().hex if chat_id is None else checked_id(chat_id, "chat_id")
        optional_id(user_id, "user_id")
        fields = checked_object({} if metadata is None else metadata, "metadata")
        # What was said elsewhere may be of any length.
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
        """A chat, if there is one."""
        return await self._database.read(
            lambda connection: chats.find(connection, self._database, chat_id)
        )

    async def chats(
        self, *, user_id: str | None = None, limit: int = 100, before: str | None = None
    ) -> list[Chat]:
        """Chats, the newest first.

        Args:
            user_id: Whose; None for everybody's.
            limit: How many.
            before: The id of the last chat that was seen, to go on from.
        """
        return await self._database.read(
            lambda connection: chats.newest(
                connection, self._database, user_id=user_id, limit=limit, before=before
            )
        )

    async def previews(self, chat_ids: Iterable[str]) -> dict[str, str]:
        """The beginning of what a user said first in each chat, for chats without a title.

        Args:
            chat_ids: The chats. One in which no user has said anything is left out.
        """
        wanted = list(chat_ids)
        if not wanted:
            return {}
        return await self._database.read(
            lambda connection: chats.previews(connection, self._database, wanted)
        )

    async def delete_chat(self, chat_id: str) -> bool:
        """Deletes a chat with all that is in it; a run that is active loses its chat.

        The conversation of `StoreConversations` whose key is the id of the chat goes with it.

        Returns:
            Whether there was one.
        """
        gone = await self._database.write(
            lambda connection: chats.remove(connection, self._database, [chat_id])
        )
        self._hub.publish(chat_id, GONE)
        return bool(gone)

    def export_chat(self, chat_id: str) -> AsyncGenerator[str, None]:
        """Everything about a chat, as lines of JSON; none if there is no such chat.

        Each line is an object with a `type`: first the ``chat``, then every ``message``, ``event``,
        ``run``, ``tool_call`` and ``pending_result``.
        """
        return chats.export(self._database, chat_id)

    async def purge(self, older_than: float | timedelta) -> PurgeResult:
        """Deletes the chats, and conversations, that nobody has written to for a time.

        Args:
            older_than: For how long, in seconds. Chats with an active run stay.
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
        """Writes to a chat, in one transaction, with the next numbers of the chat.

        Args:
            chat_id: The chat.
            run_id: The run that writes.
            owner: Its owner; if given, nothing is written unless the run is the owner's.
            generation_id: The reply that `started` and `finished` belong to. Ids of calls are
                unique only within a reply.
            events: Stream events; they get `chatId`, `sequenceNumber` and `timestampUtc`.
            messages: Messages. One whose id is in the chat replaces that one in place; one without
                an id gets one.
            started: Calls whose tool is entered next.
            finished: Calls that have their result, with it.
            pending: What somebody is waited for from now on.

        Raises:
            ChatNotFoundError: There is no such chat.
            RunLostError: The run is not the owner's, or has ended.
            MessageError: Something is no event or message, is too long, or of another chat.
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
        """What was said in a chat, as a history that a provider takes.

        Calls that never got a result get the one that was stored when the tool ended, or one that
        says they were interrupted; those whose result is still to come stay without. What cannot
        be handed out is in `problems`. There is nothing in a chat that does not exist.

        A part is as in the whole chat, and costs what it takes to read that part.

        Args:
            chat_id: The chat.
            after: The number of the message to begin after.
            limit: How many messages.
        """
        return await self._database.read(
            lambda connection: reading.history(
                connection, self._database, chat_id, after=after, limit=limit
            ),
            snapshot=True,
        )

    async def message(self, chat_id: str, message_id: str) -> StoredMessage | None:
        """A message as it was written, if there is one with that id.

        Raises:
            MessageError: It cannot be read.
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
        """What happened in a chat, in order.

        Args:
            chat_id: The chat.
            after: The number of the event to begin after.
            limit: How many events.
            run_id: Only those of this run.
        """
        return await self._database.read(
            lambda connection: reading.events(
                connection, self._database, chat_id, after=after, limit=limit, run_id=run_id
            )
        )

    async def last_event(self, chat_id: str) -> int:
        """The number of the last event; 0 if nothing has happened."""
        found = await self.chat(chat_id)
        return 0 if found is None else found.last_event

    def watch(self, chat_id: str) -> Watch:
        """Hears of changes in a chat: an async context manager. Read after it was entered."""
        return Watch(self._hub, chat_id)


def _first_repeated(ids: Iterable[str | None]) -> str | None:
    known: set[str | None] = set()
    for each in ids:
        if each in known:
            return each
        known.add(each)
    return None
