"""Calls in line at the gate, as those who wait there see it."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING

from ..exceptions import ToolFailed
from .limits import Gate

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .call import Execution
    from .limits import Chat, Reply, Ticket
    from .run import ToolRun


class Turns:
    """Whose turn it is, among all calls of an executor on one event loop.

    Args:
        max_concurrency: How many calls may run at once; None for any number.
        max_concurrency_per_chat: How many of these may be of one chat; None for any number.
    """

    def __init__(
        self, max_concurrency: int | None = None, max_concurrency_per_chat: int | None = None
    ) -> None:
        self.bounded = not (max_concurrency is None and max_concurrency_per_chat is None)
        self._gate = Gate(max_concurrency, max_concurrency_per_chat)
        self._entered: dict[Ticket, Execution] = {}
        # By the tickets of runs that hold calls.
        self._standing: dict[Ticket, ToolRun] = {}
        self._holders: dict[Hashable, Execution] = {}

    def chat(self, chat_id: str | None) -> Chat | None:
        """The limit of a chat, or of a run that is of none."""
        return self._gate.chat(chat_id)

    def reply(self, chat: Chat | None) -> Reply:
        """The order among the calls of one reply."""
        return self._gate.reply(chat)

    def pass_through(self, execution: Execution) -> bool:
        """Gives a place to a call that needs nothing else; False if it is in line for one.

        Those in line stand behind one ticket of their run, and get a task when it is their turn.
        """
        run = execution.run
        if not run.held and self._gate.pass_through(run.chat):
            execution.passed = True
            return True
        execution.held = contextvars.copy_context()
        run.held.append(execution)
        if run.standing is None:
            self._stand(run)
            self._call_up()
        return False

    def _stand(self, run: ToolRun) -> None:
        ticket = run.standing = self._gate.submit("", chat=run.chat)
        self._standing[ticket] = run

    def _begin_next(self, run: ToolRun) -> bool:
        """Begins the next call of those that the run holds, in a place that is free for it."""
        while run.held:
            execution = run.held.popleft()
            context, execution.held = execution.held, None
            if context is not None:
                execution.passed = True
                run.begin(execution, context)
                return True
        return False

    def _leave_place(self, run: ToolRun) -> None:
        """Hands a place on: to the next call of the run, if nobody else stands in line."""
        if run.held and self._gate.is_alone(run.standing, run.chat) and self._begin_next(run):
            if not run.held and run.standing is not None:
                del self._standing[run.standing]
                self._gate.finish(run.standing)
                run.standing = None
            return
        self._gate.give_back(run.chat)
        if self._entered or self._standing:
            self._call_up()

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
                chat=execution.run.chat,
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
        if execution.passed:
            execution.passed = False
            self._leave_place(execution.run)
        elif ticket is not None:
            execution.admitted, execution.aside = False, 0
            self._gate.finish(ticket)
            del self._entered[ticket]
            if self._holders.get(execution.lock) is execution:
                del self._holders[execution.lock]
            self._call_up()

    def step_aside(self, execution: Execution) -> None:
        """The call waits for something else: others may run in its place."""
        if execution.passed:
            execution.passed = False
            ticket = execution.ticket = self._gate.adopt(execution.plan.name, execution.run.chat)
            execution.ready = execution.admitted = True
            self._entered[ticket] = execution
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
                run = self._standing.pop(ticket, None)
                if run is not None:
                    run.standing = None
                    if not self._begin_next(run):
                        self._gate.finish(ticket)
                        continue
                    self._gate.hand_on(ticket)
                    if run.held:
                        self._stand(run)
                    continue
                execution = self._entered[ticket]
                execution.admitted = True
                if execution.lock is not None:
                    self._holders.setdefault(execution.lock, execution)
                if not execution.ready:
                    self.step_aside(execution)
                elif execution.waiting is not None and not execution.waiting.done():
                    execution.waiting.set_result(None)
