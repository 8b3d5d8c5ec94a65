"""Rows of runs: at most one active run per chat, each leased by an owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from ..exceptions import ChatBusyError, StoreError
from ._records import RunRecord, WriteResult, to_datetime
from ._writing import append, check_owner, lock

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

    from ._database import Database
    from ._writing import Draft, LockedChat


async def start(
    connection: AsyncConnection,
    database: Database,
    locked: LockedChat,
    draft: Draft,
    now: int,
    *,
    run_id: str,
    owner: str,
    user_id: str | None,
    lease: int,
) -> RunRecord:
    """Start a run in a locked chat.

    Raises:
        ChatBusyError: Another run is active.
        StoreError: The id of the run, or of one of its messages, is already used.
    """
    runs = database.tables.runs
    active = await _running(connection, database, locked.chat_id)
    if active is not None:
        raise ChatBusyError(
            f"the chat {locked.chat_id!r} has an active run, {active['id']!r}; wait until it has "
            "ended, or stop it",
            locked.chat_id,
            active["id"],
        )
    known = await connection.execute(select(runs.c.id).where(runs.c.id == run_id))
    if known.first() is not None:
        raise StoreError(f"the run id {run_id!r} was used before; it must be unique")
    await _check_new(connection, database, locked.chat_id, draft)
    row: dict[str, Any] = {
        "id": run_id,
        "chat_id": locked.chat_id,
        "user_id": user_id,
        "owner": owner,
        "status": "running",
        "stop_requested": False,
        "stop_reason": None,
        "error": None,
        "lease_utc": now + lease,
        "started_utc": now,
        "finished_utc": None,
        "first_event": locked.last_event + 1,
    }
    await connection.execute(insert(runs), [row])
    written = await append(connection, database, locked, draft, now, run_id=run_id)
    return to_record(row, written)


async def _check_new(
    connection: AsyncConnection, database: Database, chat_id: str, draft: Draft
) -> None:
    """Raise if a message that a run answers is already in the chat: it would be answered twice."""
    messages = database.tables.messages
    ids = [message.id for message, _ in draft.messages]
    existing = select(messages.c.id).where(messages.c.chat_id == chat_id, messages.c.id.in_(ids))
    found = (await connection.execute(existing.limit(1))).first() if ids else None
    if found is not None:
        raise StoreError(f"the message {found.id!r} is already in the chat {chat_id!r}")


async def finish(
    connection: AsyncConnection,
    database: Database,
    locked: LockedChat,
    draft: Draft,
    now: int,
    *,
    run_id: str,
    owner: str,
    stop_reason: str,
    error: str | None,
) -> WriteResult:
    """Finish a run of a locked chat.

    Raises:
        RunLostError: The run does not belong to the owner, or has ended.
    """
    await check_owner(connection, database, run_id, owner)
    written = await append(connection, database, locked, draft, now, run_id=run_id)
    await end(connection, database, run_id, now, stop_reason, error)
    return written


async def end(
    connection: AsyncConnection,
    database: Database,
    run_id: str,
    now: int,
    stop_reason: str,
    error: str | None,
) -> None:
    """Mark a run as finished, and close its pending approvals and questions."""
    runs, pending = database.tables.runs, database.tables.pending
    await connection.execute(
        update(runs)
        .where(runs.c.id == run_id)
        .values(status="finished", stop_reason=stop_reason, error=error, finished_utc=now)
    )
    await connection.execute(
        update(pending)
        .where(
            pending.c.run_id == run_id,
            pending.c.status == "awaited",
            pending.c.kind.in_(["approval", "question"]),
        )
        .values(status="closed", resolved_utc=now)
    )


async def renew(
    connection: AsyncConnection, database: Database, run_id: str, owner: str, until: int
) -> bool:
    """Renew the lease of a run; return True if it belongs to the owner and is active."""
    runs = database.tables.runs
    changed = await connection.execute(
        update(runs)
        .where(runs.c.id == run_id, runs.c.owner == owner, runs.c.status == "running")
        .values(lease_utc=until)
    )
    return bool(changed.rowcount)


async def renew_all(
    connection: AsyncConnection,
    database: Database,
    owner: str,
    until: int,
    exclude: Collection[str] = (),
) -> frozenset[str]:
    """Renew the leases of an owner's active runs; return their ids, without the excluded ones."""
    runs = database.tables.runs
    rows = await connection.execute(
        update(runs)
        .where(runs.c.owner == owner, runs.c.status == "running", runs.c.id.not_in(exclude))
        .values(lease_utc=until)
        .returning(runs.c.id)
    )
    return frozenset(str(row.id) for row in rows)


async def request_stop(
    connection: AsyncConnection, database: Database, run_id: str, now: int
) -> LockedChat | None:
    """Request that a run stops; return None if it is not active."""
    runs = database.tables.runs
    row = await find(connection, database, runs.c.id == run_id)
    if row is None or row["status"] != "running":
        return None
    locked = await lock(connection, database, row["chat_id"], now)
    changed = await connection.execute(
        update(runs)
        .where(runs.c.id == run_id, runs.c.status == "running")
        .values(stop_requested=True)
    )
    return locked if changed.rowcount else None


async def find(
    connection: AsyncConnection, database: Database, *where: ColumnElement[bool]
) -> dict[str, Any] | None:
    """Return the first matching row of a run, if any."""
    rows = await _rows(connection, database, *where)
    return rows[0] if rows else None


async def find_all(
    connection: AsyncConnection, database: Database, *where: ColumnElement[bool]
) -> list[RunRecord]:
    """Return runs, oldest first."""
    return [to_record(row) for row in await _rows(connection, database, *where)]


async def _rows(
    connection: AsyncConnection, database: Database, *where: ColumnElement[bool]
) -> list[dict[str, Any]]:
    runs = database.tables.runs
    statement = select(runs).where(*where).order_by(runs.c.started_utc, runs.c.id)
    names = statement.selected_columns.keys()
    rows = await connection.execute(statement)
    return [dict(zip(names, row, strict=True)) for row in rows]


async def _running(
    connection: AsyncConnection, database: Database, chat_id: str
) -> dict[str, Any] | None:
    runs = database.tables.runs
    return await find(connection, database, runs.c.chat_id == chat_id, runs.c.status == "running")


def to_record(row: Mapping[str, Any], written: WriteResult | None = None) -> RunRecord:
    """Convert the row of a run."""
    finished: int | None = row["finished_utc"]
    return RunRecord(
        run_id=row["id"],
        chat_id=row["chat_id"],
        user_id=row["user_id"],
        owner=row["owner"],
        status=row["status"],
        stop_requested=bool(row["stop_requested"]),
        stop_reason=row["stop_reason"],
        error=row["error"],
        lease=to_datetime(row["lease_utc"]),
        started=to_datetime(row["started_utc"]),
        finished=None if finished is None else to_datetime(finished),
        first_event=row["first_event"],
        written=written or WriteResult(),
    )
