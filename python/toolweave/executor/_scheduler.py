"""Scheduling of calls: when each may start, within the limits of its executor."""

from __future__ import annotations

import asyncio
import contextvars
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING

from ..exceptions import ToolFailed
from ._limiter import ExecutionLimiter

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from typing_extensions import Self

    from .._core import ToolCall
    from ._limiter import Limit, Permit, ReplyQueue
    from ._plan import Plan


class RunQueue:
    """Queue of the calls of one run. Only the scheduler uses it.

    Args:
        chat: Limit of the chat of the run.
        is_ordered: True if the start of a call may depend on other calls of the run.
    """

    __slots__ = ("calls", "chat", "is_ordered", "permit", "reply")

    def __init__(self, chat: Limit | None, *, is_ordered: bool) -> None:
        self.chat = chat
        self.is_ordered = is_ordered
        # Calls that need only a slot, and the permit that waits on their behalf.
        self.calls: deque[ScheduledCall] = deque()
        self.permit: Permit | None = None
        # All other calls.
        self.reply: ReplyQueue | None = None


class ScheduledCall(ABC):
    """Call as its scheduler and its run see it; see `Execution`."""

    __slots__ = ("__dict__", "call", "entered", "finished", "has_slot", "plan", "queue", "task")
    # Defaults of attributes that few calls set are class attributes, so they cost nothing.

    # Written by the call.
    plan: Plan
    call: ToolCall
    queue: RunQueue
    entered: bool
    """True if its task has started."""
    finished: bool
    """True if it has its outcome."""
    parent: Self | None = None
    """Call whose tool made this one."""
    children: tuple[Self, ...] = ()
    """Calls that its tool has made."""

    # Written by the scheduler only.
    task: asyncio.Task[None] | None
    # It holds a slot without a permit.
    has_slot: bool
    permit: Permit | None = None
    ready = False
    admitted = False
    suspensions = 0
    concurrency_key: Hashable | None = None
    # The submitter's context, while the call is queued without a task.
    queued_context: contextvars.Context | None = None
    waiting: asyncio.Future[None] | None = None

    @abstractmethod
    async def serve(self) -> None:
        """Run the call until it has an outcome."""

    @abstractmethod
    def fail(self, error: BaseException) -> None:
        """Finish the call, which cannot start because of an error."""

    @abstractmethod
    def interrupt(self) -> None:
        """Stop the call, since its result is no longer needed."""

    def log_fields(self, **more: object) -> dict[str, object]:
        """Return the fields of log records about the call. They never include arguments."""
        return {"tool": self.call.name, "tool_call_id": self.call.id, **more}

    def self_and_ancestors(self) -> Iterator[Self]:
        """Iterate over the call, its parent, and so on to the outermost call."""
        each: Self | None = self
        while each is not None:
            yield each
            each = each.parent

    def descendants(self) -> Iterator[Self]:
        """Iterate over the unfinished calls that its tool has made, recursively."""
        for child in self.children:
            if not child.finished:
                yield child
                yield from child.descendants()


class ExecutionScheduler:
    """Scheduler of all calls of an executor on one event loop.

    Args:
        loop: The event loop.
        max_concurrency: Maximum number of calls that run at once; None for no limit.
        max_concurrency_per_chat: Maximum number of calls of one chat that run at once; None for no
            limit.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        max_concurrency: int | None,
        max_concurrency_per_chat: int | None,
    ) -> None:
        self._loop = loop
        self._has_limits = not (max_concurrency is None and max_concurrency_per_chat is None)
        self._limiter = ExecutionLimiter(max_concurrency, max_concurrency_per_chat)
        self._queued: dict[Permit, ScheduledCall] = {}
        # Runs with queued calls, by the permit that waits on behalf of each.
        self._waiting_runs: dict[Permit, RunQueue] = {}
        self._key_holders: dict[Hashable, ScheduledCall] = {}
        # Calls whose tasks may not have started yet.
        self._unstarted: list[ScheduledCall] = []

    def open(self, chat_id: str | None, *, is_ordered: bool) -> RunQueue:
        """Return a queue for the calls of one run."""
        return RunQueue(self._limiter.chat(chat_id), is_ordered=is_ordered)

    def add(self, call: ScheduledCall) -> None:
        """Start a call as soon as it may have a task.

        A call that needs only a slot is started when it has one. Any other call waits for its
        limits in its task; see `wait`.
        """
        plan, queue = call.plan, call.queue
        if (
            queue.is_ordered
            or plan.limited
            or (self._has_limits and not (plan.direct and call.parent is None))
        ):
            if queue.reply is None:
                queue.reply = self._limiter.reply(queue.chat)
            try:
                self.enqueue(call, queue.reply if call.parent is None else None)
            except Exception as error:  # noqa: BLE001 - the key comes from the tool's own function
                call.fail(error)
                return
        elif self._has_limits and not self._try_acquire(call):
            return
        self._start(call)

    def _start(self, call: ScheduledCall, context: contextvars.Context | None = None) -> None:
        """Create the task of a call.

        Args:
            call: The call.
            context: Context of the submitter, if the current context is another.
        """
        serving = call.serve()
        if context is None:
            call.task = self._loop.create_task(serving)
        else:
            call.task = context.run(self._loop.create_task, serving)
        self._unstarted.append(call)
        if len(self._unstarted) == 1:
            self._loop.call_soon(self._check_starts)

    def _check_starts(self) -> None:
        """Finish calls whose tasks were cancelled before they started.

        All other calls finish themselves, without the cost of a done callback.
        """
        unstarted, self._unstarted = self._unstarted, []
        for call in unstarted:
            if call.entered or call.task is None:
                continue
            if call.task.done():
                call.fail(asyncio.CancelledError())
            else:
                self._unstarted.append(call)
        if self._unstarted:
            self._loop.call_soon(self._check_starts)

    def _try_acquire(self, call: ScheduledCall) -> bool:
        """Acquire a slot for a call without other limits; return False if it is queued.

        The queued calls of a run wait behind one permit, and get a task when they may start.
        """
        queue = call.queue
        if not queue.calls and self._limiter.try_acquire(queue.chat):
            call.has_slot = True
            return True
        call.queued_context = contextvars.copy_context()
        queue.calls.append(call)
        if queue.permit is None:
            self._enqueue_run(queue)
            self._start_ready()
        return False

    def withdraw(self, call: ScheduledCall) -> bool:
        """Remove a call that is queued without a task; return False if it is not."""
        was_queued, call.queued_context = call.queued_context is not None, None
        return was_queued

    def _enqueue_run(self, queue: RunQueue) -> None:
        permit = queue.permit = self._limiter.submit("", chat=queue.chat)
        self._waiting_runs[permit] = queue

    def _start_next_queued(self, queue: RunQueue) -> bool:
        """Start the next queued call of a run in a slot that it has acquired."""
        while queue.calls:
            call = queue.calls.popleft()
            context, call.queued_context = call.queued_context, None
            if context is not None:
                call.has_slot = True
                self._start(call, context)
                return True
        return False

    def _release_slot(self, queue: RunQueue) -> None:
        """Release a slot, or reuse it for the run's next call if no other call waits for it."""
        if (
            queue.calls
            and self._limiter.is_only_waiter(queue.permit, queue.chat)
            and self._start_next_queued(queue)
        ):
            if not queue.calls and queue.permit is not None:
                del self._waiting_runs[queue.permit]
                self._limiter.finish(queue.permit)
                queue.permit = None
            return
        self._limiter.release(queue.chat)
        if self._queued or self._waiting_runs:
            self._start_ready()

    def enqueue(self, call: ScheduledCall, reply: ReplyQueue | None = None) -> None:
        """Queue a call in the order of its reply, or by itself if it belongs to none.

        Raises:
            ToolFailed: The nested call would deadlock with a call that waits for its parent.
            Exception: The tool's own function for the key raised.
        """
        plan, parent = call.plan, call.parent
        key = call.concurrency_key = None if plan.key is None else plan.key(call.call.arguments)
        if parent is not None and key is not None and self._would_deadlock(call, key):
            raise ToolFailed(
                f"Tool '{plan.name}' was not called: it would wait for a call that waits for it."
            )
        if reply is None:
            permit = self._limiter.submit(
                plan.name,
                max_concurrency=plan.max_concurrency,
                key=key,
                parent=None if parent is None else parent.permit,
                chat=call.queue.chat,
            )
        else:
            permit = reply.submit(
                plan.name,
                max_concurrency=plan.max_concurrency,
                key=key,
                sequential=plan.sequential,
                after=plan.after,
            )
        call.permit = permit
        call.ready = call.ready or plan.direct
        self._queued[permit] = call
        self._start_ready()

    async def wait(self, call: ScheduledCall) -> None:
        """Wait until the call may start."""
        call.ready = True
        if call.suspensions:
            # It was admitted before it was ready.
            await self.resume(call)
        while not call.admitted:
            call.waiting = self._loop.create_future()
            try:
                await call.waiting
            finally:
                call.waiting = None

    def release(self, call: ScheduledCall) -> None:
        """Release the limits of a call that has ended or does not need them."""
        permit, call.permit = call.permit, None
        if call.has_slot:
            call.has_slot = False
            self._release_slot(call.queue)
        elif permit is not None:
            call.admitted, call.suspensions = False, 0
            self._limiter.finish(permit)
            del self._queued[permit]
            if self._key_holders.get(call.concurrency_key) is call:
                del self._key_holders[call.concurrency_key]
            self._start_ready()

    def suspend(self, call: ScheduledCall) -> None:
        """Release the slot of a call while it waits, so that other calls can run."""
        if call.has_slot:
            call.has_slot = False
            permit = call.permit = self._limiter.adopt(call.plan.name, call.queue.chat)
            call.ready = call.admitted = True
            self._queued[permit] = call
        if call.permit is not None:
            call.suspensions += 1
            if call.suspensions == 1:
                self._limiter.suspend(call.permit)
                self._start_ready()

    async def resume(self, call: ScheduledCall) -> None:
        """Wait until a suspended call has a slot again."""
        if call.permit is not None:
            call.suspensions -= 1
            if call.suspensions == 0:
                call.admitted = False
                self._limiter.resume(call.permit)
                self._start_ready()
                await self.wait(call)

    def _would_deadlock(self, call: ScheduledCall, key: Hashable) -> bool:
        """Return True if the holder of a key waits, directly or not, for a key of an ancestor.

        Only keys are held while a call waits for another; slots are released.
        """
        above = set(call.self_and_ancestors())
        holder = self._key_holders.get(key)
        seen: set[ScheduledCall] = set()
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
                queue = self._waiting_runs.pop(permit, None)
                if queue is not None:
                    queue.permit = None
                    if not self._start_next_queued(queue):
                        self._limiter.finish(permit)
                        continue
                    self._limiter.transfer(permit)
                    if queue.calls:
                        self._enqueue_run(queue)
                    continue
                call = self._queued[permit]
                call.admitted = True
                if call.concurrency_key is not None:
                    self._key_holders.setdefault(call.concurrency_key, call)
                if not call.ready:
                    self.suspend(call)
                elif call.waiting is not None and not call.waiting.done():
                    call.waiting.set_result(None)
