"""Which calls may start now.

A `ConcurrencyLimiter` knows the bounds and who is at work; it never waits. Calls are submitted and finished, and
`start` says which ones may begin, in the order in which they were submitted where nothing else
decides.

Example:
    >>> gate = Gate(max_concurrency=1)
    >>> reply = gate.reply()
    >>> first, second = reply.submit("search"), reply.submit("search")
    >>> gate.start() == [first]
    True
    >>> gate.finish(first)
    >>> gate.start() == [second]
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
    """One call on its way through a gate."""

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
        """The tool."""
        self.sequential = False
        """Whether it runs alone among the calls of its reply."""
        self.admitted = False
        """Whether nothing in its reply stands before it any more, but for `after`."""
        self.finished = False
        """Whether it is over."""
        self.key = key
        """What it must have for itself."""
        self.parent = parent
        """The call whose tool makes this one."""
        self.reply: ReplyQueue | None = None
        """The reply that it belongs to."""
        self.index = 0
        """Its position in there."""
        self.after: list[str] = []
        """The tools whose earlier calls it still waits for."""
        self.limits: list[_Limit] = []
        """The limits that it needs, in the order of taking them."""
        self.acquired = 0
        """How many of them it has."""

    def __repr__(self) -> str:
        return f"Ticket({self.name!r})"


class _Limit:
    """So many at once; the others stand in line."""

    __slots__ = ("__weakref__", "forget", "maximum", "permits", "queue", "used")

    def __init__(self, maximum: int, forget: Callable[[], object]) -> None:
        self.maximum = maximum
        self.used = 0
        # How many tickets need it; with the last of them it is forgotten.
        self.permits = 0
        self.queue: deque[Permit] = deque()
        self.forget = forget


class ChatLimit(_Limit):
    """The calls of one chat, or of one run that is of none; forgotten with the last of its runs."""

    __slots__ = ()

    def __init__(self, maximum: int) -> None:
        super().__init__(maximum, lambda: None)


class ConcurrencyLimiter:
    """The bounds of an executor: over all of its calls, by chat, by tool and by key.

    A call takes the limits that it needs one after the other: the key's, the tool's, the chat's,
    the one over all. As all take them in that order, no two wait for each other. Each limit has a
    line of its own, first come, first served.

    What an operation costs does not depend on how many calls there are.

    Args:
        max_concurrency: How many calls may run at once; None for any number.
        max_concurrency_per_chat: How many of these may be of one chat; None for any number.

    Raises:
        ValueError: A limit lets nothing through.
    """

    def __init__(
        self, max_concurrency: int | None = None, max_concurrency_per_chat: int | None = None
    ) -> None:
        self._overall = None
        self._per_chat = None
        if max_concurrency_per_chat is not None:
            self._per_chat = _positive(max_concurrency_per_chat, "max_concurrency_per_chat")
        self._chats: WeakValueDictionary[str, ChatLimit] = WeakValueDictionary()
        if max_concurrency is not None:
            self._overall = _Limit(_positive(max_concurrency), lambda: None)
        self._tools: dict[str, _Limit] = {}
        self._keys: dict[Hashable, _Limit] = {}
        self._startable: list[Permit] = []

    def chat(self, chat_id: str | None = None) -> ChatLimit | None:
        """The limit of a chat, for as long as somebody keeps it; None where there is none.

        Args:
            chat_id: The chat; None for calls of no chat, which count as one of their own.
        """
        if self._per_chat is None:
            return None
        chat = None if chat_id is None else self._chats.get(chat_id)
        if chat is None:
            chat = ChatLimit(self._per_chat)
            if chat_id is not None:
                self._chats[chat_id] = chat
        return chat

    def reply(self, chat: ChatLimit | None = None) -> ReplyQueue:
        """Calls that were made together: `sequential` and `after` hold among them."""
        return ReplyQueue(self, chat)

    def try_acquire(self, chat: ChatLimit | None) -> bool:
        """Takes a place for a call that needs no more than that, if there is one now.

        It is to be given back by `release`, or to a ticket by `adopt`.
        """
        overall = self._overall
        # Where there is a place, nobody stands in line.
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

    def release(self, chat: ChatLimit | None) -> None:
        """The place of a call that has passed through is free."""
        if chat is not None:
            self._release_limit(chat)
        if self._overall is not None:
            self._release_limit(self._overall)

    def is_only_waiter(self, permit: Permit | None, chat: ChatLimit | None) -> bool:
        """Whether nobody but a ticket stands in line for a place of its chat."""
        # Asked at the end of every call.
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
        """The place of a ticket is another's from here on, who gives it back by `release`."""
        permit.finished = True
        for limit in permit.limits:
            limit.permits -= 1

    def adopt(self, name: str, chat: ChatLimit | None) -> Permit:
        """A ticket for a call that has passed through, with the place that it has."""
        permit = self.permit(name, None, None, None, chat)
        permit.acquired = len(permit.limits)
        return permit

    def submit(
        self,
        name: str,
        *,
        max_concurrency: int | None = None,
        key: Hashable | None = None,
        parent: Permit | None = None,
        chat: ChatLimit | None = None,
    ) -> Permit:
        """A call that stands in no order of a reply, such as one that a tool makes.

        Args:
            name: The tool.
            max_concurrency: How many calls of it may run at once.
            key: Calls with the same key run one at a time, whichever tool they are of.
            parent: The call whose tool makes this one. A key that it or one of its own parents
                holds is not waited for; see also `suspend`.
            chat: The limit of its chat.
        """
        permit = self.permit(name, max_concurrency, key, parent, chat)
        self.advance(permit)
        return permit

    def start(self) -> list[Permit]:
        """Those that may start now, or go on. Each is returned once, and runs from then on."""
        startable, self._startable = self._startable, []
        return [permit for permit in startable if not permit.finished]

    def finish(self, permit: Permit) -> None:
        """A call is over, or was given up, started or not. Doing so again changes nothing."""
        if permit.finished:
            return
        permit.finished = True
        for position, limit in enumerate(permit.limits):
            if position < permit.acquired:
                self._release_limit(limit)
            limit.permits -= 1
            if limit.permits == 0:
                limit.forget()
        if permit.reply is not None:
            permit.reply.on_finished(permit)

    def is_idle(self) -> bool:
        """Whether no call needs a limit any more; then nothing is remembered of any."""
        used = sum(chat.used for chat in self._chats.values())
        free = used == 0 and (self._overall is None or self._overall.used == 0)
        return free and not self._tools and not self._keys

    def suspend(self, permit: Permit) -> None:
        """A running call waits for one that it makes; until `resume`, its place is free.

        Otherwise the call that it makes could wait for the very place that it holds itself. Its
        key it keeps: what the key protects is in its hands.
        """
        kept = 0 if permit.key is None else 1
        acquired, permit.acquired = permit.acquired, min(kept, permit.acquired)
        for limit in permit.limits[permit.acquired : acquired]:
            self._release_limit(limit)

    def resume(self, permit: Permit) -> None:
        """A call that was suspended wants to go on: before all others, once there is a place."""
        if not permit.finished:
            self.advance(permit, first=True)

    def permit(
        self,
        name: str,
        maximum: int | None,
        key: Hashable | None,
        parent: Permit | None,
        chat: ChatLimit | None,
    ) -> Permit:
        """A call that needs its limits, and does not stand in line for them yet."""
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
                # The tool was replaced by one of its name.
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
        """Takes the limits that a call still needs, or puts it in line for the next one."""
        limits = permit.limits
        while permit.acquired < len(limits):
            limit = limits[permit.acquired]
            # Where there is a place, nobody stands in line.
            if limit.used >= limit.maximum:
                if first:
                    limit.queue.appendleft(permit)
                else:
                    limit.queue.append(permit)
                return
            limit.used += 1
            permit.acquired += 1
        self._startable.append(permit)

    def _release_limit(self, limit: _Limit) -> None:
        limit.used -= 1
        self._admit_waiting(limit)

    def _admit_waiting(self, limit: _Limit) -> None:
        while limit.queue and limit.used < limit.maximum:
            permit = limit.queue.popleft()
            # Whoever left while standing in line is passed over.
            if not permit.finished:
                limit.used += 1
                permit.acquired += 1
                self.advance(permit)


class ReplyQueue:
    """The calls of one reply, in the order in which the model made them."""

    def __init__(self, limiter: ConcurrencyLimiter, chat: ChatLimit | None = None) -> None:
        self._limiter = limiter
        self._chat = chat
        self._count = 0
        # Behind a barrier, or barriers themselves.
        self._held: deque[Permit] = deque()
        self._barrier: Permit | None = None
        # Admitted and not over.
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
        """The next call of the reply.

        Args:
            name: The tool.
            max_concurrency: How many calls of it may run at once.
            key: Calls with the same key run one at a time, whichever tool they are of.
            sequential: It starts when all calls before it are over, and none after it starts
                until it is over itself.
            after: It starts when the calls before it of the tools with these names are over. Only
                calls that were made before it count, so no two can wait for each other.
        """
        permit = self._limiter.permit(name, max_concurrency, key, None, self._chat)
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
        """Lets a call go on unless one that it comes after is not over yet."""
        after = permit.after
        while after:
            named = self._by_tool.get(after[-1])
            if named is not None and named.first() < permit.index:
                heapq.heappush(named.waiting, (permit.index, permit))
                return
            after.pop()
        self._limiter.advance(permit)

    def on_finished(self, permit: Permit) -> None:
        """One of its calls is over: others may have waited for that."""
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
    """The calls of one tool in a reply, and the calls that come after them."""

    __slots__ = ("unfinished", "waiting")

    def __init__(self) -> None:
        self.unfinished: deque[Permit] = deque()
        self.waiting: list[tuple[int, Permit]] = []

    def first(self) -> float:
        """The position of the first call that is not over."""
        while self.unfinished and self.unfinished[0].finished:
            self.unfinished.popleft()
        return self.unfinished[0].index if self.unfinished else float("inf")


def _limit(limits: dict[K, _Limit], name: K, maximum: int) -> _Limit:
    limit = limits.get(name)
    if limit is None:
        limit = limits[name] = _Limit(maximum, lambda: limits.pop(name, None))
    return limit


def _positive(maximum: int, name: str = "max_concurrency") -> int:
    if maximum < 1:
        raise ValueError(f"{name} must be at least 1, got {maximum}")
    return maximum
