"""Replies with the raw text of their model: what it wrote, before anything was parsed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from .._core import ReasoningDelta, TextDelta, ToolCallDelta
from ..event_queue import EventQueue
from ..kinds import SceneStatus
from ..lifecycle import RawText
from ..models import closing
from ..runs import Run
from ..scenes import SceneStep

if TYPE_CHECKING:
    from types import TracebackType

    from .. import FunctionContract, Message, Selection, Update
    from ..agent import AgentRun
    from ..executor import DeferredResults
    from ..lifecycle import TurnEvent
    from ..protocols import ChatModel, ModelOptions
    from ..scenes import SceneRun

RAW_TEXT_INTERVAL = 0.1
"""For how many seconds what a model writes is collected: told piece by piece between the events
that are made of it, neither could be stored together. A whole call comes behind all of it."""

_PIECES = (TextDelta, ReasoningDelta, ToolCallDelta, RawText)

OnText: TypeAlias = Callable[[str], Awaitable[None]]
"""Is told what a model writes, as it comes."""


OpenedRun: TypeAlias = "tuple[AgentRun | SceneRun, DeferredResults | None]"
"""A run, and where the answers to the questions of its tools go."""

OpenRun: TypeAlias = "Callable[[OnText, Selection | None], OpenedRun]"
"""Begins a run, with an ear for its model."""


class RawTextModel:
    """A model, with an ear for what it writes.

    Args:
        model: The model.
        hear: Is told each piece of text before anybody else makes something of it.
    """

    def __init__(self, model: ChatModel, hear: Callable[[str], Awaitable[None]]) -> None:
        self._model = model
        self._hear = hear
        self.name: str = getattr(model, "name", type(model).__name__)
        """The name of the model."""
        self.provider: str = getattr(model, "provider", "unknown")
        """Whose model it is."""
        self.native_tools: bool = getattr(model, "native_tools", False)
        """Whether it makes native calls."""

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Answers as the model does."""
        answer = self._model.stream(messages, tools=tools, options=options)
        async with closing(answer) as updates:
            async for update in updates:
                if isinstance(update, TextDelta):
                    await self._hear(update.text)
                yield update
                # What became of it is told before the next piece is.
                await asyncio.sleep(0)


class RawTextRun(Run["TurnEvent"]):
    """A selection where there is one, then a run, with what its model writes.

    Args:
        opening: Begins the run.
        selecting: Selects a tool first; None for a run alone.
    """

    def __init__(
        self,
        open_run: OpenRun,
        selecting: Callable[[], Awaitable[Selection]] | None = None,
    ) -> None:
        self._open_run = open_run
        self._selecting = selecting
        # Each event with the reply that it belongs to, and how many messages are whole by then.
        self._told: EventQueue[tuple[TurnEvent, str | None, int]] = EventQueue()
        self._reader: asyncio.Task[None] | None = None
        self._selector: asyncio.Future[Selection] | None = None
        self._run: AgentRun | SceneRun | None = None
        # What the model wrote and nobody was told of yet.
        self._raw = ""
        self._later: asyncio.TimerHandle | None = None
        self._cancelled = False
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

    async def __anext__(self) -> TurnEvent:
        if self._reader is None:
            self._reader = asyncio.get_running_loop().create_task(self._read())
        try:
            event, self._generation_id, self._whole = await self._told.take()
        except StopAsyncIteration:
            pass
        else:
            return event
        if self._run is not None:
            self._whole = len(self._run.finished_messages)
        # What the run raised is raised here; it has ended.
        await self._reader
        raise StopAsyncIteration

    async def caught_up(self) -> None:
        """Waits until all that has happened so far was read, raw text apart."""
        if self._run is not None:
            await self._run.caught_up()
        await self._told.caught_up()

    async def cancel(self) -> None:
        """Stops the selection, the model and the tools, and waits until they have."""
        self._cancelled = True
        self._told.release()
        if self._selector is not None:
            self._selector.cancel()
        if self._run is not None:
            await self._run.cancel()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await super().__aexit__(kind, error, traceback)
        if self._reader is not None:
            await asyncio.wait([self._reader])
            if not self._reader.cancelled():
                # Whoever has stopped reading does not want to know.
                self._reader.exception()

    # The run has a reader of its own, since what its model writes comes beside its events.

    async def _read(self) -> None:
        try:
            selection = await self._selected()
            self._run, self._deferred = self._open_run(self._hear, selection)
            async with self._run:
                if self._cancelled:
                    await self._run.cancel()
                async for event in self._run:
                    self._tell(event)
        finally:
            self._tell_raw()
            self._told.end()

    async def _selected(self) -> Selection | None:
        if self._selecting is None or self._cancelled:
            return None
        selector = self._selector = asyncio.ensure_future(self._selecting())
        await asyncio.wait([selector])
        self._selector = None
        if selector.cancelled():
            return None
        self._told.put((selector.result(), None, 0))
        return selector.result()

    async def _hear(self, text: str) -> None:
        self._raw += text
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(RAW_TEXT_INTERVAL, self._tell_raw)

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
            self._told.put((event, run.generation_id, len(run.finished_messages)))


def _is_piece(event: TurnEvent) -> bool:
    """Whether it is a piece of a text or of a call, as raw text itself is."""
    return isinstance(event, _PIECES) or (
        isinstance(event, SceneStep) and event.status is SceneStatus.STREAMING
    )
