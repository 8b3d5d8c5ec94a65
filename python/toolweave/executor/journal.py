"""What a journal is told of a call: that its tool starts, and what came of it."""

from __future__ import annotations

import asyncio
import logging
from enum import Enum
from typing import TYPE_CHECKING

from .deferred import Deferred

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .._core import ToolCall, ToolResult
    from ..protocols import Journal
    from .call import Execution

_log = logging.getLogger("toolweave.executor")


class _State(Enum):
    OPENING = "opening"
    OPEN = "open"
    CLOSING = "closing"
    REJECTED = "rejected"


class JournalEntry:
    """One call in a journal.

    Cancelling a call does not cancel what is being written about it: an entry that was opened is
    closed. A journal that does not outcome_future is waited for as long as a tool that does not stop.

    Args:
        journal: The journal.
        execution: The call.
    """

    __slots__ = ("_execution", "_has_deadline", "_journal", "_state", "_writing")

    def __init__(self, journal: Journal, execution: Execution) -> None:
        self._journal = journal
        self._execution = execution
        self._state = _State.OPENING
        self._has_deadline = False
        self._writing: asyncio.Future[None] | None = None

    @property
    def opening(self) -> bool:
        """Whether the start is being written."""
        return self._state is _State.OPENING

    @property
    def closing(self) -> bool:
        """Whether there is an outcome, which is being written."""
        return self._state is _State.CLOSING

    @property
    def rejected(self) -> bool:
        """Whether the journal did not take it."""
        return self._state is _State.REJECTED

    async def open(self) -> None:
        """Writes that the tool starts.

        Raises:
            BaseException: The journal raised, or the call was cancelled; the tool must not run.
        """
        try:
            cancelled = await self._write(self._journal.started(self._execution.call))
        except BaseException as error:
            self._state = _State.REJECTED
            self._failed(error)
            raise
        self._state = _State.OPEN
        if cancelled:
            raise asyncio.CancelledError

    async def close(self, outcome: ToolResult | Deferred) -> None:
        """Writes what came of the call, and then lets everybody know.

        What cannot be written nobody hears: the call counts as interrupted, as the journal has it.
        """
        if self._state is _State.CLOSING:
            # A tool that was given up has ended after all.
            return
        execution = self._execution
        if self._state is _State.OPEN:
            self._state = _State.CLOSING
            outcome = await self._finish(outcome)
        execution.run.finish(execution, outcome)

    def close_without_tool(self, outcome: ToolResult) -> None:
        """Closes the entry of a tool that does not stop, beside it."""
        run = self._execution.run
        run.detach(run.loop.create_task(self.close(outcome)))

    async def _finish(self, outcome: ToolResult | Deferred) -> ToolResult | Deferred:
        execution, journal = self._execution, self._journal
        run, call = execution.run, execution.call
        if run.interrupted:
            self.start_deadline()
        if isinstance(outcome, Deferred):
            outcome = run.deferred_calls.add(execution, outcome)
        try:
            if not isinstance(outcome, Deferred):
                outcome = truncate_for_journal(journal, call, outcome)
                await self._write(journal.finished(call, outcome))
            elif (deferred := getattr(journal, "deferred", None)) is not None:
                await self._write(deferred(call, run.deferred.get(execution.deferred_key)))
        except BaseException as error:  # noqa: BLE001 - raised for who reads the run
            self._failed(error)
            return execution.unrecorded_result()
        return outcome

    async def _write(self, writing: Awaitable[None]) -> bool:
        """Waits until it is written; true if the call was cancelled meanwhile."""
        # A task of its own: a tool may leave a cancellation behind that was meant for itself.
        self._writing = asyncio.ensure_future(writing)
        cancelled = False
        while not self._writing.done():
            try:
                await asyncio.wait((self._writing,))
            except asyncio.CancelledError:  # noqa: PERF203 - it waits again
                cancelled = True
        self._writing.result()
        return cancelled

    def _failed(self, error: BaseException) -> None:
        execution = self._execution
        if execution.finished:
            # It was given up, and this is how it leaves.
            return
        if isinstance(error, asyncio.CancelledError):
            # Whoever reads the run was not cancelled.
            error = RuntimeError(f"the journal was cancelled while it wrote: {error}".rstrip(": "))
        execution.run.deferred_calls.discard(execution)
        _log.error(
            "a journal failed, and the run with it",
            exc_info=error,
            extra=execution.log_fields(error_type=type(error).__name__),
        )
        execution.run.fail(error, execution)

    def start_deadline(self) -> None:
        """Somebody waits for the run to stop: what is being written has the grace of a tool."""
        if not self._has_deadline:
            self._has_deadline = True
            run = self._execution.run
            run.deadlines.add(run.loop.time() + run.defaults.cancel_grace, self)

    def expire(self, now: float) -> None:  # noqa: ARG002 - it is late enough
        """The time for writing the end is over."""
        if not self._execution.finished:
            self.give_up(self._execution.unrecorded_result())

    def give_up(self, result: ToolResult) -> None:
        """Goes on without a journal that does not outcome_future."""
        execution = self._execution
        _log.error(
            "a journal does not outcome_future and is given up", extra=execution.log_fields()
        )
        execution.run.deferred_calls.discard(execution)
        execution.run.finish(execution, result)
        if self._writing is not None:
            execution.run.detach(self._writing)
            self._writing.cancel()


def truncate_for_journal(journal: Journal | None, call: ToolCall, result: ToolResult) -> ToolResult:
    """Return the result as the journal can keep it."""
    truncate = getattr(journal, "truncate", None)
    found: ToolResult = result if truncate is None else truncate(call, result)
    return found


def check_journal(journal: object) -> None:
    """Whether this is a journal, or None.

    Raises:
        TypeError: It is something else.
    """
    if journal is not None and not (
        callable(getattr(journal, "started", None)) and callable(getattr(journal, "finished", None))
    ):
        raise TypeError(
            "a journal has the coroutine methods started and finished; "
            f"this one is a {type(journal).__name__}"
        )
