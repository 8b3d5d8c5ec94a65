"""Calls in line at the gate, as those who wait there see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..exceptions import ToolFailed
from .limits import Gate

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .call import Execution
    from .limits import Reply, Ticket


class Turns:
    """Whose turn it is, among all calls of an executor on one event loop.

    Args:
        max_concurrency: How many calls may run at once; None for any number.
    """

    def __init__(self, max_concurrency: int | None) -> None:
        self.bounded = max_concurrency is not None
        self._gate = Gate(max_concurrency)
        self._entered: dict[Ticket, Execution] = {}
        self._holders: dict[Hashable, Execution] = {}

    def reply(self) -> Reply:
        """The order among the calls of one reply."""
        return self._gate.reply()

    def enter(self, execution: Execution, reply: Reply | None) -> None:
        """Puts a call in line: in its reply's, or alone where it belongs to none.

        Raises:
            ToolFailed: It would wait for a call that waits for the one whose tool makes it.
        """
        plan = execution.plan
        key = execution.lock = None if plan.key is None else plan.key(execution.call.arguments)
        if execution.parent is not None and key is not None and self._in_a_circle(execution, key):
            raise ToolFailed(
                f"Tool '{plan.name}' was not called: it would wait for a call that waits for it."
            )
        if reply is None:
            parent = execution.parent
            ticket = self._gate.submit(
                plan.name,
                max_concurrency=plan.max_concurrency,
                key=key,
                parent=None if parent is None else parent.ticket,
            )
        else:
            ticket = reply.submit(
                plan.name,
                max_concurrency=plan.max_concurrency,
                key=key,
                sequential=plan.sequential,
                after=plan.after,
            )
        execution.ticket = ticket
        execution.ready = execution.ready or plan.direct
        self._entered[ticket] = execution
        self._call_up()

    async def wait(self, execution: Execution) -> None:
        """Returns when it is the call's turn."""
        execution.ready = True
        if execution.aside:
            # Its turn came before it was ready.
            await self.come_back(execution)
        while not execution.admitted:
            execution.waiting = execution.run.loop.create_future()
            try:
                await execution.waiting
            finally:
                execution.waiting = None

    def leave(self, execution: Execution) -> None:
        """The call is over, or needs no turn."""
        ticket, execution.ticket = execution.ticket, None
        if ticket is not None:
            execution.admitted, execution.aside = False, 0
            self._gate.finish(ticket)
            del self._entered[ticket]
            if self._holders.get(execution.lock) is execution:
                del self._holders[execution.lock]
            self._call_up()

    def step_aside(self, execution: Execution) -> None:
        """The call waits for something else: others may run in its place."""
        if execution.ticket is not None:
            execution.aside += 1
            if execution.aside == 1:
                self._gate.suspend(execution.ticket)
                self._call_up()

    async def come_back(self, execution: Execution) -> None:
        """The call goes on once there is a place for it again."""
        if execution.ticket is not None:
            execution.aside -= 1
            if execution.aside == 0:
                execution.admitted = False
                self._gate.resume(execution.ticket)
                self._call_up()
                await self.wait(execution)

    def _in_a_circle(self, execution: Execution, key: Hashable) -> bool:
        """Whether a key is held by a call that waits for a key of those that wait for this one.

        Keys are all that is held while waiting for a call; other places are left meanwhile.
        """
        above = set(execution.lineage())
        holder = self._holders.get(key)
        seen: set[Execution] = set()
        waited_for = [] if holder is None or holder in above else [holder]
        while waited_for:
            holder = waited_for.pop()
            if holder in above:
                return True
            if holder not in seen:
                seen.add(holder)
                waited_for += [
                    self._holders[each.lock]
                    for each in holder.descendants()
                    if not each.admitted and each.lock in self._holders
                ]
        return False

    def _call_up(self) -> None:
        # Who is called up may step aside, which lets others through.
        while startable := self._gate.start():
            for ticket in startable:
                execution = self._entered[ticket]
                execution.admitted = True
                if execution.lock is not None:
                    self._holders.setdefault(execution.lock, execution)
                if not execution.ready:
                    self.step_aside(execution)
                elif execution.waiting is not None and not execution.waiting.done():
                    execution.waiting.set_result(None)
