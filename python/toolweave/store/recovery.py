"""The end of runs whose owner is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import runs
from .writing import append, draft, take_numbers

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from .database import Database
    from .records import RunRecord
    from .writing import Chain

STOP_REASON = "interrupted"
"""Why such a run has ended."""


async def recover(
    connection: AsyncConnection,
    database: Database,
    chain: Chain,
    run: RunRecord,
    now: int,
    limit: int,
) -> RunRecord | None:
    """Ends a run in a chat that is locked.

    Returns:
        The run; None if somebody else has ended it, or it was heard of since.
    """
    row = await runs.find(connection, database, database.tables.runs.c.id == run.run_id)
    if row is None or row["status"] != "running" or runs.to_record(row).lease != run.lease:
        return None
    ended = {
        "kind": "run",
        "runId": run.run_id,
        "status": "finished",
        "stopReason": STOP_REASON,
    }
    what = draft(run.chat_id, limit, events=[ended])
    await take_numbers(connection, database, chain, len(what.events))
    written = await append(connection, database, chain, what, now, run_id=run.run_id)
    await runs.end(connection, database, run.run_id, now, STOP_REASON, None)
    found = await runs.find(connection, database, database.tables.runs.c.id == run.run_id)
    return None if found is None else runs.to_record(found, written)
