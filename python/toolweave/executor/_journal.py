"""Journal entries of calls: the start of the tool, and its outcome."""

from __future__ import annotations

import asyncio
import logging
from enum import Enum
from typing import TYPE_CHECKING

from ._deferred import Deferred

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .._core import ToolCall, ToolResult
    from ..protocols import Journal
    from ._call import Execution

_log = logging.getLogger("toolweave.executor")


class _State(Enum):
    OPENING = "opening"
    OPEN = "open"
    CLOSING = "closing"
    REJECTED = "rejected"


class JournalEntry:
    """Entry of one call in a journal.

    Cancelling a call does not cancel writes to the journal: an entry that was opened is closed. A
    journal that does not answer gets the same grace period as a tool that does not stop.

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
        """True while the start is being written."""
        return self._state is _State.OPENING

    @property
    def closing(self) -> bool:
        """True while the outcome is being written."""
        return self._state is _State.CLOSING

    @property
    def rejected(self) -> bool:
        """True if the journal failed to write the start."""
        return self._state is _State.REJECTED

    async def open(self) -> None:
        """Write the start of the tool.

        Raises:
            BaseException: The journal raised, or the call was cancelled. The tool must not run.
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
        """Write the outcome of the call, and then publish it.

        An outcome that cannot be written is not published. The call counts as interrupted, as it
        does in the journal.
        """
        if self._state is _State.CLOSING:
            # An abandoned tool has ended after all.
            return
        execution = self._execution
        if self._state is _State.OPEN:
            self._state = _State.CLOSING
            outcome = await self._finish(outcome)
        execution.run.finish(execution, outcome)

    def close_without_tool(self, outcome: ToolResult) -> None:
        """Close the entry of a tool that does not stop, in a separate task."""
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
        except BaseException as error:  # noqa: BLE001 - raised for the reader of the run
            self._failed(error)
            return execution.unrecorded_result()
        return outcome

    async def _write(self, writing: Awaitable[None]) -> bool:
        """Wait for a write; return True if the call was cancelled meanwhile."""
        # In a separate task, since a tool may leave a pending cancellation behind.
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
            # The journal was abandoned, so its error is expected.
            return
        if isinstance(error, asyncio.CancelledError):
            # The reader of the run was not cancelled.
            error = RuntimeError(f"the journal was cancelled while it wrote: {error}".rstrip(": "))
        execution.run.deferred_calls.discard(execution)
        _log.error(
            "a journal failed, which ends the run",
            exc_info=error,
            extra=execution.log_fields(error_type=type(error).__name__),
        )
        execution.run.fail(error, execution)

    def start_deadline(self) -> None:
        """Give the journal the grace period of a tool, since the run is being stopped."""
        if not self._has_deadline:
            self._has_deadline = True
            run = self._execution.run
            run.deadlines.add(run.loop.time() + run.defaults.cancel_grace, self)

    def expire(self, now: float) -> None:  # noqa: ARG002 - it is late enough
        """Abandon the journal, since its grace period has ended."""
        if not self._execution.finished:
            self.abandon(self._execution.unrecorded_result())

    def abandon(self, result: ToolResult) -> None:
        """Abandon a journal that does not answer, and finish the call."""
        execution = self._execution
        _log.error("a journal does not answer and is abandoned", extra=execution.log_fields())
        execution.run.deferred_calls.discard(execution)
        execution.run.finish(execution, result)
        if self._writing is not None:
            execution.run.detach(self._writing)
            self._writing.cancel()


def truncate_for_journal(journal: Journal | None, call: ToolCall, result: ToolResult) -> ToolResult:
    """Return the result, truncated if the journal limits its size."""
    truncate = getattr(journal, "truncate", None)
    found: ToolResult = result if truncate is None else truncate(call, result)
    return found


def check_journal(journal: object) -> None:
    """Check that a journal has the required methods, or is None.

    Raises:
        TypeError: A method is missing.
    """
    if journal is not None and not (
        callable(getattr(journal, "started", None)) and callable(getattr(journal, "finished", None))
    ):
        raise TypeError(
            "journal must have the coroutine methods started and finished, "
            f"got {type(journal).__name__}"
        )
