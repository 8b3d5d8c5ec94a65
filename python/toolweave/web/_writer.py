"""Storing the events of a run, and publishing them once they are stored.

Deltas are collected for a moment. Everything else is written at once, in one transaction with the
events before it. Events that are not stored are never published.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .._core import ToolResult
from ..exceptions import MessageError, RunLostError
from ..executor import ToolDeferred, ToolQuestion
from ..store import PendingInput
from ..store._truncation import truncate_event, truncate_result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from .._core import ToolCall
    from .._messages import Message
    from ..executor import PendingResult
    from ..lifecycle import StreamEventMapper, TurnEvent
    from ..store import MessageStore, RunRecord, WriteResult
    from ._channels import ChatChannel
    from ._limits import WebLimits
    from ._responders import ResponderRun


Draft: TypeAlias = dict[str, Any]
"""A stream event without a sequence number."""

_DELTA_KINDS = frozenset({"text", "reasoning", "raw"})
_DELTA_FIELDS = frozenset({"delta", "done"})


class RunWriter:
    """Writer of one run, and the `Journal` of its calls.

    Args:
        store: The store to write to.
        channel: The channel that stored events are published to.
        mapper: The mapper of turn events to stream events.
        record: The run as it is stored; once its owner has changed, nothing more is written.
        limits: The limits of the server, with the time for which deltas are collected.
        on_failure: Callback for the first failure to write, with its exception.
    """

    def __init__(
        self,
        store: MessageStore,
        channel: ChatChannel,
        mapper: StreamEventMapper,
        record: RunRecord,
        limits: WebLimits,
        on_failure: Callable[[Exception], None],
    ) -> None:
        self.error: Exception | None = None
        """Reason why the run cannot continue: an error of the store; None if there was none."""
        self.record = record
        """The run as it was stored at its start."""
        self._calls: dict[str, tuple[ToolCall, str | None]] = {}
        self._store = store
        self._channel = channel
        self._mapper = mapper
        self._limits = limits
        self._on_failure = on_failure
        # Queued batches are written first, then the drafts.
        self._batches: deque[_Batch] = deque()
        self._drafts: list[Draft] = []
        self._size = 0
        self._lock = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: set[asyncio.Task[None]] = set()
        # Deferred calls that were emitted by the journal, by reply and call.
        self._deferred: set[tuple[object, object]] = set()
        self._responder_run: ResponderRun | None = None
        self._known: frozenset[str] = frozenset()
        self._batched_messages = 0
        self._written_messages = 0
        # Messages that the store rejected.
        self._rejected_ids: set[str | None] = set()
        # True once nothing but the end of the run is written.
        self._is_closed = False
        self.on_question: Callable[[ToolQuestion], str] | None = None
        """Callback that returns the key under which a question of a tool is answered."""
        self.on_deferred: Callable[[ToolCall, str], None] | None = None
        """Callback for each deferred call, with the key under which its result is delivered."""

    # Called by the run.

    async def consume(
        self, run: ResponderRun, known: Iterable[str], on_event: Callable[[TurnEvent], None]
    ) -> None:
        """Read a responder's run, and write its events.

        Args:
            run: The run of the responder.
            known: Ids of messages that are stored already, although the run may list them.
            on_event: Callback for each event.

        Raises:
            Exception: Raised by the responder, or by the store.
        """
        self._responder_run = run
        self._known = frozenset(known)
        async for event in run:
            on_event(event)
            if isinstance(event, ToolQuestion):
                await self._record_question(event)
            elif not isinstance(event, ToolDeferred) or (
                (self._generation, event.tool_call_id) not in self._deferred
            ):
                self._emit(event, self._generation)
            if self._size > self._limits.max_unsaved_bytes:
                await self.flush()
            self._check()
        self._check()

    @property
    def _generation(self) -> str | None:
        return None if self._responder_run is None else self._responder_run.generation_id

    @property
    def _current_generation(self) -> str | None:
        """Id of the reply whose calls run; its events may not have been read yet."""
        found: str | None = getattr(self._responder_run, "current_generation_id", None)
        return found or self._generation

    def _emit(self, event: TurnEvent, generation: str | None) -> None:
        self.add(self._mapper.map(event, generation_id=generation))

    async def _record_question(self, question: ToolQuestion) -> None:
        known = self._calls.get(question.tool_call_id)
        if known is None or self.on_question is None:
            self._emit(question, self._generation)
            return
        call, key = known[0], self.on_question(question)
        event = ToolQuestion(question.tool_call_id, key, question.question, question.schema)
        self._emit(event, self._generation)
        pending = PendingInput(
            key,
            "question",
            call,
            self.record.run_id,
            question=question.question,
            schema=question.schema,
        )
        await self.flush(_CallChanges(pending=(pending,)))

    # The journal of the calls.

    async def started(self, call: ToolCall) -> None:
        """Store that a tool is about to run, after the events that precede the call."""
        await self._caught_up()
        self._check()
        generation = self._current_generation
        self._calls[call.id] = (call, generation)
        await self.flush(_CallChanges(generation, started=(call,)))
        # If an earlier event could not be stored, the tool must not run.
        self._check()

    def truncate(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return the result, truncated with a notice if it is too long for the store."""
        return truncate_result(call, result, self._store.max_bytes)

    async def finished(self, call: ToolCall, result: ToolResult) -> None:
        """Store the result of a call, then publish it."""
        await self._caught_up()
        result = self.truncate(call, result)
        _, generation = self._calls.pop(call.id, (call, self._current_generation))
        if self._mapper.has_emitted_call(call.id, generation_id=generation):
            self._emit(result, generation)
        await self.flush(_CallChanges(generation, finished=((call, result),)))

    async def deferred(self, call: ToolCall, awaited: PendingResult) -> None:
        """Store that the result of a call is deferred."""
        await self._caught_up()
        _, generation = self._calls.pop(call.id, (call, self._current_generation))
        if self._mapper.has_emitted_call(call.id, generation_id=generation):
            self._emit(ToolDeferred(call.id, call.name, awaited.key), generation)
            self._deferred.add((generation, call.id))
        pending = PendingInput(awaited.key, "deferred", call, self.record.run_id, note=awaited.note)
        await self.flush(_CallChanges(pending=(pending,)))
        if self.on_deferred is not None:
            # From here on the store waits for the result, and other chats can use the key.
            self.on_deferred(call, awaited.key)

    async def publish_pending(self, state: Mapping[str, object], awaited: PendingInput) -> None:
        """Store that the run waits for input of the user, then publish it."""
        await self._caught_up()
        self.add([self._mapper.with_envelope(state, generation_id=self._current_generation)])
        await self.flush(_CallChanges(pending=(awaited,)))

    async def _caught_up(self) -> None:
        """Wait until all earlier events are among the drafts."""
        caught_up: Callable[[], Awaitable[None]] | None
        caught_up = getattr(self._responder_run, "caught_up", None)
        if caught_up is not None:
            await caught_up()

    # Writing to the store.

    def add(self, drafts: Iterable[Mapping[str, object]]) -> None:
        """Add events to the next batch."""
        urgent = False
        for each in drafts:
            draft = truncate_event(cast("Draft", each), self._store.max_bytes)
            urgent = urgent or not _is_batchable(draft)
            self._size += _estimated_size(draft)
            merged_draft = _merge(self._drafts[-1], draft) if self._drafts else None
            if merged_draft is None:
                self._drafts.append(draft)
            else:
                self._drafts[-1] = merged_draft
        if not self._drafts or self._is_closed:
            return
        if urgent or self._timer is None:
            self._cancel_timer()
            delay = 0.0 if urgent else self._limits.batch
            self._timer = asyncio.get_running_loop().call_later(delay, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if not self._lock.locked():
            self._spawn()
        # Otherwise the task that holds the lock also writes the new drafts.

    async def flush(self, changes: _CallChanges | None = None) -> None:
        """Write all events so far and the given changes, in one transaction.

        Cancelling the caller does not cancel the write.

        Raises:
            Exception: This batch, or one before it, could not be written.
        """
        # The batch is taken at once: events and the changes that they describe belong together.
        batch = self._take_batch(changes)
        self._batches.append(batch)
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
            while not self._is_closed:
                batch = self._batches.popleft() if self._batches else self._take_batch()
                if not batch:
                    return
                try:
                    written = await self._save(batch)
                except Exception as error:  # noqa: BLE001 - raised to the callers of `flush`
                    self.fail(error)
                    return
                batch.is_written = True
                self._written_messages += len(batch.messages)
                self._channel.publish(written.events, written.revision)
                if not self._batches and (self._timer is not None or not self._drafts):
                    # Drafts that were added meanwhile have a timer of their own.
                    return

    async def _save(self, batch: _Batch) -> WriteResult:
        """Write a batch; if the store rejects it, write only the valid part of it."""
        if self.error is not None:
            # If an earlier event could not be stored, no tool must start.
            batch = replace(batch, changes=replace(batch.changes, started=()))
        try:
            return await self._store_batch(batch)
        except MessageError as error:
            self._record_failure(error)
            rest = self._store.filter_writable(self.record.chat_id, batch.drafts, batch.messages)
            return await self._store_batch(_Batch(*rest, replace(batch.changes, started=())))

    async def _store_batch(self, batch: _Batch) -> WriteResult:
        changes = batch.changes
        return await self._store.write(
            self.record.chat_id,
            run_id=self.record.run_id,
            owner=self.record.owner,
            generation_id=changes.generation_id,
            events=batch.drafts,
            messages=batch.messages,
            started=changes.started,
            finished=changes.finished,
            pending=changes.pending,
        )

    def _take_batch(self, changes: _CallChanges | None = None) -> _Batch:
        """Take all drafts and the messages of finished replies that are in no batch yet."""
        drafts, self._drafts, self._size = self._drafts, [], 0
        messages = self._unsaved_messages()[self._batched_messages :]
        self._batched_messages += len(messages)
        return _Batch(drafts, messages, changes or _CallChanges())

    def _unsaved_messages(self) -> list[Message]:
        if self._responder_run is None:
            return []
        known = self._known | self._rejected_ids
        return [each for each in self._responder_run.finished_messages if each.id not in known]

    def fail(self, error: Exception) -> None:
        """Stop writing everything but the end of the run. Only the first error counts."""
        if self._is_closed:
            return
        self._is_closed = True
        self._drafts.clear()
        self._batches.clear()
        # The end is written with all unsaved messages, since they are in no batch any more.
        self._batched_messages = self._written_messages
        self._cancel_timer()
        self._record_failure(error)

    def _record_failure(self, error: Exception) -> None:
        """Record why the run cannot continue, and report the first failure."""
        is_first = self.error is None
        if is_first or isinstance(error, RunLostError):
            # Another process owns a lost run now; that outweighs any earlier error.
            self.error = error
        if is_first:
            self._on_failure(error)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    async def drain(self) -> None:
        """Wait for pending writes, and drop drafts and messages that cannot be stored."""
        self._cancel_timer()
        if self._batches:
            await self._spawn()
        async with self._lock:
            unsaved = self._unsaved_messages()[self._batched_messages :]
            drafts, messages = self._store.filter_writable(
                self.record.chat_id, self._drafts, unsaved
            )
            lost = len(self._drafts) - len(drafts) + len(unsaved) - len(messages)
            self._drafts = drafts
            self._rejected_ids.update(
                {each.id for each in unsaved} - {each.id for each in messages}
            )
        if lost:
            self._record_failure(
                MessageError(f"{lost} events or messages are too long for the store")
            )

    async def finish(
        self, stop_reason: str, drafts: Sequence[Mapping[str, Any]], error: str | None = None
    ) -> None:
        """Write the end of the run with everything unsaved. Must be called after `drain`.

        Raises:
            StoreError: The end could not be written.
        """
        async with self._lock:
            batch = self._take_batch()
            end = partial(
                self._store.finish_run,
                self.record.run_id,
                self.record.owner,
                stop_reason,
                error=error,
                events=[*batch.drafts, *drafts],
            )
            try:
                written = await end(messages=batch.messages)
            except Exception as failure:
                if isinstance(failure, RunLostError) or self.error is None or not batch.messages:
                    raise
                # Messages that the store rejects must not prevent the end of the run.
                written = await end()
        self._channel.publish(written.events)


@dataclass(frozen=True)
class _CallChanges:
    """Changes to the state of calls, written together with events."""

    generation_id: str | None = None
    started: tuple[ToolCall, ...] = ()
    finished: tuple[tuple[ToolCall, ToolResult], ...] = ()
    pending: tuple[PendingInput, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.started or self.finished or self.pending)


@dataclass
class _Batch:
    """Events, messages and changes that are written in one transaction."""

    drafts: list[Draft]
    messages: list[Message]
    changes: _CallChanges
    is_written: bool = False

    def __bool__(self) -> bool:
        return bool(self.drafts or self.messages or self.changes)


def _is_batchable(draft: Mapping[str, Any]) -> bool:
    """Return True if an event can be stored a moment later, in a batch: deltas and usage."""
    kind = draft["kind"]
    if kind == "tool_result":
        return not draft.get("done", True)
    return kind in _DELTA_KINDS or kind in {"tools_call_update", "usage"}


def _merge(last: Draft, new: Draft) -> Draft | None:
    """Merge two events into an equivalent one; return None if they cannot be merged.

    Example:
        >>> _merge(
        ...     {"kind": "text", "messageId": "m", "delta": "He"},
        ...     {"kind": "text", "messageId": "m", "delta": "y", "done": True},
        ... )
        {'kind': 'text', 'messageId': 'm', 'delta': 'Hey', 'done': True}
    """
    kind = new["kind"]
    if last["kind"] != kind:
        return None
    if kind in _DELTA_KINDS:
        if last.get("done") or _without(last, _DELTA_FIELDS) != _without(new, _DELTA_FIELDS):
            return None
        return {**last, **new, "delta": last.get("delta", "") + new.get("delta", "")}
    if kind == "tools_call_update":
        return _merged_calls(last, new)
    return None


def _merged_calls(last: Draft, new: Draft) -> Draft | None:
    field = "toolCallUpdates"
    if _without(last, {field}) != _without(new, {field}):
        return None
    preceding = cast("list[Draft]", last[field])
    following = cast("list[Draft]", new[field])
    if len(following) != 1 or not preceding:
        return None
    first, second = preceding[-1], following[0]
    matches = all(
        first.get(name) == value for name, value in _without(second, {"functionArgs"}).items()
    )
    if not matches or not ({"toolCallId", "index"} & second.keys()):
        return None
    arguments = first.get("functionArgs", "") + second.get("functionArgs", "")
    return {**last, field: [*preceding[:-1], {**first, "functionArgs": arguments}]}


def _without(fields: Draft, excluded: frozenset[str] | set[str]) -> Draft:
    return {name: value for name, value in fields.items() if name not in excluded}


def _estimated_size(draft: Mapping[str, Any]) -> int:
    """Return the approximate size of an event in bytes."""
    size = len(draft.get("delta", "")) + len(draft.get("result", "")) + 200
    for update in draft.get("toolCallUpdates", ()):
        size += len(update.get("functionArgs", ""))
    return size
