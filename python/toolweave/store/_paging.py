"""A page of a chat, reconciled as in the whole chat, without reading all of it.

A message may depend on others: a call on the message with its result, a result on the message with
its call. So the rows around a page are read as well, until every call and result in them is
matched. Messages written by servers are complete: calls and their results are in one message.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, func, select

from .._slices import OFFLOAD_THRESHOLD, in_slices
from ..kinds import MessageKind
from ._reconciliation import Reconciler
from ._records import History, StoredMessage, StoreProblem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

    from .._core import ToolCall
    from ._database import Database
    from ._records import CallOutcome

    OutcomeLoader = Callable[
        [Iterable[tuple[StoredMessage, ToolCall]]],
        Awaitable[dict[tuple[int, str], CallOutcome]],
    ]

_BATCH_SIZE = 100
"""Number of rows read first around a page; doubled each time."""

_CALLS = (MessageKind.TOOLS_CALL.value, MessageKind.TOOLS_AGGREGATE.value)
_RESULTS = (MessageKind.TOOL_RESULT.value,)


class Window:
    """A range of consecutive rows of a chat.

    Args:
        connection: A transaction with a consistent snapshot of the database.
        database: The database.
        chat_id: Id of the chat.
        read: Function that converts a row to a message or a problem.
        after: Sequence number of the message before the window.
    """

    def __init__(
        self,
        connection: AsyncConnection,
        database: Database,
        chat_id: str,
        read: Callable[[Row[Any]], StoredMessage | StoreProblem],
        after: int,
    ) -> None:
        self._connection = connection
        self._table = database.tables.messages
        self._chat_id = chat_id
        self._read = read
        self._low = self._high = after
        self._rows: list[StoredMessage | StoreProblem] = []
        self.at_end = False
        """True if there are no rows after the window."""
        self._at_start = after <= 0
        self._step = _BATCH_SIZE

    async def _reconcile(self) -> Reconciler:
        """Match the calls and results of the messages in the window."""
        stored = [each for each in self._rows if isinstance(each, StoredMessage)]
        problems = [each for each in self._rows if isinstance(each, StoreProblem)]
        if len(stored) > OFFLOAD_THRESHOLD:
            return await asyncio.to_thread(Reconciler, stored, problems)
        return Reconciler(stored, problems)

    async def read_forward(self, limit: int | None) -> None:
        """Extend the window by the rows after it."""
        where = self._table.c.sequence_number > self._high
        found = await self._fetch(where, self._table.c.sequence_number, limit)
        self.at_end = limit is None or len(found) < limit
        self._rows += found
        if found:
            self._high = found[-1].sequence_number

    async def read_backward(self, limit: int) -> None:
        """Extend the window by the rows before it."""
        number = self._table.c.sequence_number
        found = await self._fetch(number <= self._low, number.desc(), limit)
        self._at_start = len(found) < limit
        self._rows[:0] = reversed(found)
        if found:
            self._low = found[-1].sequence_number - 1

    async def complete(self) -> Reconciler:
        """Extend the window until no call or result has its counterpart outside of it."""
        while True:
            reconciler = await self._reconcile()
            number = self._table.c.sequence_number
            if (
                not self.at_end
                and any(reconciler.missing)
                and await self._exists(_RESULTS, number > self._high)
            ):
                await self.read_forward(self._next_step())
            elif (
                not self._at_start
                and reconciler.has_unmatched_results
                and await self._exists(_CALLS, number <= self._low)
            ):
                await self.read_backward(self._next_step())
            else:
                return reconciler

    def _next_step(self) -> int:
        step, self._step = self._step, 2 * self._step
        return step

    async def _exists(self, kinds: tuple[str, ...], where: ColumnElement[bool]) -> bool:
        table = self._table
        statement = select(func.count()).select_from(
            select(table.c.id)
            .where(table.c.chat_id == self._chat_id, where, table.c.kind.in_(kinds))
            .limit(1)
            .subquery()
        )
        return bool((await self._connection.execute(statement)).scalar_one())

    async def _fetch(
        self, where: ColumnElement[bool], order: ColumnElement[Any], limit: int | None
    ) -> list[StoredMessage | StoreProblem]:
        table = self._table
        statement = select(table).where(table.c.chat_id == self._chat_id, where).order_by(order)
        if limit is not None:
            statement = statement.limit(limit)
        rows = await self._connection.execute(statement)
        return [self._read(row) async for row in in_slices(rows)]


async def page(window: Window, outcomes: OutcomeLoader, after: int, limit: int | None) -> History:
    """Read a page of a chat, consistent with the whole chat.

    Args:
        window: An empty window at the start of the page.
        outcomes: Function that returns the outcomes of calls without a result.
        after: Sequence number of the message to start after.
        limit: Maximum number of messages; None for no limit.
    """
    missing = limit
    while True:
        await window.read_forward(missing)
        reconciler = await window.complete()
        known = await outcomes(list(reconciler.missing))
        if reconciler.is_long:
            found = await asyncio.to_thread(reconciler.finish, known)
        else:
            found = reconciler.finish(known)
        chosen = found.page(after, limit)
        if limit is None or window.at_end or len(chosen.stored) >= limit:
            return chosen
        # Messages that cannot be read do not count towards the limit.
        missing = max(limit - len(chosen.stored), _BATCH_SIZE)
