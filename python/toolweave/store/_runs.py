"""Operations of a store on runs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sqlalchemy import insert, select, update

from ..exceptions import ChatBusyError, ChatNotFoundError, RunLostError, StoreError
from ._base import StoreBase
from ._drafts import make_draft
from ._interrupted import InterruptedRun
from ._reading import call_rows, read_events
from ._records import RunRecord, WriteResult, to_datetime
from ._truncation import truncate_event
from ._values import checked_id, optional_id
from ._writing import lock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from sqlalchemy import ColumnElement, RowMapping
    from sqlalchemy.ext.asyncio import AsyncConnection

    from .._messages import Message
    from ._drafts import Draft
    from ._writing import LockedChat

_log = logging.getLogger("toolweave.store")

_INTERRUPTED = "interrupted"
"""Stop reason of a recovered run."""


class RunStore(StoreBase):
    """Operations on runs: at most one active run per chat, each leased by an owner."""

    async def start_run(
        self,
        chat_id: str,
        run_id: str,
        *,
        owner: str,
        user_id: str | None = None,
        lease: float = 30.0,
        events: Iterable[Mapping[str, Any]] = (),
        messages: Iterable[Message] = (),
        none_since: int | None = None,
    ) -> RunRecord:
        """Start a run, and write its first events and messages in the same transaction.

        Args:
            chat_id: Id of the chat.
            run_id: Id of the run, which must not have been used before.
            owner: Owner of the run, such as this process.
            user_id: User who started the run.
            lease: Seconds after which the lease expires unless the owner renews it.
            events: As for `write`.
            messages: Messages that the run answers, which must be new in the chat.
            none_since: Sequence number of an event after which no run of the chat may have started,
                even if it has ended since.

        Raises:
            ChatBusyError: Another run of the chat is active, and its lease has not expired.
            ChatNotFoundError: The chat does not exist.
            StoreError: The id of the run, or of a message, is already used, or a run has started
                since ``none_since``.
        """
        checked_id(run_id, "run_id")
        checked_id(owner, "owner")
        optional_id(user_id, "user_id")
        draft = await self._draft(chat_id, events, messages)
        runs = self._tables.runs

        async def work(locked: LockedChat) -> RunRecord:
            await self._check_startable(locked, run_id, draft, none_since)
            row: dict[str, Any] = {
                "id": run_id,
                "chat_id": chat_id,
                "user_id": user_id,
                "owner": owner,
                "status": "running",
                "stop_requested": False,
                "stop_reason": None,
                "error": None,
                "lease_utc": locked.now + round(lease * 1000),
                "started_utc": locked.now,
                "finished_utc": None,
                "first_event": locked.last_event + 1,
            }
            await locked.connection.execute(insert(runs), [row])
            return _record(row, await locked.append(draft, run_id))

        try:
            return await self._transact(chat_id, work, len(draft.events))
        except ChatBusyError as busy:
            active = await self.run(busy.run_id)
            if active is None or active.lease.timestamp() >= self._clock():
                raise
        await self._recover(active)
        return await self._transact(chat_id, work, len(draft.events))

    async def _check_startable(
        self, locked: LockedChat, run_id: str, draft: Draft, none_since: int | None
    ) -> None:
        """Raise if another run is active or has started since, or if an id is used."""
        runs, messages = self._tables.runs, self._tables.messages
        active = await self._find(locked.connection, *self._is_active(locked.chat_id))
        if active is not None:
            raise ChatBusyError(
                f"the chat {locked.chat_id!r} has an active run, {active.run_id!r}; wait until it "
                "has ended, or stop it",
                locked.chat_id,
                active.run_id,
            )
        if none_since is not None:
            has_followed = (runs.c.chat_id == locked.chat_id, runs.c.first_event > none_since)
            next_run = await self._find(locked.connection, *has_followed)
            if next_run is not None:
                raise StoreError(
                    f"the run {next_run.run_id!r} of the chat {locked.chat_id!r} has started since "
                    f"event {none_since}"
                )
        known = await locked.connection.execute(select(runs.c.id).where(runs.c.id == run_id))
        if known.first() is not None:
            raise StoreError(f"the run id {run_id!r} was used before; it must be unique")
        ids = [message.id for message, _ in draft.messages]
        statement = select(messages.c.id).where(
            messages.c.chat_id == locked.chat_id, messages.c.id.in_(ids)
        )
        found = (await locked.connection.execute(statement.limit(1))).first() if ids else None
        if found is not None:
            # It would be answered twice.
            raise StoreError(f"the message {found.id!r} is already in the chat {locked.chat_id!r}")

    async def renew(self, run_id: str, owner: str, lease: float = 30.0) -> bool:
        """Renew the lease of a run.

        Returns:
            True if the run belongs to the owner and is active.
        """
        runs = self._tables.runs
        statement = (
            update(runs)
            .where(runs.c.id == run_id, runs.c.owner == owner, runs.c.status == "running")
            .values(lease_utc=self.now() + round(lease * 1000))
        )
        return bool(await self._database.execute(statement))

    async def renew_all(
        self, owner: str, lease: float = 30.0, *, exclude: Collection[str] = ()
    ) -> frozenset[str]:
        """Renew the leases of all runs of an owner.

        Args:
            owner: The owner.
            lease: Seconds after which the leases expire.
            exclude: Ids of runs that the owner has given up.

        Returns:
            The ids of the owner's active runs, without the excluded ones.
        """
        runs = self._tables.runs
        statement = (
            update(runs)
            .where(runs.c.owner == owner, runs.c.status == "running", runs.c.id.not_in(exclude))
            .values(lease_utc=self.now() + round(lease * 1000))
            .returning(runs.c.id)
        )
        rows = await self._database.write(lambda connection: connection.execute(statement))
        return frozenset(str(row.id) for row in rows)

    async def finish_run(
        self,
        run_id: str,
        owner: str,
        stop_reason: str,
        error: str | None = None,
        events: Iterable[Mapping[str, Any]] = (),
        messages: Iterable[Message] = (),
    ) -> WriteResult:
        """Finish a run, and write its last events and messages in the same transaction.

        Raises:
            RunLostError: The run does not belong to the owner, or has ended.
        """
        run = await self.run(run_id)
        if run is None:
            raise RunLostError(f"the run {run_id!r} does not exist", run_id)
        draft = await self._draft(run.chat_id, events, messages)

        async def work(locked: LockedChat) -> WriteResult:
            await locked.check_owner(run_id, owner)
            written = await locked.append(draft, run_id)
            await self._end(locked, run_id, stop_reason, error)
            return written

        try:
            return await self._transact(run.chat_id, work, len(draft.events))
        except ChatNotFoundError as gone:
            text = f"the chat of the run {run_id!r} was deleted"
            raise RunLostError(text, run_id) from gone

    async def _end(
        self, locked: LockedChat, run_id: str, stop_reason: str, error: str | None = None
    ) -> None:
        """Mark a run as finished, and close its pending approvals and questions."""
        runs, pending = self._tables.runs, self._tables.pending
        await locked.connection.execute(
            update(runs)
            .where(runs.c.id == run_id)
            .values(
                status="finished", stop_reason=stop_reason, error=error, finished_utc=locked.now
            )
        )
        await locked.connection.execute(
            update(pending)
            .where(
                pending.c.run_id == run_id,
                pending.c.status == "awaited",
                pending.c.kind.in_(["approval", "question"]),
            )
            .values(status="closed", resolved_utc=locked.now)
        )

    async def request_stop(self, run_id: str) -> bool:
        """Request that a run stops, in any process. A watch of the chat notifies its owner.

        Returns:
            True if the run is active.
        """
        runs, now = self._tables.runs, self.now()

        async def work(connection: AsyncConnection) -> LockedChat | None:
            run = await self._find(connection, runs.c.id == run_id)
            if run is None or run.status != "running":
                return None
            locked = await lock(connection, self._database, run.chat_id, now)
            changed = await connection.execute(
                update(runs)
                .where(runs.c.id == run_id, runs.c.status == "running")
                .values(stop_requested=True)
            )
            return locked if changed.rowcount else None

        locked = await self._database.write(work)
        if locked is not None:
            self._hub.publish(locked.chat_id, locked.revision)
        return locked is not None

    async def run(self, run_id: str) -> RunRecord | None:
        """Return a run, or None if it does not exist."""
        by_id = self._tables.runs.c.id == run_id
        return await self._database.read(lambda connection: self._find(connection, by_id))

    async def active_run(self, chat_id: str) -> RunRecord | None:
        """Return the active run of a chat, if any."""
        is_active = self._is_active(chat_id)
        return await self._database.read(lambda connection: self._find(connection, *is_active))

    async def recover(self, *, now: datetime | float | None = None) -> list[RunRecord]:
        """End the runs whose lease has expired.

        Calls without a result get the stored result, or one that says that they were interrupted
        and if their tool may have had effects. Text written by the model is kept. The events of
        all this, and of the end of the run, are written once, even if several processes recover.

        Args:
            now: Time to compare leases with, as a datetime or in seconds since 1970.

        Returns:
            The runs that this call ended.
        """
        if now is None:
            now = self._clock()
        elif not isinstance(now, (int, float)):
            now = now.timestamp()
        runs = self._tables.runs
        is_dead = runs.c.status == "running", runs.c.lease_utc < round(now * 1000)
        oldest_first = select(runs).where(*is_dead).order_by(runs.c.started_utc, runs.c.id)
        dead = [_record(row) for row in (await self._database.query(oldest_first)).mappings()]
        found = [await self._recover(each) for each in dead]
        return [each for each in found if each is not None]

    async def _recover(self, run: RunRecord) -> RunRecord | None:
        """End a run, unless it was ended or renewed meanwhile."""
        by_id = self._tables.runs.c.id == run.run_id

        async def work(locked: LockedChat) -> RunRecord | None:
            found = await self._find(locked.connection, by_id)
            if found is None or found.status != "running" or found.lease != run.lease:
                return None
            written = await self._interrupt(locked, run)
            return await self._find(locked.connection, by_id, written=written)

        try:
            return await self._transact(run.chat_id, work)
        except ChatNotFoundError:
            return None

    async def _interrupt(self, locked: LockedChat, run: RunRecord) -> WriteResult:
        """Finish a run as interrupted, and write the messages and events that are missing in it."""
        chat_id, run_id, connection = run.chat_id, run.run_id, locked.connection
        run_events = await read_events(
            connection, self._tables, chat_id, after=run.first_event - 1, run_id=run_id
        )
        pending, messages = self._tables.pending, self._tables.messages
        deferred = select(pending.c.key, pending.c.call_id).where(
            pending.c.chat_id == chat_id, pending.c.run_id == run_id, pending.c.kind == "deferred"
        )
        interrupted = InterruptedRun(
            chat_id,
            run_id,
            run_events,
            await call_rows(connection, self._tables, chat_id, run_id),
            {row.call_id: row.key for row in await connection.execute(deferred)},
        )
        ids = [message.id for message in interrupted.messages]
        stored = select(messages.c.id).where(messages.c.chat_id == chat_id, messages.c.id.in_(ids))
        unchanged = {row.id for row in await connection.execute(stored)} - interrupted.changed
        ended = {"kind": "run", "runId": run_id, "status": "finished", "stopReason": _INTERRUPTED}
        draft = make_draft(
            chat_id,
            self._limit,
            [*(truncate_event(each, self._limit) for each in interrupted.events), ended],
            [message for message in interrupted.messages if message.id not in unchanged],
        )
        await locked.reserve_event_numbers(len(draft.events))
        written = await locked.append(draft, run_id)
        await self._end(locked, run_id, _INTERRUPTED)
        _log.warning(
            "a run was ended because its lease has expired",
            extra={
                "chat_id": chat_id,
                "run_id": run_id,
                "owner": run.owner,
                "completed_calls": interrupted.count,
            },
        )
        return written

    def _is_active(self, chat_id: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        runs = self._tables.runs
        return runs.c.chat_id == chat_id, runs.c.status == "running"

    async def _find(
        self,
        connection: AsyncConnection,
        *where: ColumnElement[bool],
        written: WriteResult | None = None,
    ) -> RunRecord | None:
        """Return the oldest matching run, if any."""
        runs = self._tables.runs
        statement = select(runs).where(*where).order_by(runs.c.started_utc, runs.c.id)
        row = (await connection.execute(statement)).mappings().first()
        return None if row is None else _record(row, written)


def _record(row: RowMapping | Mapping[str, Any], written: WriteResult | None = None) -> RunRecord:
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
