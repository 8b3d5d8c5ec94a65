"""Reading of events, messages and the outcomes of calls."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, select

from .._core import ToolResult, check_stream_event, message_from_json
from .._slices import in_slices
from ..exceptions import MessageError
from ..executor._failure import interrupted
from ..kinds import ErrorCode
from ._damage import DamagedError, call_id_of, optional_text, stored_result
from ._drafts import COLUMN_FIELDS
from ._records import CallOutcome, StoredMessage, StreamEvent, to_datetime
from ._values import safe_text
from ._writing import with_position

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy.ext.asyncio import AsyncConnection

    from .._core import ToolCall
    from ._tables import Tables

_log = logging.getLogger("toolweave.store")

UNREADABLE = "unreadable"
"""Kind of the event that replaces a damaged one."""


async def read_events(
    connection: AsyncConnection,
    tables: Tables,
    chat_id: str,
    *,
    after: int,
    limit: int | None = None,
    run_id: str | None = None,
) -> list[StreamEvent]:
    """Return the events of a chat, or of one of its runs, in order."""
    columns = tables.events.c
    statement = (
        select(columns.sequence_number, columns.timestamp_utc, columns.run_id, columns.event_json)
        .where(columns.chat_id == chat_id, columns.sequence_number > after)
        .order_by(columns.sequence_number)
        .limit(limit)
    )
    if run_id is not None:
        runs = tables.runs
        first = select(runs.c.first_event).where(runs.c.id == run_id).scalar_subquery()
        statement = statement.where(columns.run_id == run_id, columns.sequence_number >= first)
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


async def call_rows(
    connection: AsyncConnection,
    tables: Tables,
    chat_id: str,
    run_id: str | None = None,
    *,
    ids: Collection[str] | None = None,
) -> dict[tuple[str | None, str], Row[Any]]:
    """Return the rows of calls by reply and id, or by run and id if the reply is unknown.

    Of several attempts of a call, the last one is returned.
    """
    calls = tables.calls
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
    text = interrupted(call.name, started=row is not None).text
    result = ToolResult(call.id, call.name, text, error_code=ErrorCode.INTERRUPTED)
    return CallOutcome(result, problem)
