"""Reading of chats: events as they were written, messages as a history."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Row, select

from .._core import ToolResult, check_stream_event, message_from_json
from .._slices import in_slices
from ..exceptions import MessageError
from ..executor import _failure as failure
from ..executor._defaults import MAX_RESULT_CHARS
from ..executor._deferred import METADATA as DEFERRED
from ..executor._results import to_text, truncate
from ..kinds import ErrorCode
from ._columns import safe_text
from ._damage import DamagedError, call_id_of, optional_text, stored_resolution, stored_result
from ._paging import Window, page
from ._records import CallOutcome, History, StoredMessage, StoreProblem, StreamEvent, to_datetime
from ._writing import COLUMN_FIELDS, with_position

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sqlalchemy.ext.asyncio import AsyncConnection

    from .._core import ToolCall
    from ._database import Database

_log = logging.getLogger("toolweave.store")

_MAX_IDS = 500
"""Maximum number of ids in a query; for more, all rows of the chat are read."""

UNREADABLE = "unreadable"
"""Kind of the event that replaces a damaged one."""


async def events(
    connection: AsyncConnection,
    database: Database,
    chat_id: str,
    *,
    after: int,
    limit: int | None,
    run_id: str | None,
) -> list[StreamEvent]:
    """Return the events of a chat, or of one of its runs, in order."""
    table = database.tables.events
    columns = (table.c.sequence_number, table.c.timestamp_utc, table.c.run_id, table.c.event_json)
    statement = (
        select(*columns)
        .where(table.c.chat_id == chat_id, table.c.sequence_number > after)
        .order_by(table.c.sequence_number)
    )
    if limit is not None:
        statement = statement.limit(limit)
    if run_id is not None:
        runs = database.tables.runs
        first = select(runs.c.first_event).where(runs.c.id == run_id).scalar_subquery()
        statement = statement.where(table.c.run_id == run_id, table.c.sequence_number >= first)
    rows = await connection.execute(statement)
    return [
        _event(chat_id, number, when, of, text) async for number, when, of, text in in_slices(rows)
    ]


def _event(chat_id: str, number: int, when: int, run_id: str | None, text: str) -> StreamEvent:
    """Convert a row to an event; a damaged one, to a placeholder with the same number."""
    try:
        check_stream_event(text)
        fields: dict[str, Any] = json.loads(text)
    except (MessageError, TypeError, ValueError, RecursionError):
        # The contents may be private, and are not logged.
        _log.error("an event cannot be read", extra={"chat_id": chat_id, "sequence_number": number})
        event = placeholder_event(chat_id, number, when)
        return event if run_id is None else {**event, "runId": run_id}
    for name in COLUMN_FIELDS:
        fields.pop(name, None)
    return with_position(fields, chat_id, number, when)


def placeholder_event(chat_id: str, number: int, timestamp: int = 0) -> StreamEvent:
    """Return the event that replaces an unreadable one."""
    return with_position({"kind": UNREADABLE, "done": True}, chat_id, number, timestamp)


async def history(
    connection: AsyncConnection,
    database: Database,
    chat_id: str,
    *,
    after: int = 0,
    limit: int | None = None,
) -> History:
    """Return the history of a chat, or a page of it."""

    async def outcomes(
        missing: Iterable[tuple[StoredMessage, ToolCall]],
    ) -> dict[tuple[int, str], CallOutcome]:
        return await _outcomes(connection, database, chat_id, list(missing))

    after = max(after, 0)
    window = Window(connection, database, chat_id, _read, after)
    return await page(window, outcomes, after, limit)


def _read(row: Row[Any]) -> StoredMessage | StoreProblem:
    try:
        return to_stored(row)
    except MessageError as error:
        number, message_id = row.sequence_number, row.id
        text = f"message {number} ({message_id!r}) cannot be read and was omitted: {error}"
        return StoreProblem("unreadable", text, number, message_id)


async def message(
    connection: AsyncConnection, database: Database, chat_id: str, message_id: str
) -> StoredMessage | None:
    """Return a message as it was written, or None if it does not exist."""
    table = database.tables.messages
    statement = select(table).where(table.c.chat_id == chat_id, table.c.id == message_id)
    row = (await connection.execute(statement)).first()
    return None if row is None else to_stored(row)


def to_stored(row: Row[Any]) -> StoredMessage:
    """Convert the row of a message.

    Raises:
        MessageError: Its JSON is not a message.
    """
    return StoredMessage(
        row.id,
        row.sequence_number,
        to_datetime(row.timestamp_utc),
        message_from_json(row.message_json),
        row.run_id,
        row.generation_id,
    )


async def _outcomes(
    connection: AsyncConnection,
    database: Database,
    chat_id: str,
    missing: list[tuple[StoredMessage, ToolCall]],
) -> dict[tuple[int, str], CallOutcome]:
    """Return the outcomes of calls without a result, except for those that are still pending."""
    if not missing:
        return {}
    runs, pending = database.tables.runs, database.tables.pending
    running = select(runs.c.id).where(runs.c.chat_id == chat_id, runs.c.status == "running")
    active = {row.id for row in await connection.execute(running)}
    statement = select(pending).where(pending.c.chat_id == chat_id, pending.c.kind == "deferred")
    ids: list[str] | None = None
    if len(missing) <= _MAX_IDS:
        ids = [call.id for _, call in missing]
        statement = statement.where(pending.c.key.in_([_key(*each) for each in missing]))
    awaited = {row.key: row for row in await connection.execute(statement)}
    rows = await call_rows(connection, database, chat_id, ids=ids)
    outcomes: dict[tuple[int, str], CallOutcome] = {}
    for stored, call in missing:
        entry = awaited.get(_key(stored, call))
        row = find_row(rows, call, stored.generation_id, stored.run_id)
        if stored.run_id is not None and stored.run_id in active:
            if entry is None and row is not None and row.result_json is not None:
                outcomes[stored.sequence_number, call.id] = outcome(call, row)
            continue
        if entry is not None and entry.call_id == safe_text(call.id):
            if entry.result_json is not None:
                outcomes[stored.sequence_number, call.id] = late_result(call, entry)
            continue
        outcomes[stored.sequence_number, call.id] = outcome(call, row)
    return outcomes


def _key(stored: StoredMessage, call: ToolCall) -> str:
    """Return the key under which the result of a call is pending, if it is."""
    keys = stored.message.metadata.get(DEFERRED)
    return cast("dict[str, str]", keys).get(call.id, "") if isinstance(keys, dict) else call.id


async def call_rows(
    connection: AsyncConnection,
    database: Database,
    chat_id: str,
    run_id: str | None = None,
    *,
    ids: Collection[str] | None = None,
) -> dict[tuple[str | None, str], Row[Any]]:
    """Return the rows of calls by reply and id, or by run and id if the reply is unknown.

    Of several attempts of a call, the last one is returned.
    """
    calls = database.tables.calls
    statement = select(calls).where(calls.c.chat_id == chat_id).order_by(calls.c.attempt)
    if run_id is not None:
        statement = statement.where(calls.c.run_id == run_id)
    if ids is not None:
        statement = statement.where(calls.c.call_id.in_(ids))
    rows = await connection.execute(statement)
    return {
        (optional_text(row.generation_id) or optional_text(row.run_id), call_id_of(row)): row
        for row in rows
    }


def find_row(
    rows: Mapping[tuple[str | None, str], Row[Any]],
    call: ToolCall,
    generation_id: str | None,
    run_id: str | None,
) -> Row[Any] | None:
    """Return the row of a call, if its tool was entered or it has a result."""
    call_id = safe_text(call.id)
    return rows.get((generation_id, call_id)) or rows.get((run_id, call_id))


def outcome(call: ToolCall, row: Row[Any] | None) -> CallOutcome:
    """Return the outcome of a call whose run has ended: the stored result, or an interruption."""
    problem: str | None = None
    if row is not None and row.result_json is not None:
        try:
            result = stored_result(row)
        except DamagedError as error:
            # The tool may have had effects, as the result of an interruption says.
            problem = str(error)
            extra = {"chat_id": row.chat_id, "run_id": row.run_id, "call_id": call.id}
            _log.error("the result of a call cannot be read", extra={**extra, "error": problem})
        else:
            return CallOutcome(result.__replace__(tool_call_id=call.id))
    text = failure.interrupted(call.name, started=row is not None).text
    result = ToolResult(call.id, call.name, text, error_code=ErrorCode.INTERRUPTED)
    return CallOutcome(result, problem)


def late_result(call: ToolCall, row: Row[Any]) -> CallOutcome:
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
