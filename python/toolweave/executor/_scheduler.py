"""Scheduling of calls: when each may start, within the limits of its executor."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING

from ..exceptions import ToolFailed
from ._limiter import ExecutionLimiter

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ._call import Execution
    from ._limiter import ChatLimit, Permit, ReplyQueue
    from ._run import ToolRun


class ExecutionScheduler:
    """Scheduler of all calls of an executor on one event loop.

    Args:
        max_concurrency: Maximum number of calls that run at once; None for no limit.
        max_concurrency_per_chat: Maximum number of calls of one chat that run at once; None for no
            limit.
    """

    def __init__(
        self, max_concurrency: int | None = None, max_concurrency_per_chat: int | None = None
    ) -> None:
        self.has_limits = not (max_concurrency is None and max_concurrency_per_chat is None)
        self._limiter = ExecutionLimiter(max_concurrency, max_concurrency_per_chat)
        self._queued: dict[Permit, Execution] = {}
        # Runs with queued calls, by the permit that waits on behalf of each.
        self._waiting_runs: dict[Permit, ToolRun] = {}
        self._key_holders: dict[Hashable, Execution] = {}

    def chat(self, chat_id: str | None) -> ChatLimit | None:
        """Return the limit of a chat, or of a run without a chat."""
        return self._limiter.chat(chat_id)

    def reply(self, chat: ChatLimit | None) -> ReplyQueue:
        """Return a queue for the calls of one reply."""
        return self._limiter.reply(chat)

    def try_acquire(self, execution: Execution) -> bool:
        """Acquire a slot for a call without other limits; return False if it is queued.

        The queued calls of a run wait behind one permit, and get a task when they may start.
        """
        run = execution.run
        if not run.queued and self._limiter.try_acquire(run.chat):
            execution.has_slot = True
            return True
        execution.queued_context = contextvars.copy_context()
        run.queued.append(execution)
        if run.waiting_permit is None:
            self._enqueue_run(run)
            self._start_ready()
        return False

    def _enqueue_run(self, run: ToolRun) -> None:
        permit = run.waiting_permit = self._limiter.submit("", chat=run.chat)
        self._waiting_runs[permit] = run

    def _start_next_queued(self, run: ToolRun) -> bool:
        """Start the next queued call of a run in a slot that it has acquired."""
        while run.queued:
            execution = run.queued.popleft()
            context, execution.queued_context = execution.queued_context, None
            if context is not None:
                execution.has_slot = True
                run.start_task(execution, context)
                return True
        return False

    def _release_slot(self, run: ToolRun) -> None:
        """Release a slot, or reuse it for the run's next call if no other call waits for it."""
        if (
            run.queued
            and self._limiter.is_only_waiter(run.waiting_permit, run.chat)
            and self._start_next_queued(run)
        ):
            if not run.queued and run.waiting_permit is not None:
                del self._waiting_runs[run.waiting_permit]
                self._limiter.finish(run.waiting_permit)
                run.waiting_permit = None
            return
        self._limiter.release(run.chat)
        if self._queued or self._waiting_runs:
            self._start_ready()

    def enqueue(self, execution: Execution, reply: ReplyQueue | None) -> None:
        """Queue a call in the order of its reply, or by itself if it belongs to none.

        Raises:
            ToolFailed: The nested call would deadlock with a call that waits for its parent.
        """
        plan = execution.plan
        key = execution.concurrency_key = (
            None if plan.key is None else plan.key(execution.call.arguments)
        )
        if (
            execution.parent is not None
            and key is not None
            and self._would_deadlock(execution, key)
        ):
            raise ToolFailed(
                f"Tool '{plan.name}' was not called: it would wait for a call that waits for it."
            )
        if reply is None:
            parent = execution.parent
            permit = self._limiter.submit(
                plan.name,
                max_concurrency=plan.max_concurrency,
                key=key,
                parent=None if parent is None else parent.permit,
                chat=execution.run.chat,
            )
        else:
            permit = reply.submit(
                plan.name,
                max_concurrency=plan.max_concurrency,
                key=key,
                sequential=plan.sequential,
                after=plan.after,
            )
        execution.permit = permit
        execution.ready = execution.ready or plan.direct
        self._queued[permit] = execution
        self._start_ready()

    async def wait(self, execution: Execution) -> None:
        """Wait until the call may start."""
        execution.ready = True
        if execution.suspensions:
            # It was admitted before it was ready.
            await self.resume(execution)
        while not execution.admitted:
            execution.waiting = execution.run.loop.create_future()
            try:
                await execution.waiting
            finally:
                execution.waiting = None

    def release(self, execution: Execution) -> None:
        """Release the limits of a call that has ended or does not need them."""
        permit, execution.permit = execution.permit, None
        if execution.has_slot:
            execution.has_slot = False
            self._release_slot(execution.run)
        elif permit is not None:
            execution.admitted, execution.suspensions = False, 0
            self._limiter.finish(permit)
            del self._queued[permit]
            if self._key_holders.get(execution.concurrency_key) is execution:
                del self._key_holders[execution.concurrency_key]
            self._start_ready()

    def suspend(self, execution: Execution) -> None:
        """Release the slot of a call while it waits, so that other calls can run."""
        if execution.has_slot:
            execution.has_slot = False
            permit = execution.permit = self._limiter.adopt(execution.plan.name, execution.run.chat)
            execution.ready = execution.admitted = True
            self._queued[permit] = execution
        if execution.permit is not None:
            execution.suspensions += 1
            if execution.suspensions == 1:
                self._limiter.suspend(execution.permit)
                self._start_ready()

    async def resume(self, execution: Execution) -> None:
        """Wait until a suspended call has a slot again."""
        if execution.permit is not None:
            execution.suspensions -= 1
            if execution.suspensions == 0:
                execution.admitted = False
                self._limiter.resume(execution.permit)
                self._start_ready()
                await self.wait(execution)

    def _would_deadlock(self, execution: Execution, key: Hashable) -> bool:
        """Return True if the holder of a key waits, directly or not, for a key of an ancestor.

        Only keys are held while a call waits for another; slots are released.
        """
        above = set(execution.self_and_ancestors())
        holder = self._key_holders.get(key)
        seen: set[Execution] = set()
        waited_for = [] if holder is None or holder in above else [holder]
        while waited_for:
            holder = waited_for.pop()
            if holder in above:
                return True
            if holder not in seen:
                seen.add(holder)
                waited_for += [
                    self._key_holders[each.concurrency_key]
                    for each in holder.descendants()
                    if not each.admitted and each.concurrency_key in self._key_holders
                ]
        return False

    def _start_ready(self) -> None:
        # A call that is admitted may be suspended at once, which admits others.
        while startable := self._limiter.start():
            for permit in startable:
                run = self._waiting_runs.pop(permit, None)
                if run is not None:
                    run.waiting_permit = None
                    if not self._start_next_queued(run):
                        self._limiter.finish(permit)
                        continue
                    self._limiter.transfer(permit)
                    if run.queued:
                        self._enqueue_run(run)
                    continue
                execution = self._queued[permit]
                execution.admitted = True
                if execution.concurrency_key is not None:
                    self._key_holders.setdefault(execution.concurrency_key, execution)
                if not execution.ready:
                    self.suspend(execution)
                elif execution.waiting is not None and not execution.waiting.done():
                    execution.waiting.set_result(None)
