"""The runs of this process: who starts them, owns them, and sees to their end."""

from __future__ import annotations

import asyncio
import logging
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..exceptions import ChatBusyError, StoreError
from ..lifecycle import StreamEventMapper
from .errors import HttpError
from .run import ChatRun
from .security import ConcurrencyLimiter
from .tasks import end

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from .. import Message
    from ..store import MessageStore
    from .channels import ChatChannels
    from .late_results import LateResultPublisher
    from .limits import WebLimits
    from .responders import Responder

_log = logging.getLogger("toolweave.web")


@dataclass(frozen=True)
class StartedRun:
    """A run that was started."""

    run_id: str
    """The run."""
    sequence_number: int
    """The number of its first event: what the user said, if something was."""


class ChatRuns:
    """All runs of this process.

    Args:
        store: Where they are written down.
        feeds: Who is told.
        late: Who tells of results that come later.
        responder: What answers.
        limits: How many there may be, and for how long.
    """

    def __init__(
        self,
        store: MessageStore,
        feeds: ChatChannels,
        late: LateResultPublisher,
        responder: Responder,
        limits: WebLimits,
    ) -> None:
        self._store = store
        self._feeds = feeds
        self._late = late
        self._responder = responder
        self._limits = limits
        self._owner = uuid.uuid4().hex
        self._places = ConcurrencyLimiter(limits.runs, limits.runs_per_user, "runs")
        self._runs: dict[str, ChatRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # Chats that have all results, and could not be gone on with.
        self._owed: set[str] = set()
        self._chores: list[asyncio.Task[None]] = []
        self._closing = False

    async def forget(self, chat_id: str) -> None:
        """Has the responder forget what it keeps of a chat."""
        forget: Callable[[str], Awaitable[None]] | None = getattr(self._responder, "forget", None)
        if forget is not None:
            await forget(chat_id)

    def __len__(self) -> int:
        return len(self._runs)

    async def open(self) -> None:
        """Ends the runs of dead processes, now and from time to time, and keeps its own alive."""
        loop = asyncio.get_running_loop()
        self._chores = [
            loop.create_task(self._keep_alive()),
            loop.create_task(self._look_after_the_dead()),
        ]

    async def close(self) -> None:
        """Lets the runs come to their end for a while, and then interrupts them."""
        self._closing = True
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=self._limits.shutdown_grace)
        for run in list(self._runs.values()):
            run.stop("interrupted")
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=2 * self._limits.stop_grace)
        await end(*self._chores)

    async def start(
        self,
        chat_id: str,
        messages: Sequence[Message],
        user_id: str | None,
        *,
        payer: str | None = None,
    ) -> StartedRun:
        """Starts a run.

        Args:
            chat_id: The chat.
            messages: What the user says; nothing to go on with the history.
            user_id: Whose run it is.
            payer: Whose limits count; None for what goes on by itself.

        Raises:
            ChatBusyError: A run is going on in the chat.
            Refused: There are too many runs.
        """
        if self._closing:
            raise HttpError(
                503, "closing", "The server is shutting down.", headers={"Retry-After": "1"}
            )
        async with AsyncExitStack() as stack:
            self._places.take(payer)
            stack.callback(self._places.leave, payer)
            feed = await stack.enter_async_context(self._feeds.of(chat_id))
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
            )
            feed.publish(record.written.events)
            run = ChatRun(self._store, feed, self._responder, record, messages, self._limits)
            self._runs[run_id] = run
            feed.attend(run.look)
            task = asyncio.get_running_loop().create_task(self._go(run, stack.pop_all()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        _log.info("a run has started", extra={"chat_id": chat_id, "run_id": run_id})
        return StartedRun(run_id, record.first_event)

    async def _go(self, run: ChatRun, held: AsyncExitStack) -> None:
        async with held:
            try:
                await run.go()
            finally:
                del self._runs[run.run_id]
                run.leave()
        owed = run.chat_id in self._owed
        self._owed.discard(run.chat_id)
        try:
            if run.deferred:
                await self._late.announce(run.chat_id, run.deferred)
        except StoreError as error:
            _log.error("a late result cannot be told of", exc_info=error)
        if run.stop_reason == "deferred" or owed:
            await self.resume(run.chat_id, run.user_id)

    async def stop(self, run_id: str) -> bool:
        """Stops a run, wherever it is.

        Returns:
            Whether it was going on.
        """
        run = self._runs.get(run_id)
        if run is not None:
            run.stop("cancelled")
            return True
        return await self._store.request_stop(run_id)

    async def resume(self, chat_id: str, user_id: str | None) -> str | None:
        """Goes on with a chat whose last result has come, unless it is busy.

        Returns:
            The run that does.
        """
        try:
            pending = await self._store.pending(chat_id)
            if any(each.kind == "deferred" for each in pending):
                return None
            return (await self.start(chat_id, (), user_id)).run_id
        except (StoreError, HttpError) as error:
            if isinstance(error, ChatBusyError) and error.run_id in self._runs:
                # It looks for this when it ends; for another's run nobody here would.
                self._owed.add(chat_id)
            _log.info(
                "a chat does not go on by itself",
                extra={"chat_id": chat_id, "error_type": type(error).__name__},
            )
            return None

    async def look(self, chat_id: str) -> None:
        """Lets the run of a chat, if it is here, look for answers at once."""
        for run in list(self._runs.values()):
            if run.chat_id == chat_id:
                await run.look()

    # What is done from time to time.

    async def _keep_alive(self) -> None:
        lease = self._limits.lease
        while True:
            await asyncio.sleep(lease / 3)
            # What was given up nobody would ever end, if its code does not let go.
            runs = [run for run in self._runs.values() if not run.is_abandoned]
            if not runs:
                continue
            given_up = self._runs.keys() - {run.run_id for run in runs}
            try:
                # All at once: each would wait for its turn to write, and the last too long.
                alive = await asyncio.wait_for(
                    self._store.renew_all(self._owner, lease, exclude=given_up), lease / 3
                )
            except (StoreError, asyncio.TimeoutError) as error:
                _log.warning(
                    "runs could not be kept alive just now",
                    extra={"runs": len(runs), "error_type": type(error).__name__},
                )
                continue
            for run in runs:
                # One that has ended meanwhile is not lost.
                if run.run_id not in alive and run.stop_reason is None:
                    run.lose()

    async def _look_after_the_dead(self) -> None:
        while True:
            try:
                for record in await self._store.recover():
                    _log.warning(
                        "a run whose process died was ended",
                        extra={"chat_id": record.chat_id, "run_id": record.run_id},
                    )
            except StoreError as error:
                _log.warning(
                    "it cannot be looked for dead runs just now",
                    extra={"error_type": type(error).__name__},
                )
            await asyncio.sleep(self._limits.lease / 2)
