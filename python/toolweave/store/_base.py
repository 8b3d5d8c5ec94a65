"""Common base of the parts of a store."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine

from .._aio.loops import running_loop
from .._checks import check_callable, check_count, check_flag, check_number, check_text, check_type
from .._slices import OFFLOAD_THRESHOLD
from ..exceptions import MessageError
from ._database import Database
from ._drafts import make_draft
from ._migrating import migrate as migrate_tables
from ._watching import Hub
from ._writing import lock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from typing import Any

    from sqlalchemy.ext.asyncio import AsyncConnection
    from typing_extensions import Self

    from .._core import ToolCall, ToolResult
    from .._messages import Message
    from ._drafts import Draft
    from ._records import PendingInput
    from ._writing import LockedChat

_T = TypeVar("_T")
_Event = TypeVar("_Event", bound="Mapping[str, Any]")

_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Default maximum size of the JSON of a message or an event, in bytes."""


class StoreBase:
    """A database with a clock, whose changes to chats are published to watches."""

    def __init__(
        self,
        url: str | URL | AsyncEngine = "sqlite:///chats.db",
        *,
        schema: str | None = None,
        table_prefix: str = "",
        migrate: bool = True,
        clock: Callable[[], float] = time.time,
        poll: float = 0.2,
        retry_timeout: float = 10.0,
        max_message_bytes: int = _MAX_MESSAGE_BYTES,
    ) -> None:
        check_type("url", url, (str, URL, AsyncEngine), "a URL or an engine of SQLAlchemy")
        check_text("schema", schema, none=True)
        check_text("table_prefix", table_prefix)
        check_flag("migrate", migrate)
        check_callable("clock", clock, "a function without arguments")
        check_number("poll", poll, above=0)
        check_number("retry_timeout", retry_timeout, least=0)
        check_count("max_message_bytes", max_message_bytes, 1)
        self._database = Database(url, schema, table_prefix, retry_timeout)
        self._tables = self._database.tables
        self._migrate = migrate
        self._clock = clock
        self._limit = max_message_bytes
        self._poll = poll
        self._hub = Hub(self._database, poll)

    def __repr__(self) -> str:
        return f"MessageStore({str(self._database)!r})"

    @property
    def database(self) -> Database:
        """Database of the store, for other data that is kept in it."""
        return self._database

    async def __aenter__(self) -> Self:
        running_loop()
        async with self._database.opened():
            await migrate_tables(self._database, change=self._migrate)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._hub.close()
        await self._database.close()

    @property
    def poll(self) -> float:
        """Interval at which changes by other processes are polled, in seconds."""
        return self._poll

    @property
    def max_bytes(self) -> int:
        """Maximum size of the JSON of a message, an event or an answer, in bytes."""
        return self._limit

    def now(self) -> int:
        """Return the time in milliseconds since 1970."""
        return round(self._clock() * 1000)

    async def _draft(
        self,
        chat_id: str,
        events: Iterable[Mapping[str, Any]] = (),
        messages: Iterable[Message] = (),
        started: Iterable[ToolCall] = (),
        finished: Iterable[tuple[ToolCall, ToolResult]] = (),
        pending: Iterable[PendingInput] = (),
    ) -> Draft:
        """Prepare a write, in a thread if it is large."""
        events, messages = tuple(events), tuple(messages)
        if len(events) + len(messages) <= OFFLOAD_THRESHOLD:
            return make_draft(chat_id, self._limit, events, messages, started, finished, pending)
        contents = events, messages, tuple(started), tuple(finished), tuple(pending)
        return await asyncio.to_thread(make_draft, chat_id, self._limit, *contents)

    def filter_writable(
        self, chat_id: str, events: Iterable[_Event], messages: Iterable[Message]
    ) -> tuple[list[_Event], list[Message]]:
        """Return the events and messages that can be written, in order.

        Args:
            chat_id: Id of the chat.
            events: Events.
            messages: Messages.
        """

        def fits(events: Iterable[_Event] = (), messages: Iterable[Message] = ()) -> bool:
            try:
                make_draft(chat_id, self._limit, events, messages)
            except (MessageError, TypeError, ValueError):
                return False
            return True

        return (
            [each for each in events if fits(events=[each])],
            [each for each in messages if fits(messages=[each])],
        )

    async def _transact(
        self,
        chat_id: str,
        work: Callable[[LockedChat], Awaitable[_T]],
        events: int = 0,
        *,
        is_durable: bool = True,
    ) -> _T:
        """Run a transaction with the row of a chat locked, then notify the watches of the chat.

        Args:
            chat_id: Id of the chat.
            work: The transaction.
            events: Number of sequence numbers to reserve for events.
            is_durable: True if the change must survive a power failure.
        """

        async def run(connection: AsyncConnection) -> tuple[_T, int]:
            locked = await lock(connection, self._database, chat_id, self.now(), events=events)
            return await work(locked), locked.revision

        found, revision = await self._database.write(
            run, starts_with_write=True, is_durable=is_durable
        )
        self._hub.publish(chat_id, revision)
        return found
