"""The store of chats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from ..exceptions import ChatNotFoundError, RunLostError
from ._chats import ChatStore
from ._history import Window
from ._pending import PendingStore
from ._reading import read_events, to_stored
from ._runs import RunStore
from ._watching import Watch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .._core import ToolCall, ToolResult
    from .._messages import Message
    from ._records import History, PendingInput, StoredMessage, StreamEvent, WriteResult
    from ._writing import LockedChat


class MessageStore(ChatStore, RunStore, PendingStore):
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
        draft = await self._draft(chat_id, events, messages, started, finished, pending)

        async def work(locked: LockedChat) -> WriteResult:
            if run_id is not None and owner is not None:
                await locked.check_owner(run_id, owner)
            return await locked.append(draft, run_id, generation_id)

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
            lambda connection: Window(connection, self._tables, chat_id, after).page(limit),
            snapshot=True,
        )

    async def message(self, chat_id: str, message_id: str) -> StoredMessage | None:
        """Return a message as it was written, or None if it does not exist.

        Raises:
            MessageError: The message cannot be read.
        """
        table = self._tables.messages
        statement = select(table).where(table.c.chat_id == chat_id, table.c.id == message_id)
        row = (await self._database.query(statement)).first()
        return None if row is None else to_stored(row)

    async def events(
        self, chat_id: str, *, after: int = 0, limit: int | None = 1000, run_id: str | None = None
    ) -> list[StreamEvent]:
        """Return the events of a chat, in order.

        Args:
            chat_id: Id of the chat.
            after: Sequence number of the event to start after.
            limit: Maximum number of events; None for no limit.
            run_id: Id of the run whose events to return; None for all.
        """
        return await self._database.read(
            lambda connection: read_events(
                connection, self._tables, chat_id, after=after, limit=limit, run_id=run_id
            )
        )

    async def last_event(self, chat_id: str) -> int:
        """Return the sequence number of the last event; 0 if there is none."""
        found = await self.chat(chat_id)
        return 0 if found is None else found.last_event

    def watch(self, chat_id: str) -> Watch:
        """Return an async context manager that watches a chat. Read the chat after entering it."""
        return Watch(self._hub, chat_id)
