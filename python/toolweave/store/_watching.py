"""Notification of watches about changes in chats.

Changes in this process are published immediately. For changes by other processes, PostgreSQL
notifies one connection for all watches of a store. Otherwise, and while PostgreSQL does not notify,
the revisions of all watched chats are polled in one query.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from sqlalchemy import select

from .._aio.tasks import cancel_and_wait
from ..exceptions import StoreError
from ._database import in_batches
from ._listening import Listener

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from ._database import Database

_log = logging.getLogger("toolweave.store")

_LISTENING_POLL = 5.0
"""Interval at which chats are polled although PostgreSQL notifies, in seconds: its connection may
be dead without having been closed."""

GONE = -1
"""Revision of a chat that does not exist."""


class Watch:
    """A subscription to the changes of a chat, active once entered; see `MessageStore.watch`.

    Example:
        >>> async def follow(store: MessageStore, chat_id: str) -> None:
        ...     after = 0
        ...     async with store.watch(chat_id) as watch:
        ...         while True:
        ...             for event in await store.events(chat_id, after=after):
        ...                 after = event["sequenceNumber"]
        ...                 print(event)
        ...             await watch.changed()
    """

    def __init__(self, hub: Hub, chat_id: str) -> None:
        self._hub = hub
        self._chat_id = chat_id
        self._event = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self._hub.subscribe(self._chat_id, self)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._hub.unsubscribe(self._chat_id, self)

    @property
    def revision(self) -> int:
        """Number of changes of the chat, as far as the watch was notified."""
        return self._hub.revision(self._chat_id)

    async def changed(self, timeout: float | None = None) -> bool:
        """Wait for a change.

        Changes are new events and messages, a request to stop, an answer, and the deletion of the
        chat. Several changes may be reported as one, and one change may be reported twice.

        Args:
            timeout: Maximum wait, in seconds; None for no limit.

        Returns:
            True if the chat has changed since the last call, or since the watch was entered.
        """
        if not self._event.is_set():
            try:
                await asyncio.wait_for(self._event.wait(), timeout)
            except asyncio.TimeoutError:
                return False
        self._event.clear()
        return True

    def wake(self) -> None:
        """Wake the task that waits for a change."""
        self._event.set()


class Hub:
    """The watches of a store.

    Args:
        database: The database.
        poll: Interval at which changes are polled, in seconds.
    """

    def __init__(self, database: Database, poll: float) -> None:
        self._database = database
        self._poll = poll
        self._watches: dict[str, set[Watch]] = {}
        # The revisions that have been published.
        self._revisions: dict[str, int] = {}
        self._wakeup = asyncio.Event()
        self._listener = Listener(database, self.publish, self._wakeup.set)
        self._task: asyncio.Task[None] | None = None
        self._is_unreachable = False

    async def subscribe(self, chat_id: str, watch: Watch) -> None:
        """Subscribe a watch to the changes of a chat.

        Raises:
            StoreError: The database could not be queried.
        """
        self._watches.setdefault(chat_id, set()).add(watch)
        try:
            if chat_id not in self._revisions:
                found = await self._fetch_revisions([chat_id])
                self._revisions.setdefault(chat_id, found[chat_id])
        except BaseException:
            self.unsubscribe(chat_id, watch)
            raise
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll_changes())

    def unsubscribe(self, chat_id: str, watch: Watch) -> None:
        """Unsubscribe a watch."""
        others = self._watches.get(chat_id, set())
        others.discard(watch)
        if not others:
            self._watches.pop(chat_id, None)
            self._revisions.pop(chat_id, None)

    def revision(self, chat_id: str) -> int:
        """Return the last known revision of a watched chat."""
        return self._revisions.get(chat_id, GONE)

    def publish(self, chat_id: str, revision: int) -> None:
        """Notify the watches of a chat of a change, unless they have been notified already.

        Args:
            chat_id: Id of the chat.
            revision: Its new revision, a number that grows, or `GONE`.
        """
        known = self._revisions.get(chat_id, GONE)
        # Changes of a chat are serialized, so revisions only grow.
        if revision > known or revision == GONE:
            if chat_id in self._watches:
                self._revisions[chat_id] = revision
            self._wake(chat_id)

    def _wake(self, chat_id: str) -> None:
        for watch in self._watches.get(chat_id, ()):
            watch.wake()

    async def close(self) -> None:
        """Stop polling, and wake all watches."""
        if self._task is not None:
            await cancel_and_wait(self._task)
            self._task = None
        await self._listener.close()
        for chat_id in list(self._watches):
            self._wake(chat_id)

    async def _poll_changes(self) -> None:
        while True:
            if self._watches and not self._listener.is_connected:
                await self._listener.connect()
            pause = _LISTENING_POLL if self._listener.is_connected else self._poll
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._wakeup.wait(), max(pause, self._poll))
            self._wakeup.clear()
            await self._check_revisions()

    async def _check_revisions(self) -> None:
        for some in in_batches(list(self._watches)):
            try:
                found = await self._fetch_revisions(some)
            except StoreError as error:
                if not self._is_unreachable:
                    _log.warning("changes cannot be polled", extra={"error": str(error)})
                self._is_unreachable = True
                return
            self._is_unreachable = False
            for chat_id, revision in found.items():
                if chat_id in self._watches and revision != self._revisions.get(chat_id):
                    self._revisions[chat_id] = revision
                    self._wake(chat_id)

    async def _fetch_revisions(self, chat_ids: Sequence[str]) -> dict[str, int]:
        """Return the revisions of chats."""
        chats = self._database.tables.chats
        statement = select(chats.c.id, chats.c.revision).where(chats.c.id.in_(chat_ids))
        rows = await self._database.query(statement, retry=False)
        return {**dict.fromkeys(chat_ids, GONE), **{row.id: row.revision for row in rows}}
