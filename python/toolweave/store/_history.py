"""A page of a chat, reconciled as in the whole chat, without reading all of it.

A message may depend on others: a call on the message with its result, a result on the message with
its call. So the rows around a page are read as well, until every call and result in them is
matched. Messages written by servers are complete: calls and their results are in one message.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Row, select

from .._core import ToolResult
from .._slices import OFFLOAD_THRESHOLD, in_slices
from ..exceptions import MessageError
from ..executor._defaults import MAX_RESULT_CHARS
from ..executor._deferred import METADATA as DEFERRED
from ..executor._results import to_text, truncate
from ..kinds import ErrorCode, MessageKind
from ._damage import stored_resolution
from ._reading import call_rows, find_row, outcome, to_stored
from ._reconciliation import Reconciler
from ._records import CallOutcome, History, StoredMessage, StoreProblem
from ._values import safe_text

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

    from .._core import ToolCall
    from ._tables import Tables

_BATCH_SIZE = 100
"""Number of rows read first around a page; doubled each time."""

_MAX_IDS = 500
"""Maximum number of ids in a query; for more, all rows of the chat are read."""

_CALLS = (MessageKind.TOOLS_CALL.value, MessageKind.TOOLS_AGGREGATE.value)
_RESULTS = (MessageKind.TOOL_RESULT.value,)


class Window:
    """A range of consecutive rows of a chat.

    Args:
        connection: A transaction with a consistent snapshot of the database.
        tables: The tables.
        chat_id: Id of the chat.
        after: Sequence number of the message before the window.
    """

    def __init__(
        self, connection: AsyncConnection, tables: Tables, chat_id: str, after: int
    ) -> None:
        self._connection = connection
        self._tables = tables
        self._messages = tables.messages.c
        self._chat_id = chat_id
        self._low = self._high = self._after = max(after, 0)
        self._rows: list[StoredMessage | StoreProblem] = []
        self._at_start = self._low == 0
        self._at_end = False
        self._step = _BATCH_SIZE

    async def page(self, limit: int | None) -> History:
        """Read the page that starts with the window, consistent with the whole chat.

        Args:
            limit: Maximum number of messages; None for no limit.
        """
        missing = limit
        while True:
            await self._read_forward(missing)
            reconciler = await self._complete()
            outcomes = await self._outcomes(list(reconciler.missing))
            if reconciler.is_long:
                found = await asyncio.to_thread(reconciler.finish, outcomes)
            else:
                found = reconciler.finish(outcomes)
            chosen = found.page(self._after, limit)
            if limit is None or self._at_end or len(chosen.stored) >= limit:
                return chosen
            # Messages that cannot be read do not count towards the limit.
            missing = max(limit - len(chosen.stored), _BATCH_SIZE)

    async def _complete(self) -> Reconciler:
        """Extend the window until no call or result has its counterpart outside of it."""
        number = self._messages.sequence_number
        while True:
            reconciler = await self._reconcile()
            if (
                not self._at_end
                and any(reconciler.missing)
                and await self._exists(_RESULTS, number > self._high)
            ):
                await self._read_forward(self._next_step())
            elif (
                not self._at_start
                and reconciler.has_unmatched_results
                and await self._exists(_CALLS, number <= self._low)
            ):
                await self._read_backward(self._next_step())
            else:
                return reconciler

    async def _reconcile(self) -> Reconciler:
        """Match the calls and results of the messages in the window."""
        stored = [each for each in self._rows if isinstance(each, StoredMessage)]
        problems = [each for each in self._rows if isinstance(each, StoreProblem)]
        if len(stored) > OFFLOAD_THRESHOLD:
            return await asyncio.to_thread(Reconciler, stored, problems)
        return Reconciler(stored, problems)

    async def _read_forward(self, limit: int | None) -> None:
        number = self._messages.sequence_number
        found = await self._fetch(number > self._high, number, limit)
        self._at_end = limit is None or len(found) < limit
        self._rows += found
        if found:
            self._high = found[-1].sequence_number

    async def _read_backward(self, limit: int) -> None:
        number = self._messages.sequence_number
        found = await self._fetch(number <= self._low, number.desc(), limit)
        self._at_start = len(found) < limit
        self._rows[:0] = reversed(found)
        if found:
            self._low = found[-1].sequence_number - 1

    def _next_step(self) -> int:
        step, self._step = self._step, 2 * self._step
        return step

    async def _exists(self, kinds: tuple[str, ...], where: ColumnElement[bool]) -> bool:
        columns = self._messages
        statement = select(columns.id).where(
            columns.chat_id == self._chat_id, where, columns.kind.in_(kinds)
        )
        return (await self._connection.execute(statement.limit(1))).first() is not None

    async def _fetch(
        self, where: ColumnElement[bool], order: ColumnElement[Any], limit: int | None
    ) -> list[StoredMessage | StoreProblem]:
        of_chat = self._messages.chat_id == self._chat_id
        statement = select(self._tables.messages).where(of_chat, where).order_by(order).limit(limit)
        rows = await self._connection.execute(statement)
        return [_read(row) async for row in in_slices(rows)]

    async def _outcomes(
        self, missing: list[tuple[StoredMessage, ToolCall]]
    ) -> dict[tuple[int, str], CallOutcome]:
        """Return the outcomes of calls without a result, except for those still pending."""
        if not missing:
            return {}
        connection, chat_id = self._connection, self._chat_id
        runs, pending = self._tables.runs, self._tables.pending
        running = select(runs.c.id).where(runs.c.chat_id == chat_id, runs.c.status == "running")
        active = {row.id for row in await connection.execute(running)}
        statement = select(pending).where(
            pending.c.chat_id == chat_id, pending.c.kind == "deferred"
        )
        ids: list[str] | None = None
        if len(missing) <= _MAX_IDS:
            ids = [call.id for _, call in missing]
            statement = statement.where(pending.c.key.in_([_key(*each) for each in missing]))
        awaited = {row.key: row for row in await connection.execute(statement)}
        rows = await call_rows(connection, self._tables, chat_id, ids=ids)
        outcomes: dict[tuple[int, str], CallOutcome] = {}
        for stored, call in missing:
            place = stored.sequence_number, call.id
            entry = awaited.get(_key(stored, call))
            row = find_row(rows, call, stored.generation_id, stored.run_id)
            if stored.run_id is not None and stored.run_id in active:
                if entry is None and row is not None and row.result_json is not None:
                    outcomes[place] = outcome(call, row)
            elif entry is None or entry.call_id != safe_text(call.id):
                outcomes[place] = outcome(call, row)
            elif entry.result_json is not None:
                outcomes[place] = _late_outcome(call, entry)
        return outcomes


def _read(row: Row[Any]) -> StoredMessage | StoreProblem:
    try:
        return to_stored(row)
    except MessageError as error:
        number, message_id = row.sequence_number, row.id
        text = f"message {number} ({message_id!r}) cannot be read and was omitted: {error}"
        return StoreProblem("unreadable", text, number, message_id)


def _key(stored: StoredMessage, call: ToolCall) -> str:
    """Return the key under which the result of a call is pending, if it is."""
    keys = stored.message.metadata.get(DEFERRED)
    return cast("dict[str, str]", keys).get(call.id, "") if isinstance(keys, dict) else call.id


def _late_outcome(call: ToolCall, row: Row[Any]) -> CallOutcome:
    """Return the outcome of a call whose deferred result was delivered."""
    found, problem = stored_resolution(row)
    result = ToolResult(
        call.id,
        call.name,
        truncate(to_text(found.value), MAX_RESULT_CHARS),
        value=found.value,
        is_error=found.is_error,
        error_code=ErrorCode.TOOL_ERROR if found.is_error else None,
    )
    return CallOutcome(result, problem)
