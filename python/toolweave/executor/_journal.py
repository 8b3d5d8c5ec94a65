"""Journal entries of calls: the start of the tool, and its outcome."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import TYPE_CHECKING

from .._aio.tasks import wait_until_done

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .._core import ToolCall, ToolResult
    from ..protocols import Journal
    from ._deferred import PendingResult


class EntryState(Enum):
    """State of a journal entry."""

    OPENING = "opening"
    """The start is being written."""
    REJECTED = "rejected"
    """The journal failed to write the start."""
    OPEN = "open"
    """The start is written."""
    CLOSING = "closing"
    """The outcome is being written."""


class JournalEntry:
    """Entry of one call in a journal.

    Cancelling a call does not cancel writes to the journal: an entry that was opened is closed.

    Args:
        journal: The journal.
        call: The call.
    """

    __slots__ = ("_call", "_journal", "_writing", "state")

    def __init__(self, journal: Journal, call: ToolCall) -> None:
        self._journal = journal
        self._call = call
        self._writing: asyncio.Future[None] | None = None
        self.state = EntryState.OPENING
        """State of the entry."""

    async def open(self) -> None:
        """Write the start of the tool.

        Raises:
            BaseException: The journal raised, or the call was cancelled. The tool must not run.
        """
        try:
            cancellation = await self._write(self._journal.started(self._call))
        except BaseException:
            self.state = EntryState.REJECTED
            raise
        self.state = EntryState.OPEN
        if cancellation is not None:
            raise cancellation

    def begin_closing(self) -> bool:
        """Reserve the end of the entry for one outcome; return False if it is not open."""
        is_open = self.state is EntryState.OPEN
        if is_open:
            self.state = EntryState.CLOSING
        return is_open

    async def finish(self, result: ToolResult) -> None:
        """Write the result of the call."""
        await self._write(self._journal.finished(self._call, result))

    async def defer(self, pending: PendingResult | None) -> None:
        """Write that the result is pending, if the journal has a method for that."""
        deferred = getattr(self._journal, "deferred", None)
        if deferred is not None:
            await self._write(deferred(self._call, pending))

    def abandon(self, detach: Callable[[asyncio.Future[None]], None]) -> None:
        """Cancel the write of a journal that does not answer.

        Args:
            detach: Function that keeps the write alive until it has ended.
        """
        if self._writing is not None:
            detach(self._writing)
            self._writing.cancel()

    async def _write(self, writing: Awaitable[None]) -> asyncio.CancelledError | None:
        """Wait for a write; return the cancellation of the call meanwhile, if any."""
        # In a separate task, since a tool may leave a pending cancellation behind.
        self._writing = asyncio.ensure_future(writing)
        cancellation = await wait_until_done(self._writing)
        self._writing.result()
        return cancellation


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
