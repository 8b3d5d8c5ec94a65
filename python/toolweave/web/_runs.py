"""The runs of this process: starting and stopping them, leases, and recovery of dead runs."""

from __future__ import annotations

import asyncio
import logging
import uuid
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from .._aio.tasks import cancel_and_wait
from .._core import ToolAggregateMessage
from ..exceptions import ChatBusyError, StoreError
from ..lifecycle import StreamEventMapper
from ._errors import HttpError, unavailable
from ._run import ChatRun
from ._security import ConcurrencyLimiter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from .._messages import Message
    from ..lifecycle import StreamEvent
    from ..store import MessageStore, RunRecord, StoredMessage
    from ._channels import ChatChannels
    from ._limits import WebLimits
    from ._responders import Responder

_log = logging.getLogger("toolweave.web")


class ChatRuns:
    """All runs of this process.

    Args:
        store: The store that runs are written to.
        channels: The channels that events are published to.
        responder: The responder that answers.
        limits: The limits on the number of runs and their duration.
    """

    def __init__(
        self, store: MessageStore, channels: ChatChannels, responder: Responder, limits: WebLimits
    ) -> None:
        self._store = store
        self._channels = channels
        self._responder = responder
        self._limits = limits
        self._owner = uuid.uuid4().hex
        self._slots = ConcurrencyLimiter(limits.runs, limits.runs_per_user, "runs")
        self._runs: dict[str, ChatRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # Chats that have all results, and were busy when they could have been resumed.
        self._awaiting_resume: set[str] = set()
        self._background_tasks: list[asyncio.Task[None]] = []
        self._closing = False

    async def open(self) -> None:
        """Start the background tasks: recovering dead runs, and renewing leases of live ones."""
        loop = asyncio.get_running_loop()
        self._background_tasks = [
            loop.create_task(self._renew_leases()),
            loop.create_task(self._recover_dead_runs()),
        ]

    async def close(self) -> None:
        """Wait for runs to end within the grace period, then interrupt the others."""
        self._closing = True
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=self._limits.shutdown_grace)
        for run in list(self._runs.values()):
            run.stop("interrupted")
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=2 * self._limits.stop_grace)
        await cancel_and_wait(*self._background_tasks)

    async def start(
        self,
        chat_id: str,
        messages: Sequence[Message],
        user_id: str | None,
        *,
        quota_key: str | None = None,
        none_since: int | None = None,
    ) -> RunRecord:
        """Start a run, and return it as it is stored.

        Args:
            chat_id: Id of the chat.
            messages: The user's new messages; empty to continue from the history.
            user_id: Id of the user that owns the run.
            quota_key: The key whose limits count; None for a run that the server starts by itself.
            none_since: As for `Store.start_run`.

        Raises:
            ChatBusyError: A run is active in the chat.
            HttpError: There are too many runs, or the server is shutting down.
            StoreError: A run has started since ``none_since``.
        """
        if self._closing:
            raise unavailable("closing", "The server is shutting down.")
        async with AsyncExitStack() as stack:
            stack.enter_context(self._slots.hold(quota_key))
            channel = await stack.enter_async_context(self._channels.open(chat_id))
            run_id = uuid.uuid4().hex
            mapper = StreamEventMapper(chat_id, run_id)
            record = await self._store.start_run(
                chat_id,
                run_id,
                owner=self._owner,
                user_id=user_id,
                lease=self._limits.lease,
                events=[*mapper.map_messages(messages), *mapper.run_started()],
                messages=messages,
                none_since=none_since,
            )
            channel.publish(record.written.events)
            run = ChatRun(self._store, channel, self._responder, record, messages, self._limits)
            self._runs[run_id] = run
            channel.attach_run(run.poll)
            task = asyncio.get_running_loop().create_task(self._execute(run, stack.pop_all()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        _log.info("a run has started", extra={"chat_id": chat_id, "run_id": run_id})
        return record

    async def _execute(self, run: ChatRun, resources: AsyncExitStack) -> None:
        async with resources:
            try:
                await run.execute()
            finally:
                del self._runs[run.run_id]
                run.detach()
        awaiting_resume = run.chat_id in self._awaiting_resume
        self._awaiting_resume.discard(run.chat_id)
        try:
            if run.deferred:
                await self.publish_late_results(run.chat_id, run.deferred)
        except StoreError as error:
            _log.error("a late result cannot be published", exc_info=error)
        if run.stop_reason == "deferred" or awaiting_resume:
            # An answer may have resumed the chat already, in a run that has ended.
            await self.resume(run.chat_id, run.user_id, none_since=run.first_event)

    async def stop(self, run_id: str) -> bool:
        """Stop a run, in whichever process it is.

        Returns:
            True if the run was active.
        """
        run = self._runs.get(run_id)
        if run is not None:
            run.stop("cancelled")
            return True
        return await self._store.request_stop(run_id)

    async def resume(
        self, chat_id: str, user_id: str | None, *, none_since: int | None = None
    ) -> str | None:
        """Start a run in a chat whose last deferred result has come, unless the chat is busy.

        Args:
            chat_id: Id of the chat.
            user_id: Id of the user that owns the run.
            none_since: As for `Store.start_run`: a run that started since then has the result.

        Returns:
            Id of the new run; None if none was started.
        """
        try:
            pending = await self._store.pending(chat_id)
            if any(each.kind == "deferred" for each in pending):
                return None
            return (await self.start(chat_id, (), user_id, none_since=none_since)).run_id
        except (StoreError, HttpError) as error:
            if isinstance(error, ChatBusyError) and error.run_id in self._runs:
                # A run of this process resumes the chat when it ends.
                self._awaiting_resume.add(chat_id)
            _log.info(
                "a chat is not resumed",
                extra={"chat_id": chat_id, "error_type": type(error).__name__},
            )
            return None

    async def publish_late_results(self, chat_id: str, call_ids: Iterable[str]) -> None:
        """Store late results with their calls, and publish those that were not published before.

        The results of an active run are left to that run.

        Args:
            chat_id: Id of the chat.
            call_ids: Ids of the calls; calls without a result are skipped.
        """
        wanted = set(call_ids)
        for stored in reversed((await self._store.load(chat_id)).stored):
            message = stored.message
            if isinstance(message, ToolAggregateMessage):
                found = wanted & {result.tool_call_id for result in message.tool_results}
                events = await self._late_events(chat_id, stored, message, found) if found else []
                if events:
                    written = await self._store.write(chat_id, events=events, messages=[message])
                    self._channels.publish(chat_id, written.events)
                wanted -= found
            if not wanted:
                return

    async def _late_events(
        self, chat_id: str, stored: StoredMessage, aggregate: ToolAggregateMessage, calls: set[str]
    ) -> list[StreamEvent]:
        """Return the events of results that were not published since the run of the calls began."""
        run = None if stored.run_id is None else await self._store.run(stored.run_id)
        after = 0 if run is None else run.first_event - 1
        published: set[object] = set()
        while events := await self._store.events(chat_id, after=after, limit=500):
            published |= {
                each.get("messageId")
                for each in events
                if each["kind"] == "tool_result" and each.get("done") is True
            }
            after = events[-1]["sequenceNumber"]
        mapper = StreamEventMapper(chat_id, stored.run_id or "")
        mapper.register_calls([aggregate])
        late = [
            event
            for result in aggregate.tool_results
            if result.tool_call_id in calls
            for event in mapper.map(result, generation_id=stored.generation_id)
            if event.get("messageId") not in published
        ]
        if late and len(aggregate.tool_results) == len(aggregate.tool_calls):
            late += mapper.map(aggregate, generation_id=stored.generation_id)
        return late

    async def delete_chat(self, chat_id: str) -> None:
        """Delete a chat, and what the responder keeps of it.

        Raises:
            HttpError: A run is active in the chat.
        """
        if await self._store.active_run(chat_id) is not None:
            raise HttpError(409, "chat_busy", "A run is active in this chat: stop it first.")
        await self._store.delete_chat(chat_id)
        forget: Callable[[str], Awaitable[None]] | None = getattr(self._responder, "forget", None)
        if forget is not None:
            await forget(chat_id)
        self._channels.end(chat_id)

    async def poll(self, chat_id: str) -> None:
        """Let the run of a chat, if it is in this process, check for answers at once."""
        for run in list(self._runs.values()):
            if run.chat_id == chat_id:
                await run.poll()

    # Background tasks.

    async def _renew_leases(self) -> None:
        lease = self._limits.lease
        while True:
            await asyncio.sleep(lease / 3)
            # Leases of abandoned runs expire, so that another process can end them.
            runs = [run for run in self._runs.values() if not run.is_abandoned]
            if not runs:
                continue
            abandoned = self._runs.keys() - {run.run_id for run in runs}
            try:
                # All at once: single writes would queue, and the last lease could expire.
                alive = await asyncio.wait_for(
                    self._store.renew_all(self._owner, lease, exclude=abandoned), lease / 3
                )
            except (StoreError, asyncio.TimeoutError) as error:
                _log.warning(
                    "the leases of runs could not be renewed",
                    extra={"runs": len(runs), "error_type": type(error).__name__},
                )
                continue
            for run in runs:
                # A run that has ended meanwhile is not lost.
                if run.run_id not in alive and run.stop_reason is None:
                    run.lose_lease()

    async def _recover_dead_runs(self) -> None:
        while True:
            try:
                for record in await self._store.recover():
                    _log.warning(
                        "a run whose process died was ended",
                        extra={"chat_id": record.chat_id, "run_id": record.run_id},
                    )
            except StoreError as error:
                _log.warning(
                    "dead runs could not be recovered", extra={"error_type": type(error).__name__}
                )
            await asyncio.sleep(self._limits.lease / 2)
