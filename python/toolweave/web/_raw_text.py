"""Runs that also emit the raw text of their model, before anything is parsed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from .._aio.event_queue import EventQueue
from .._aio.runs import Run
from .._core import ReasoningDelta, TextDelta, ToolCallDelta
from ..kinds import SceneStatus
from ..lifecycle import RawText
from ..models import closing
from ..models._identity import identify
from ..scenes import SceneStep

if TYPE_CHECKING:
    from types import TracebackType

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..agent import AgentRun
    from ..executor import DeferredResults
    from ..lifecycle import TurnEvent
    from ..protocols import ChatModel, ModelOptions
    from ..scenes import SceneRun
    from ..selection import Selection

RAW_TEXT_INTERVAL = 0.1
"""Time for which raw text is collected, in seconds.

Without it, pieces of raw text and the events parsed from them would alternate, so that neither
could be merged for storage. All raw text of a call is emitted before the complete call.
"""

_DELTA_TYPES = (TextDelta, ReasoningDelta, ToolCallDelta, RawText)

OnText: TypeAlias = Callable[[str], None]
"""Callback for each piece of text that a model writes."""

OpenRun: TypeAlias = "Callable[[OnText, Selection | None], AgentRun | SceneRun]"
"""Function that opens a run, with a callback for its model's text and the selection, if any."""


class RawTextModel:
    """A model whose text is also passed to a callback.

    Args:
        model: The model.
        on_text: Callback for each piece of text, before it is parsed.
    """

    def __init__(self, model: ChatModel, on_text: OnText) -> None:
        self._model = model
        self._on_text = on_text
        identity = identify(model)
        self.name = identity.name
        """Name of the model."""
        self.provider = identity.provider
        """Name of the model's provider."""
        self.native_tools = identity.native_tools
        """True if the model makes native calls."""
        self.structured_output = identity.structured_output
        """True if requests have the schema of the reply."""

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Stream the updates of the model."""
        stream = self._model.stream(messages, tools=tools, options=options)
        async with closing(stream) as updates:
            async for update in updates:
                if isinstance(update, TextDelta):
                    self._on_text(update.text)
                yield update
                # Events parsed from this update are emitted before the next one is read.
                await asyncio.sleep(0)


class RawTextRun(Run["TurnEvent"]):
    """An optional selection, then a run, with the raw text of its model.

    Args:
        open_run: Function that opens the run.
        select: Function that selects a tool first; None for a run without a selection.
    """

    def __init__(
        self, open_run: OpenRun, select: Callable[[], Awaitable[Selection]] | None = None
    ) -> None:
        self._open_run = open_run
        self._select = select
        # Each event with the reply that it belongs to, and the number of messages finished by then.
        self._events: EventQueue[tuple[TurnEvent, str | None, int]] = EventQueue()
        self._reader: asyncio.Task[None] | None = None
        self._selection_task: asyncio.Future[Selection] | None = None
        self._run: AgentRun | SceneRun | None = None
        # Raw text that is not emitted yet.
        self._raw = ""
        self._timer: asyncio.TimerHandle | None = None
        self._cancelled = False
        self.generation_id: str | None = None
        """Id of the model's reply that the last event belongs to."""
        self._finished_count = 0

    @property
    def current_generation_id(self) -> str | None:
        """Id of the reply whose calls run; None if the run does not distinguish it."""
        return getattr(self._run, "current_generation_id", None)

    @property
    def finished_messages(self) -> Sequence[Message]:
        """Messages added to the chat up to the last event, of finished replies only."""
        return () if self._run is None else self._run.finished_messages[: self._finished_count]

    @property
    def deferred(self) -> DeferredResults | None:
        """Deferred results that the tools wait for."""
        return getattr(self._run, "deferred", None)

    async def __anext__(self) -> TurnEvent:
        if self._reader is None:
            self._reader = asyncio.get_running_loop().create_task(self._read())
        try:
            event, self.generation_id, self._finished_count = await self._events.take()
        except StopAsyncIteration:
            pass
        else:
            return event
        if self._run is not None:
            self._finished_count = len(self._run.finished_messages)
        # The run has ended; raise its exception, if any.
        await self._reader
        raise StopAsyncIteration

    async def caught_up(self) -> None:
        """Wait until all events so far were read, except raw text."""
        if self._run is not None:
            await self._run.caught_up()
        await self._events.caught_up()

    async def cancel(self) -> None:
        """Stop the selection, the model and the tools, and wait until they have stopped."""
        self._cancelled = True
        self._events.release()
        if self._selection_task is not None:
            self._selection_task.cancel()
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
                # The caller stopped reading, so the exception is marked as retrieved.
                self._reader.exception()

    # A task of its own reads the run, since raw text arrives concurrently with its events.

    async def _read(self) -> None:
        try:
            selection = await self._run_selection()
            self._run = self._open_run(self._on_text, selection)
            async with self._run:
                if self._cancelled:
                    await self._run.cancel()
                async for event in self._run:
                    self._emit(event)
        finally:
            self._flush_raw()
            self._events.end()

    async def _run_selection(self) -> Selection | None:
        if self._select is None or self._cancelled:
            return None
        selection_task = self._selection_task = asyncio.ensure_future(self._select())
        await asyncio.wait([selection_task])
        self._selection_task = None
        if selection_task.cancelled():
            return None
        self._events.put((selection_task.result(), None, 0))
        return selection_task.result()

    def _on_text(self, text: str) -> None:
        self._raw += text
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(RAW_TEXT_INTERVAL, self._flush_raw)

    def _flush_raw(self) -> None:
        raw, self._raw = self._raw, ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if raw:
            self._emit(RawText(raw))

    def _emit(self, event: TurnEvent) -> None:
        if self._raw and not _is_delta(event):
            self._flush_raw()
        run = self._run
        if run is not None:
            self._events.put((event, run.generation_id, len(run.finished_messages)))


def _is_delta(event: TurnEvent) -> bool:
    """Return True if the event is a delta of a text or of a call, as raw text itself is."""
    return isinstance(event, _DELTA_TYPES) or (
        isinstance(event, SceneStep) and event.status is SceneStatus.STREAMING
    )
