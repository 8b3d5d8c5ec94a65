"""Concurrency limits: which calls may start now.

An `ExecutionLimiter` tracks queued and running calls; it never waits itself. Submit a call to get
a permit, ask `start` for the permits of calls that may start, and `finish` a permit when its call
has ended. Unless other limits decide, calls start in the order of submission.

Example:
    >>> limiter = ExecutionLimiter(max_concurrency=1)
    >>> reply = limiter.reply()
    >>> first, second = reply.submit("search"), reply.submit("search")
    >>> limiter.start() == [first]
    True
    >>> limiter.finish(first)
    >>> limiter.start() == [second]
    True
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

K = TypeVar("K", bound="Hashable")


class Permit:
    """Request of one call for its limits, and the limits that it has acquired."""

    __slots__ = (
        "acquired",
        "admitted",
        "after",
        "finished",
        "index",
        "key",
        "limits",
        "name",
        "parent",
        "reply",
        "sequential",
    )

    def __init__(
        self, name: str, *, key: Hashable | None = None, parent: Permit | None = None
    ) -> None:
        self.name = name
        """Name of the tool."""
        self.sequential = False
        """True if the call runs alone among the calls of its reply."""
        self.admitted = False
        """True if no call of its reply blocks it any more, except by `after`."""
        self.finished = False
        """True if the call has ended."""
        self.key = key
        """Concurrency key of the call."""
        self.parent = parent
        """Permit of the call whose tool makes this one."""
        self.reply: ReplyQueue | None = None
        """Calls of the reply that it belongs to."""
        self.index = 0
        """Position in the reply."""
        self.after: list[str] = []
        """Tools whose earlier calls it still waits for."""
        self.limits: list[Limit] = []
        """Limits that it needs, in the order of acquisition."""
        self.acquired = 0
        """Number of limits that it has acquired."""

    def __repr__(self) -> str:
        return f"Ticket({self.name!r})"


class Limit:
    """Limit on concurrent calls, with a queue of permits that wait for it."""

    __slots__ = ("__weakref__", "maximum", "on_unused", "permits", "queue", "used")

    def __init__(self, maximum: int, on_unused: Callable[[], object] | None = None) -> None:
        self.maximum = maximum
        self.used = 0
        # How many permits need it. It is removed with the last of them.
        self.permits = 0
        self.queue: deque[Permit] = deque()
        self.on_unused = on_unused


class ExecutionLimiter:
    """Concurrency limits of an executor: overall, per chat, per tool and per key.

    A call acquires its limits one by one: key, tool, chat, overall. Since all calls use this order,
    there are no deadlocks. Each limit has a queue of its own, first in, first out.

    The cost of an operation does not depend on the number of calls.

    Args:
        max_concurrency: Maximum number of calls that run at once; None for no limit.
        max_concurrency_per_chat: Maximum number of calls of one chat that run at once; None for no
            limit.

    Raises:
        ValueError: A limit is less than 1.
    """

    def __init__(
        self, max_concurrency: int | None = None, max_concurrency_per_chat: int | None = None
    ) -> None:
        self._overall = None
        self._per_chat = None
        if max_concurrency_per_chat is not None:
            self._per_chat = _positive(max_concurrency_per_chat, "max_concurrency_per_chat")
        self._chats: WeakValueDictionary[str, Limit] = WeakValueDictionary()
        if max_concurrency is not None:
            self._overall = Limit(_positive(max_concurrency))
        self._tools: dict[str, Limit] = {}
        self._keys: dict[Hashable, Limit] = {}
        self._startable: list[Permit] = []

    def chat(self, chat_id: str | None = None) -> Limit | None:
        """Return the limit of a chat, or None if chats are not limited.

        The caller must keep a reference to it, since the limiter holds only a weak one.

        Args:
            chat_id: The chat; None for calls without a chat, which count as a chat of their own.
        """
        if self._per_chat is None:
            return None
        chat = None if chat_id is None else self._chats.get(chat_id)
        if chat is None:
            chat = Limit(self._per_chat)
            if chat_id is not None:
                self._chats[chat_id] = chat
        return chat

    def reply(self, chat: Limit | None = None) -> ReplyQueue:
        """Return a queue for the calls of a reply, to which `sequential` and `after` apply."""
        return ReplyQueue(self, chat)

    def try_acquire(self, chat: Limit | None) -> bool:
        """Acquire a slot without a permit, for a call without other limits, if one is free now.

        The caller returns it with `release`, or passes it to a permit with `adopt`.
        """
        overall = self._overall
        # If a slot is free, the queue is empty.
        if overall is not None:
            if overall.used >= overall.maximum:
                return False
            if chat is not None and chat.used >= chat.maximum:
                return False
            overall.used += 1
        elif chat is not None and chat.used >= chat.maximum:
            return False
        if chat is not None:
            chat.used += 1
        return True

    def release(self, chat: Limit | None) -> None:
        """Release a slot that was acquired without a permit."""
        if chat is not None:
            self._release_limit(chat)
        if self._overall is not None:
            self._release_limit(self._overall)

    def is_only_waiter(self, permit: Permit | None, chat: Limit | None) -> bool:
        """Return True if only this permit waits for a slot of its chat."""
        # Runs at the end of every call.
        if (
            chat is not None
            and (queue := chat.queue)
            and (len(queue) > 1 or queue[0] is not permit)
        ):
            return False
        overall = self._overall
        if overall is None or not (queue := overall.queue):
            return True
        return len(queue) == 1 and queue[0] is permit

    def transfer(self, permit: Permit) -> None:
        """Transfer the slot of a permit to a call without one, which returns it with `release`."""
        permit.finished = True
        for limit in permit.limits:
            limit.permits -= 1

    def adopt(self, name: str, chat: Limit | None) -> Permit:
        """Return a permit for a call that acquired its slot without one."""
        permit = self.create_permit(name, None, None, None, chat)
        permit.acquired = len(permit.limits)
        return permit

    def submit(
        self,
        name: str,
        *,
        max_concurrency: int | None = None,
        key: Hashable | None = None,
        parent: Permit | None = None,
        chat: Limit | None = None,
    ) -> Permit:
        """Submit a call that is not ordered within a reply, such as a nested call.

        Args:
            name: The tool.
            max_concurrency: Maximum number of calls of the tool that run at once.
            key: Concurrency key. Calls with the same key run one at a time, even of different
                tools.
            parent: Permit of the call whose tool makes this one. A key that one of its ancestors
                holds is not acquired again; see also `suspend`.
            chat: The limit of its chat.
        """
        permit = self.create_permit(name, max_concurrency, key, parent, chat)
        self.advance(permit)
        return permit

    def start(self) -> list[Permit]:
        """Return the permits of calls that may start or resume. Each is returned once."""
        startable, self._startable = self._startable, []
        return [permit for permit in startable if not permit.finished]

    def finish(self, permit: Permit) -> None:
        """Release the limits of a call that has ended or was cancelled. Idempotent."""
        if permit.finished:
            return
        permit.finished = True
        for position, limit in enumerate(permit.limits):
            if position < permit.acquired:
                self._release_limit(limit)
            limit.permits -= 1
            if limit.permits == 0 and limit.on_unused is not None:
                limit.on_unused()
        if permit.reply is not None:
            permit.reply.on_finished(permit)

    def is_idle(self) -> bool:
        """Return True if no call needs a limit and no state is left."""
        used = sum(chat.used for chat in self._chats.values())
        free = used == 0 and (self._overall is None or self._overall.used == 0)
        return free and not self._tools and not self._keys

    def suspend(self, permit: Permit) -> None:
        """Release the limits of a call, except its key, until `resume`.

        Otherwise a nested call could wait for the slot that its parent holds. The parent keeps its
        key, since it is still using what the key protects.
        """
        kept = 0 if permit.key is None else 1
        acquired, permit.acquired = permit.acquired, min(kept, permit.acquired)
        for limit in permit.limits[permit.acquired : acquired]:
            self._release_limit(limit)

    def resume(self, permit: Permit) -> None:
        """Queue a suspended call at the front, so that it continues as soon as a slot is free."""
        if not permit.finished:
            self.advance(permit, first=True)

    def create_permit(
        self,
        name: str,
        maximum: int | None,
        key: Hashable | None,
        parent: Permit | None,
        chat: Limit | None,
    ) -> Permit:
        """Create a permit with the limits that a call needs, without queueing it."""
        above = parent
        while above is not None and key is not None:
            if above.key == key:
                key = None
            above = above.parent
        permit = Permit(name, key=key, parent=parent)
        limits = permit.limits
        if key is not None:
            limits.append(_limit(self._keys, key, 1))
        if maximum is not None:
            limit = _limit(self._tools, name, _positive(maximum))
            limits.append(limit)
            if limit.maximum != maximum:
                # The tool was replaced by another of the same name.
                limit.maximum = maximum
                self._admit_waiting(limit)
        if chat is not None:
            limits.append(chat)
        if self._overall is not None:
            limits.append(self._overall)
        for limit in limits:
            limit.permits += 1
        return permit

    def advance(self, permit: Permit, *, first: bool = False) -> None:
        """Acquire the limits that a call still needs, or queue it for the next one."""
        limits = permit.limits
        while permit.acquired < len(limits):
            limit = limits[permit.acquired]
            # If a slot is free, the queue is empty.
            if limit.used >= limit.maximum:
                if first:
                    limit.queue.appendleft(permit)
                else:
                    limit.queue.append(permit)
                return
            limit.used += 1
            permit.acquired += 1
        self._startable.append(permit)

    def _release_limit(self, limit: Limit) -> None:
        limit.used -= 1
        self._admit_waiting(limit)

    def _admit_waiting(self, limit: Limit) -> None:
        while limit.queue and limit.used < limit.maximum:
            permit = limit.queue.popleft()
            # Skip calls that ended while they were queued.
            if not permit.finished:
                limit.used += 1
                permit.acquired += 1
                self.advance(permit)


class ReplyQueue:
    """Calls of one reply, in the order in which the model made them."""

    def __init__(self, limiter: ExecutionLimiter, chat: Limit | None = None) -> None:
        self._limiter = limiter
        self._chat = chat
        self._count = 0
        # Sequential calls, and calls behind one.
        self._held: deque[Permit] = deque()
        self._barrier: Permit | None = None
        # Admitted and unfinished calls.
        self._open = 0
        self._by_tool: dict[str, _ToolCalls] = {}

    def submit(
        self,
        name: str,
        *,
        max_concurrency: int | None = None,
        key: Hashable | None = None,
        sequential: bool = False,
        after: Iterable[str] = (),
    ) -> Permit:
        """Submit the next call of the reply.

        Args:
            name: The tool.
            max_concurrency: Maximum number of calls of the tool that run at once.
            key: Concurrency key. Calls with the same key run one at a time, even of different
                tools.
            sequential: If true, the call starts when all earlier calls have ended, and later calls
                start when it has ended.
            after: Names of tools whose earlier calls must have ended before this one starts. Only
                earlier calls count, so there are no cycles.
        """
        permit = self._limiter.create_permit(name, max_concurrency, key, None, self._chat)
        permit.sequential = sequential
        permit.reply = self
        permit.index = self._count
        permit.after.extend(after)
        self._count += 1
        named = self._by_tool.get(name)
        if named is None:
            named = self._by_tool[name] = _ToolCalls()
        named.unfinished.append(permit)
        self._held.append(permit)
        self._admit()
        return permit

    def _admit(self) -> None:
        while self._held and self._barrier is None:
            permit = self._held[0]
            if not permit.finished:
                if permit.sequential:
                    if self._open:
                        return
                    self._barrier = permit
                permit.admitted = True
                self._open += 1
                self._wait_for_predecessors(permit)
            self._held.popleft()

    def _wait_for_predecessors(self, permit: Permit) -> None:
        """Advance a call, or let it wait for an unfinished call that it comes after."""
        after = permit.after
        while after:
            named = self._by_tool.get(after[-1])
            if named is not None and named.first() < permit.index:
                heapq.heappush(named.waiting, (permit.index, permit))
                return
            after.pop()
        self._limiter.advance(permit)

    def on_finished(self, permit: Permit) -> None:
        """Admit calls that waited for one that has ended."""
        if permit.admitted:
            self._open -= 1
        if self._barrier is permit:
            self._barrier = None
        named = self._by_tool[permit.name]
        first = named.first()
        while named.waiting and named.waiting[0][0] <= first:
            _, waiting = heapq.heappop(named.waiting)
            if not waiting.finished:
                self._wait_for_predecessors(waiting)
        self._admit()


class _ToolCalls:
    """Calls of one tool in a reply, and the calls that wait for them."""

    __slots__ = ("unfinished", "waiting")

    def __init__(self) -> None:
        self.unfinished: deque[Permit] = deque()
        self.waiting: list[tuple[int, Permit]] = []

    def first(self) -> float:
        """Return the position of the first unfinished call."""
        while self.unfinished and self.unfinished[0].finished:
            self.unfinished.popleft()
        return self.unfinished[0].index if self.unfinished else float("inf")


def _limit(limits: dict[K, Limit], name: K, maximum: int) -> Limit:
    limit = limits.get(name)
    if limit is None:
        limit = limits[name] = Limit(maximum, lambda: limits.pop(name, None))
    return limit


def _positive(maximum: int, name: str = "max_concurrency") -> int:
    if maximum < 1:
        raise ValueError(f"{name} must be at least 1, got {maximum}")
    return maximum
