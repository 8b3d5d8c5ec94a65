"""Recovery of runs whose lease has expired."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sqlalchemy import select

from . import _runs as runs
from ._interrupted import InterruptedRun
from ._reading import call_rows, events
from ._truncation import truncate_event
from ._writing import append, make_draft, reserve_event_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.ext.asyncio import AsyncConnection

    from .._messages import Message
    from ._database import Database
    from ._records import RunRecord
    from ._writing import LockedChat

_log = logging.getLogger("toolweave.store")

STOP_REASON = "interrupted"
"""Stop reason of a recovered run."""


async def recover(
    connection: AsyncConnection,
    database: Database,
    locked: LockedChat,
    run: RunRecord,
    now: int,
    limit: int,
) -> RunRecord | None:
    """End a run of a locked chat.

    Returns:
        The run; None if it was ended by another process, or renewed meanwhile.
    """
    by_id = database.tables.runs.c.id == run.run_id
    row = await runs.find(connection, database, by_id)
    if row is None or row["status"] != "running" or runs.to_record(row).lease != run.lease:
        return None
    run_events = await events(
        connection, database, run.chat_id, after=run.first_event - 1, limit=None, run_id=run.run_id
    )
    calls = await call_rows(connection, database, run.chat_id, run.run_id)
    awaited = await _deferred(connection, database, run)
    interrupted = InterruptedRun(run.chat_id, run.run_id, run_events, calls, awaited)
    stored = await _stored(connection, database, run.chat_id, interrupted.messages)
    messages = [
        message
        for message in interrupted.messages
        if message.id in interrupted.changed or message.id not in stored
    ]
    ended = {
        "kind": "run",
        "runId": run.run_id,
        "status": "finished",
        "stopReason": STOP_REASON,
    }
    new_events = [*(truncate_event(each, limit) for each in interrupted.events), ended]
    draft = make_draft(run.chat_id, limit, events=new_events, messages=messages)
    await reserve_event_numbers(connection, database, locked, len(new_events))
    written = await append(connection, database, locked, draft, now, run_id=run.run_id)
    await runs.end(connection, database, run.run_id, now, STOP_REASON, None)
    _log.warning(
        "a run was ended because its lease has expired",
        extra={
            "chat_id": run.chat_id,
            "run_id": run.run_id,
            "owner": run.owner,
            "completed_calls": interrupted.count,
        },
    )
    found = await runs.find(connection, database, by_id)
    return None if found is None else runs.to_record(found, written)


async def _deferred(
    connection: AsyncConnection, database: Database, run: RunRecord
) -> dict[str, str]:
    """Return the keys of the run's deferred results, by the ids of the calls."""
    table = database.tables.pending
    statement = select(table.c.key, table.c.call_id).where(
        table.c.chat_id == run.chat_id, table.c.run_id == run.run_id, table.c.kind == "deferred"
    )
    return {row.call_id: row.key for row in await connection.execute(statement)}


async def _stored(
    connection: AsyncConnection, database: Database, chat_id: str, messages: Iterable[Message]
) -> set[str | None]:
    """Return the ids of the messages that are already in the chat."""
    table = database.tables.messages
    ids = [message.id for message in messages]
    statement = select(table.c.id).where(table.c.chat_id == chat_id, table.c.id.in_(ids))
    return {row.id for row in await connection.execute(statement)}
