"""Operations of a store on runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..exceptions import ChatBusyError, ChatNotFoundError, RunLostError
from . import _recovery as recovery
from . import _runs as runs
from ._base import StoreBase
from ._checks import checked_id, optional_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

    from .._messages import Message
    from ._records import RunRecord, WriteResult
    from ._writing import LockedChat


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

        Raises:
            ChatBusyError: Another run of the chat is active, and its lease has not expired.
            ChatNotFoundError: The chat does not exist.
            StoreError: The id of the run, or of a message, is already used.
        """
        checked_id(run_id, "run_id")
        checked_id(owner, "owner")
        optional_id(user_id, "user_id")
        draft = await self._draft_async(chat_id, events, messages)

        async def work(connection: AsyncConnection, locked: LockedChat, now: int) -> RunRecord:
            return await runs.start(
                connection,
                self._database,
                locked,
                draft,
                now,
                run_id=run_id,
                owner=owner,
                user_id=user_id,
                lease=round(lease * 1000),
            )

        try:
            return await self._transact(chat_id, work, len(draft.events))
        except ChatBusyError as busy:
            active = await self.run(busy.run_id)
            if active is None or active.lease.timestamp() >= self._clock():
                raise
        await self._recover(active)
        return await self._transact(chat_id, work, len(draft.events))

    async def renew(self, run_id: str, owner: str, lease: float = 30.0) -> bool:
        """Renew the lease of a run.

        Returns:
            True if the run belongs to the owner and is active.
        """
        until = self.now() + round(lease * 1000)
        return await self._database.write(
            lambda connection: runs.renew(connection, self._database, run_id, owner, until)
        )

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
        until = self.now() + round(lease * 1000)
        return await self._database.write(
            lambda connection: runs.renew_all(connection, self._database, owner, until, exclude)
        )

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
        draft = await self._draft_async(run.chat_id, events, messages)

        async def work(connection: AsyncConnection, locked: LockedChat, now: int) -> WriteResult:
            return await runs.finish(
                connection,
                self._database,
                locked,
                draft,
                now,
                run_id=run_id,
                owner=owner,
                stop_reason=stop_reason,
                error=error,
            )

        try:
            return await self._transact(run.chat_id, work, len(draft.events))
        except ChatNotFoundError as gone:
            text = f"the chat of the run {run_id!r} was deleted"
            raise RunLostError(text, run_id) from gone

    async def request_stop(self, run_id: str) -> bool:
        """Request that a run stops, in any process. A watch of the chat notifies its owner.

        Returns:
            True if the run is active.
        """
        now = self.now()
        locked = await self._database.write(
            lambda connection: runs.request_stop(connection, self._database, run_id, now)
        )
        if locked is not None:
            self._hub.publish(locked.chat_id, locked.revision)
        return locked is not None

    async def run(self, run_id: str) -> RunRecord | None:
        """Return a run, or None if it does not exist."""
        return await self._run(self._database.tables.runs.c.id == run_id)

    async def active_run(self, chat_id: str) -> RunRecord | None:
        """Return the active run of a chat, if any."""
        columns = self._database.tables.runs.c
        return await self._run(columns.chat_id == chat_id, columns.status == "running")

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
        milliseconds = round(now * 1000)
        columns = self._database.tables.runs.c
        dead = await self._database.read(
            lambda connection: runs.find_all(
                connection,
                self._database,
                columns.status == "running",
                columns.lease_utc < milliseconds,
            )
        )
        found = [await self._recover(each) for each in dead]
        return [each for each in found if each is not None]

    async def _recover(self, run: RunRecord) -> RunRecord | None:
        """End a run, unless it was ended or renewed meanwhile."""

        async def work(
            connection: AsyncConnection, locked: LockedChat, now: int
        ) -> RunRecord | None:
            return await recovery.recover(connection, self._database, locked, run, now, self._limit)

        try:
            return await self._transact(run.chat_id, work)
        except ChatNotFoundError:
            return None

    async def _run(self, *where: ColumnElement[bool]) -> RunRecord | None:
        found = await self._database.read(
            lambda connection: runs.find(connection, self._database, *where)
        )
        return None if found is None else runs.to_record(found)
