"""An answer with all that can be seen of it: what was selected, what the model wrote, the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from .._core import ReasoningDelta, TextDelta, ToolCallDelta
from ..kinds import SceneStatus
from ..lifecycle import RawText
from ..scenes import SceneStep

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from .. import Message, Selection, ToolCall, ToolResult
    from ..executor import DeferredResults, PendingResult
    from ..lifecycle import TurnEvent
    from ..protocols import Journal
    from ..web.responders import Reply

READERS = 4
"""How many tasks an event of a call passes on its way to whoever reads: of its tools, its reply,
its scenes, and the reader in here."""

TOGETHER = 0.1
"""For how many seconds what a model writes is collected: told piece by piece between the events
that are made of it, neither could be stored together. A whole call comes behind all of it."""

_PIECES = (TextDelta, ReasoningDelta, ToolCallDelta, RawText)

Hear: TypeAlias = Callable[[str], Awaitable[None]]
"""Is told what a model writes, as it comes."""


Opened: TypeAlias = "tuple[Reply, DeferredResults | None]"
"""A run, and where the answers to the questions of its tools go."""

Opening: TypeAlias = "Callable[[Hear, Journal, Selection | None], Opened]"
"""Begins a run, with an ear for its model and a journal for its tools."""


class PlaygroundReply:
    """A selection where there is one, then a run, with what its model writes.

    Args:
        opening: Begins the run.
        journal: Where its calls are written down.
        selecting: Selects a tool first; None for a run alone.
    """

    def __init__(
        self,
        opening: Opening,
        journal: Journal,
        selecting: Callable[[], Awaitable[Selection]] | None = None,
    ) -> None:
        self._opening = opening
        self._journal = journal
        self._selecting = selecting
        # Each event with the reply that it belongs to, and how many messages are whole by then.
        self._told: asyncio.Queue[tuple[TurnEvent, str | None, int] | None] = asyncio.Queue()
        self._reader: asyncio.Task[None] | None = None
        self._selector: asyncio.Future[Selection] | None = None
        self._run: Reply | None = None
        # Set while its reader waits for more, and while nothing of what was told is left.
        self._waits = asyncio.Event()
        self._taken = asyncio.Event()
        # What the model wrote and nobody was told of yet.
        self._raw = ""
        self._later: asyncio.TimerHandle | None = None
        self._cancelled = False
        self._left = False
        self._generation_id: str | None = None
        self._whole = 0
        self._deferred: DeferredResults | None = None

    @property
    def generation_id(self) -> str | None:
        """The reply of the model that the last event belongs to."""
        return self._generation_id

    @property
    def current_generation_id(self) -> str | None:
        """The reply whose calls run, where the run tells it apart from that of its events."""
        return getattr(self._run, "current_generation_id", None)

    @property
    def finished_messages(self) -> Sequence[Message]:
        """What was added to the chat up to the last event, whole replies only."""
        return () if self._run is None else self._run.finished_messages[: self._whole]

    @property
    def deferred(self) -> DeferredResults | None:
        """What the tools wait for."""
        return self._deferred

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TurnEvent:
        if self._reader is None:
            self._reader = asyncio.get_running_loop().create_task(self._read())
        if self._told.empty():
            self._taken.set()
        told = await self._told.get()
        if told is None:
            self._told.put_nowait(None)
            if self._run is not None:
                self._whole = len(self._run.finished_messages)
            # What the run raised is raised here; it has ended.
            await self._reader
            raise StopAsyncIteration
        event, self._generation_id, self._whole = told
        return event

    async def cancel(self) -> None:
        """Stops the selection, the model and the tools, and waits until they have."""
        self._cancelled = True
        if self._selector is not None:
            self._selector.cancel()
        if self._run is not None:
            await self._run.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._left = True
        self._taken.set()
        await self.cancel()
        if self._reader is not None:
            await asyncio.wait([self._reader])
            if not self._reader.cancelled():
                # Whoever has stopped reading does not want to know.
                self._reader.exception()

    # The run has a reader of its own, since what its model writes comes beside its events.

    async def _read(self) -> None:
        try:
            selection = await self._selected()
            self._run, self._deferred = self._opening(self._hear, InOrder(self), selection)
            async with self._run:
                if self._cancelled:
                    await self._run.cancel()
                events = aiter(self._run)
                while True:
                    self._waits.set()
                    try:
                        event = await anext(events)
                    except StopAsyncIteration:
                        break
                    finally:
                        self._waits.clear()
                    self._tell(event)
        finally:
            self._tell_raw()
            self._waits.set()
            self._told.put_nowait(None)

    async def _selected(self) -> Selection | None:
        if self._selecting is None or self._cancelled:
            return None
        selector = self._selector = asyncio.ensure_future(self._selecting())
        await asyncio.wait([selector])
        self._selector = None
        if selector.cancelled():
            return None
        self._put(selector.result(), None, 0)
        return selector.result()

    async def _hear(self, text: str) -> None:
        self._raw += text
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(TOGETHER, self._tell_raw)

    def _tell_raw(self) -> None:
        raw, self._raw = self._raw, ""
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if raw:
            self._tell(RawText(raw))

    def _tell(self, event: TurnEvent) -> None:
        if self._raw and not _is_piece(event):
            self._tell_raw()
        run = self._run
        if run is not None:
            self._put(event, run.generation_id, len(run.finished_messages))

    def _put(self, event: TurnEvent, generation_id: str | None, whole: int) -> None:
        self._told.put_nowait((event, generation_id, whole))
        if not self._left:
            self._taken.clear()

    async def caught_up(self) -> None:
        """Waits until all that the run has told so far has been taken."""
        # What was told just now wakes one reader after another, each in a turn of the loop.
        for _ in range(READERS):
            await asyncio.sleep(0)
        await self._waits.wait()
        await self._taken.wait()

    @property
    def journal(self) -> Journal:
        """Where the calls are written down in the end."""
        return self._journal


def _is_piece(event: TurnEvent) -> bool:
    """Whether it is a piece of a text or of a call, as raw text itself is."""
    return isinstance(event, _PIECES) or (
        isinstance(event, SceneStep) and event.status is SceneStatus.STREAMING
    )


class InOrder:
    """A journal that hears of a call when what came before it has been told.

    Args:
        reply: The reply that the calls belong to.
    """

    def __init__(self, reply: PlaygroundReply) -> None:
        self._reply = reply

    async def started(self, call: ToolCall) -> None:
        """A tool is about to be entered."""
        await self._reply.caught_up()
        await self._reply.journal.started(call)

    async def finished(self, call: ToolCall, result: ToolResult) -> None:
        """A call has its result."""
        await self._reply.caught_up()
        await self._reply.journal.finished(call, result)

    async def deferred(self, call: ToolCall, awaited: PendingResult) -> None:
        """The result of a call comes later."""
        write = getattr(self._reply.journal, "deferred", None)
        if write is not None:
            await self._reply.caught_up()
            await write(call, awaited)
