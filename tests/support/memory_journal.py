"""A journal in memory that records its writes and their times."""

from __future__ import annotations

import asyncio

from toolweave import ToolCall, ToolResult
from toolweave.executor import PendingResult

FOREVER = float("inf")


class MemoryJournal:
    """A journal that records its writes in order, with a configurable delay."""

    def __init__(
        self,
        log: list[tuple[str, str]] | None = None,
        *,
        starts: float = 0,
        ends: float = 0,
        fails_at: int | None = None,
    ) -> None:
        self.log: list[tuple[str, str]] = [] if log is None else log
        self.results: dict[str, ToolResult] = {}
        self.awaited: dict[str, PendingResult] = {}
        self._seconds = {"started": starts, "finished": ends, "deferred": ends}
        self._left = fails_at

    async def started(self, call: ToolCall) -> None:
        await self._write("started", call)

    async def finished(self, call: ToolCall, result: ToolResult) -> None:
        assert result.tool_call_id == call.id
        self.results[call.id] = result
        await self._write("finished", call)

    async def deferred(self, call: ToolCall, awaited: PendingResult) -> None:
        self.awaited[call.id] = awaited
        await self._write("deferred", call)

    async def _write(self, what: str, call: ToolCall) -> None:
        seconds = self._seconds[what]
        if seconds == FOREVER:
            await asyncio.Event().wait()
        await asyncio.sleep(seconds)
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise OSError("the disk is full")
        self.log.append((what, call.id))

    def of(self, call_id: str) -> list[str]:
        """Return the writes of a call."""
        return [what for what, of in self.log if of == call_id]
