"""The part of a store that knows of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..exceptions import ChatBusyError, ChatNotFoundError, RunLostError
from . import recovery, runs
from .base import StoreBase
from .checks import checked_id, optional_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

    from .. import Message
    from .records import RunRecord, WriteResult
    from .writing import LockedChat


class RunStore(StoreBase):
    """Runs: at most one at a time a chat, each held by an owner who says that it is alive."""

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
        """Starts a run; what it starts with is written in the same transaction.

        Args:
            chat_id: The chat.
            run_id: The run; an id is used once.
            owner: Who holds it, such as this process.
            user_id: Who asked for it.
            lease: For how many seconds the owner is taken to be alive, unless it says so again.
            events: As for `write`.
            messages: What it answers, which was not said in the chat before.

        Raises:
            ChatBusyError: Another run of the chat is active, and its owner alive.
            ChatNotFoundError: There is no such chat.
            StoreError: There is a run, or a message in the chat, with such an id.
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
        """Says that the owner of a run is alive.

        Returns:
            Whether the run is the owner's, and active.
        """
        until = self.now() + round(lease * 1000)
        return await self._database.write(
            lambda connection: runs.renew(connection, self._database, run_id, owner, until)
        )

    async def renew_all(
        self, owner: str, lease: float = 30.0, *, exclude: Collection[str] = ()
    ) -> frozenset[str]:
        """Says that an owner is alive, for all of its runs at once.

        Args:
            owner: The owner.
            lease: For how long it counts as alive, in seconds.
            besides: Runs that it has given up.

        Returns:
            The runs that are the owner's, and active, but for those.
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
        """Ends a run; what it ends with is written in the same transaction.

        Raises:
            RunLostError: It is not the owner's, or has ended.
        """
        run = await self.run(run_id)
        if run is None:
            raise RunLostError(f"there is no run {run_id!r}", run_id)
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
        """Asks a run to stop, in whatever process it is: its owner hears of it by a watch.

        Returns:
            Whether it is active.
        """
        now = self.now()
        locked = await self._database.write(
            lambda connection: runs.request_stop(connection, self._database, run_id, now)
        )
        if locked is not None:
            self._hub.publish(locked.chat_id, locked.revision)
        return locked is not None

    async def run(self, run_id: str) -> RunRecord | None:
        """A run, if there is one."""
        return await self._run(self._database.tables.runs.c.id == run_id)

    async def active_run(self, chat_id: str) -> RunRecord | None:
        """The run of a chat that is going on, if there is one."""
        columns = self._database.tables.runs.c
        return await self._run(columns.chat_id == chat_id, columns.status == "running")

    async def recover(self, *, now: datetime | float | None = None) -> list[RunRecord]:
        """Ends the runs whose owner has not said for too long that it is alive.

        Calls that have no result get the one that was stored, or one that says they were
        interrupted, and whether their tool may have had effects. What the model had written stays.
        All of that and the end of the run are announced, once, whoever recovers.

        Args:
            now: What time to take it to be, as a datetime or in seconds since 1970.

        Returns:
            The runs that were ended here.
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
        """Ends a run, unless somebody else has, or it has been heard of since."""

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
