"""Writing down a run: events in, rows out, readers told once it is safe.

Pieces of text are collected for a moment; everything else is written at once, and what was said
before it in the same transaction. Nobody hears of what is not stored.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from .._core import ToolResult
from ..exceptions import MessageError, RunLostError
from ..executor import ToolDeferred, ToolQuestion
from ..store import PendingInput
from ..store.truncation import truncate_event, truncate_result
from .merging import can_wait, merged, size_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from .. import Message, ToolCall
    from ..executor import PendingResult
    from ..lifecycle import StreamEventMapper, TurnEvent
    from ..store import MessageStore, WriteResult
    from .channels import ChatChannel
    from .limits import WebLimits
    from .merging import Draft
    from .responders import ResponderRun


class RunWriter:
    """Writes down one run. It is the `Journal` of the run's calls.

    Args:
        store: Where to.
        feed: Who is told.
        mapper: What the events are called.
        chat_id: The chat.
        run_id: The run.
        owner: Whose run it is: if that changes, nothing more is written.
        limits: How long pieces are collected.
        failed: Called once when something cannot be written, with the reason.
    """

    def __init__(
        self,
        store: MessageStore,
        feed: ChatChannel,
        mapper: StreamEventMapper,
        *,
        chat_id: str,
        run_id: str,
        owner: str,
        limits: WebLimits,
        failed: Callable[[Exception], None],
    ) -> None:
        self.error: Exception | None = None
        """Why the run cannot go on: something could not be written."""
        self.chat_id = chat_id
        """The chat."""
        self.run_id = run_id
        """The run."""
        self._calls: dict[str, tuple[ToolCall, str | None]] = {}
        self._store = store
        self._feed = feed
        self._mapper = mapper
        self._owner = owner
        self._limits = limits
        self._failed = failed
        # What is written next, whole batches first.
        self._closed: deque[_Batch] = deque()
        self._drafts: list[Draft] = []
        self._size = 0
        self._lock = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: set[asyncio.Task[None]] = set()
        # What the journal has told to come later, by reply and call.
        self._deferred: set[tuple[object, object]] = set()
        self._reply: ResponderRun | None = None
        self._known: frozenset[str] = frozenset()
        self._taken_messages = 0
        self._written_messages = 0
        self._has_failed = False
        # Messages that the store does not take.
        self._unfit: set[str | None] = set()
        # Nothing more is written before the end.
        self._is_over = False
        self.asked: Callable[[ToolQuestion], str] | None = None
        """Gives the key under which a question of a tool is answered."""
        self.kept: Callable[[ToolCall, str], None] | None = None
        """Called with each call whose result comes later, and the key that the store has for it."""

    # From the run.

    async def read(
        self, reply: ResponderRun, known: Iterable[str], hear: Callable[[TurnEvent], None]
    ) -> None:
        """Writes down a reply while it comes.

        Args:
            reply: The reply.
            known: The ids of messages that it may count as its own, but are stored already.
            hear: Called with each event.

        Raises:
            Exception: What the reply raises, or why something could not be written.
        """
        self._reply = reply
        self._known = frozenset(known)
        async for event in reply:
            hear(event)
            await self._take(event)
        self._check()

    async def _take(self, event: TurnEvent) -> None:
        if isinstance(event, ToolQuestion):
            await self._ask(event)
        elif not self._is_deferred(event):
            self._tell(event, self._generation)
        if self._size > self._limits.max_unsaved_bytes:
            await self.flush()
        self._check()

    @property
    def _generation(self) -> str | None:
        return None if self._reply is None else self._reply.generation_id

    @property
    def _at_work(self) -> str | None:
        """The reply whose calls run, of which nothing may have been read yet."""
        found: str | None = getattr(self._reply, "current_generation_id", None)
        return found or self._generation

    def _tell(self, event: TurnEvent, generation: str | None) -> None:
        self.add(self._mapper.map(event, generation_id=generation))

    def _is_deferred(self, event: TurnEvent) -> bool:
        """Whether the journal has told it before."""
        if not isinstance(event, ToolDeferred):
            return False
        return (self._generation, event.tool_call_id) in self._deferred

    async def _ask(self, question: ToolQuestion) -> None:
        known = self._calls.get(question.tool_call_id)
        if known is None or self.asked is None:
            self._tell(question, self._generation)
            return
        call, key = known[0], self.asked(question)
        told = ToolQuestion(question.tool_call_id, key, question.question, question.schema)
        self._tell(told, self._generation)
        pending = PendingInput(
            key,
            "question",
            call,
            self.run_id,
            question=question.question,
            schema=question.schema,
        )
        await self.flush(_Step(pending=(pending,)))

    # From the calls.

    async def started(self, call: ToolCall) -> None:
        """Writes that a tool is about to run, behind what the model said before."""
        await self._caught_up()
        self._check()
        generation = self._at_work
        self._calls[call.id] = (call, generation)
        await self.flush(_Step(generation, started=(call,)))
        # Something said before it may be lost: no tool begins any more.
        self._check()

    def fitted(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return the result, cut with a notice if it is too long for the store."""
        return truncate_result(call, result, self._store.max_bytes)

    async def finished(self, call: ToolCall, result: ToolResult) -> None:
        """Writes what a tool answered, and then tells of it."""
        await self._caught_up()
        result = self.fitted(call, result)
        _, generation = self._calls.pop(call.id, (call, self._at_work))
        if self._is_called(call, generation):
            self._tell(result, generation)
        await self.flush(_Step(generation, finished=((call, result),)))

    async def deferred(self, call: ToolCall, awaited: PendingResult) -> None:
        """Writes that the result of a call comes later."""
        await self._caught_up()
        _, generation = self._calls.pop(call.id, (call, self._at_work))
        if self._is_called(call, generation):
            self._tell(ToolDeferred(call.id, call.name, awaited.key), generation)
            self._deferred.add((generation, call.id))
        pending = PendingInput(awaited.key, "deferred", call, self.run_id, note=awaited.note)
        await self.flush(_Step(pending=(pending,)))
        if self.kept is not None:
            # From here on it is the store that waits, and the key is free for other chats.
            self.kept(call, awaited.key)

    def _is_called(self, call: ToolCall, generation: str | None) -> bool:
        """Whether a call was told; steps of scenes may tell of it later, with what came of it."""
        return self._mapper.has_emitted_call(call.id, generation_id=generation)

    async def announce(self, state: Mapping[str, object], awaited: PendingInput) -> None:
        """Writes that somebody is asked, and then tells of it."""
        await self._caught_up()
        self.add([self._mapper.with_envelope(state, generation_id=self._at_work)])
        await self.flush(_Step(pending=(awaited,)))

    async def _caught_up(self) -> None:
        """Waits until what has happened before is among the drafts."""
        caught_up: Callable[[], Awaitable[None]] | None
        caught_up = getattr(self._reply, "caught_up", None)
        if caught_up is not None:
            await caught_up()

    # The writing.

    def add(self, drafts: Iterable[Mapping[str, object]]) -> None:
        """Takes events, which are written soon."""
        urgent = False
        for each in drafts:
            draft = truncate_event(cast("Draft", each), self._store.max_bytes)
            urgent = urgent or not can_wait(draft)
            self._size += size_of(draft)
            both = merged(self._drafts[-1], draft) if self._drafts else None
            if both is None:
                self._drafts.append(draft)
            else:
                self._drafts[-1] = both
        if not self._drafts or self._is_over:
            return
        if urgent or self._timer is None:
            if self._timer is not None:
                self._timer.cancel()
            delay = 0.0 if urgent else self._limits.batch
            self._timer = asyncio.get_running_loop().call_later(delay, self._begin)

    def _begin(self) -> None:
        self._timer = None
        if not self._lock.locked():
            self._spawn()
        # Otherwise whoever writes just now goes on with what there is.

    async def flush(self, step: _Step | None = None) -> None:
        """Writes all events so far and what is given with them, in one transaction.

        Whoever waits for it may be cancelled; the writing is not.

        Raises:
            Exception: It could not be written, or something before it.
        """
        # Closed at once: what was told for this step is not written before it, nor with another.
        batch = self._taken(step or _Step())
        self._closed.append(batch)
        await asyncio.shield(self._spawn())
        if not batch.is_written:
            self._check()

    def _spawn(self) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._write())
        self._flushing.add(task)
        task.add_done_callback(self._flushing.discard)
        return task

    async def _write(self) -> None:
        async with self._lock:
            while not self._is_over:
                batch = self._closed.popleft() if self._closed else self._taken(_Step())
                if not batch:
                    return
                try:
                    written = await self._save(batch)
                except Exception as error:  # noqa: BLE001 - told to whoever writes
                    self.fail(error)
                    return
                batch.is_written = True
                self._written_messages += len(batch.messages)
                self._feed.publish(written.events, written.revision)
                if not self._closed and (self._timer is not None or not self._drafts):
                    # What came meanwhile has a moment of its own.
                    return

    async def _save(self, batch: _Batch) -> WriteResult:
        """Writes a batch. Of one that cannot be written, what can be."""
        if self.error is not None:
            # Something that was told before it may be lost, so no tool starts.
            batch = replace(batch, step=replace(batch.step, started=()))
        try:
            return await self._store_batch(batch)
        except MessageError as error:
            self._stop(error)
            rest = self._store.filter_writable(self.chat_id, batch.drafts, batch.messages)
            return await self._store_batch(_Batch(*rest, replace(batch.step, started=())))

    async def _store_batch(self, batch: _Batch) -> WriteResult:
        step = batch.step
        return await self._store.write(
            self.chat_id,
            run_id=self.run_id,
            owner=self._owner,
            generation_id=step.generation_id,
            events=batch.drafts,
            messages=batch.messages,
            started=step.started,
            finished=step.finished,
            pending=step.pending,
        )

    def _taken(self, step: _Step) -> _Batch:
        """All that is not in a batch yet, with the messages of replies that are whole by now."""
        drafts, self._drafts, self._size = self._drafts, [], 0
        messages = self._new()[self._taken_messages :]
        self._taken_messages += len(messages)
        return _Batch(drafts, messages, step)

    def _new(self) -> list[Message]:
        if self._reply is None:
            return []
        known = self._known | self._unfit
        return [each for each in self._reply.finished_messages if each.id not in known]

    def fail(self, error: Exception) -> None:
        """Writes nothing more but the end, for a reason. The first one counts."""
        if self._is_over:
            return
        self._is_over = True
        if isinstance(error, RunLostError):
            # Whatever went wrong before, the run is another's now.
            self.error = error
        self._drafts.clear()
        self._closed.clear()
        # The end is written with all messages, since they may be all that the chat knows.
        self._taken_messages = self._written_messages
        self._cancel_timer()
        self._stop(error)

    def _stop(self, error: Exception) -> None:
        """Keeps why the run cannot go on, and says so once."""
        self.error = self.error or error
        if not self._has_failed:
            self._has_failed = True
            self._failed(error)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    async def settle(self) -> None:
        """Waits for what is being written, and leaves only what can be written with the end."""
        self._cancel_timer()
        if self._closed:
            await self._spawn()
        async with self._lock:
            new = self._new()[self._taken_messages :]
            drafts, messages = self._store.filter_writable(self.chat_id, self._drafts, new)
            lost = len(self._drafts) - len(drafts) + len(new) - len(messages)
            self._drafts = drafts
            self._unfit.update({each.id for each in new} - {each.id for each in messages})
        if lost:
            self._stop(MessageError(f"{lost} events or messages are too long for the store"))

    async def finish(
        self, stop_reason: str, drafts: Sequence[Draft], error: str | None = None
    ) -> None:
        """Writes the end of the run, with all that is not written yet. To be called once settled.

        Raises:
            StoreError: It could not be written.
        """
        async with self._lock:
            batch = self._taken(_Step())
            events = [*batch.drafts, *drafts]
            try:
                written = await self._end(stop_reason, error, events, batch.messages)
            except RunLostError:
                raise
            except Exception:
                if self.error is None or not batch.messages:
                    raise
                # What the store refused before must not keep the run from its end.
                written = await self._end(stop_reason, error, events, [])
        self._feed.publish(written.events)

    async def _end(
        self, stop_reason: str, error: str | None, events: list[Draft], messages: list[Message]
    ) -> WriteResult:
        return await self._store.finish_run(
            self.run_id, self._owner, stop_reason, error=error, events=events, messages=messages
        )


@dataclass(frozen=True)
class _Step:
    """What is written together with events: the state of calls."""

    generation_id: str | None = None
    started: tuple[ToolCall, ...] = ()
    finished: tuple[tuple[ToolCall, ToolResult], ...] = ()
    pending: tuple[PendingInput, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.started or self.finished or self.pending)


@dataclass
class _Batch:
    """What is written in one transaction."""

    drafts: list[Draft]
    messages: list[Message]
    step: _Step
    is_written: bool = False

    def __bool__(self) -> bool:
        return bool(self.drafts or self.messages or self.step)


def facts(chat_id: str, run_id: str, **more: Any) -> dict[str, Any]:
    """What log records say of a run: never what was said in it."""
    return {"chat_id": chat_id, "run_id": run_id, **more}
