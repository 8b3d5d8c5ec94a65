"""The end of runs whose owner is gone."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sqlalchemy import select

from . import runs
from .interrupted import InterruptedRun
from .reading import call_rows, events
from .truncation import truncate_event
from .writing import append, make_draft, reserve_event_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.ext.asyncio import AsyncConnection

    from .. import Message
    from .database import Database
    from .records import RunRecord
    from .writing import LockedChat

_log = logging.getLogger("toolweave.store")

STOP_REASON = "interrupted"
"""Why such a run has ended."""


async def recover(
    connection: AsyncConnection,
    database: Database,
    locked: LockedChat,
    run: RunRecord,
    now: int,
    limit: int,
) -> RunRecord | None:
    """Ends a run in a chat that is locked.

    Returns:
        The run; None if somebody else has ended it, or it was heard of since.
    """
    is_it = database.tables.runs.c.id == run.run_id
    row = await runs.find(connection, database, is_it)
    if row is None or row["status"] != "running" or runs.to_record(row).lease != run.lease:
        return None
    said = await events(
        connection, database, run.chat_id, after=run.first_event - 1, limit=None, run_id=run.run_id
    )
    calls = await call_rows(connection, database, run.chat_id, run.run_id)
    awaited = await _deferred(connection, database, run)
    remains = InterruptedRun(run.chat_id, run.run_id, said, calls, awaited)
    stored = await _stored(connection, database, run.chat_id, remains.messages)
    messages = [
        message
        for message in remains.messages
        if message.id in remains.changed or message.id not in stored
    ]
    ended = {
        "kind": "run",
        "runId": run.run_id,
        "status": "finished",
        "stopReason": STOP_REASON,
    }
    told = [*(truncate_event(each, limit) for each in remains.events), ended]
    draft = make_draft(run.chat_id, limit, events=told, messages=messages)
    await reserve_event_numbers(connection, database, locked, len(told))
    written = await append(connection, database, locked, draft, now, run_id=run.run_id)
    await runs.end(connection, database, run.run_id, now, STOP_REASON, None)
    _log.warning(
        "a run whose owner is gone was ended",
        extra={
            "chat_id": run.chat_id,
            "run_id": run.run_id,
            "owner": run.owner,
            "settled": remains.count,
        },
    )
    found = await runs.find(connection, database, is_it)
    return None if found is None else runs.to_record(found, written)


async def _deferred(
    connection: AsyncConnection, database: Database, run: RunRecord
) -> dict[str, str]:
    """The keys of the run's results that come later, by the ids of the calls."""
    table = database.tables.pending
    statement = select(table.c.key, table.c.call_id).where(
        table.c.chat_id == run.chat_id, table.c.run_id == run.run_id, table.c.kind == "deferred"
    )
    return {row.call_id: row.key for row in await connection.execute(statement)}


async def _stored(
    connection: AsyncConnection, database: Database, chat_id: str, messages: Iterable[Message]
) -> set[str | None]:
    """The ids of those messages that are in the chat."""
    table = database.tables.messages
    ids = [message.id for message in messages]
    statement = select(table.c.id).where(table.c.chat_id == chat_id, table.c.id.in_(ids))
    return {row.id for row in await connection.execute(statement)}
