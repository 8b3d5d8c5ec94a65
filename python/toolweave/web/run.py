"""One run of a chat in this process, from what the user said to its last event."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, cast

from ..agent import AgentResult
from ..exceptions import ModelError, RunLostError, StoreError, ToolweaveError
from ..lifecycle import StreamEventMapper
from ..lifecycle.scene_steps import reference_of
from ..scenes import SceneStep
from .approvals import CURRENT_ANSWERS
from .pending_answers import PendingAnswers
from .redaction import run_failed
from .responders import Turn
from .tasks import end
from .writer import RunWriter, facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import Message, ToolCall
    from ..executor import DeferredResults, ToolQuestion
    from ..lifecycle import TurnEvent
    from ..store import MessageStore, RunRecord
    from .channels import ChatChannel
    from .limits import WebLimits
    from .merging import Draft
    from .responders import Responder, ResponderRun

_log = logging.getLogger("toolweave.web")

_LONGEST_ERROR = 1000
_FAILED = "The run has failed."
_MODEL_FAILED = "The model has failed."
_UNSAVED = "The run was stopped, since it could not be saved."


class ChatRun:
    """One run. Made by `ChatRuns`.

    Args:
        store: Where it is written down.
        feed: The feed of its chat.
        responder: What answers.
        record: The run as the store has it.
        messages: What the user says.
        limits: How long it may take.
    """

    def __init__(
        self,
        store: MessageStore,
        feed: ChatChannel,
        responder: Responder,
        record: RunRecord,
        messages: Sequence[Message],
        limits: WebLimits,
    ) -> None:
        self.chat_id = record.chat_id
        self.run_id = record.run_id
        self.user_id = record.user_id
        self.stop_reason: str | None = None
        """Why it ended, once it has."""
        self.is_abandoned = False
        """Whether it was told to stop for long enough: if it has no end, others may end it."""
        self.deferred: list[str] = []
        """The ids of its calls whose results come later."""
        self._store = store
        self._feed = feed
        self._responder = responder
        self._owner = record.owner
        self._messages = tuple(messages)
        self._limits = limits
        self._mapper = StreamEventMapper(record.chat_id, record.run_id)
        self._writer = RunWriter(
            store,
            feed,
            self._mapper,
            chat_id=record.chat_id,
            run_id=record.run_id,
            owner=record.owner,
            limits=limits,
            failed=self._unsaved,
        )
        self._writer.asked = self._asked
        self._writer.kept = self._kept
        self._answers = PendingAnswers(store, self._writer)
        self._helpers: set[asyncio.Task[None]] = set()
        self._reply: ResponderRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._cancelling: asyncio.Task[None] | None = None
        self._leaving = False
        # Why it is told to stop, and what its own end says.
        self._stopping: str | None = None
        self._too_long = False
        self._said: str | None = None
        self._text: str | None = None
        self._reference: str | None = None

    @property
    def lost(self) -> bool:
        """Whether it is another's run by now."""
        return isinstance(self._writer.error, RunLostError)

    async def go(self) -> None:
        """Runs to the end, whatever happens. To be the only thing that its task does."""
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        if self._stopping is not None:
            loop.call_later(self._limits.stop_grace, self._give_up)
        timer = None
        if self._limits.run_timeout is not None:
            timer = loop.call_later(self._limits.run_timeout, self._expire)
        token = CURRENT_ANSWERS.set(self._answers)
        failure: BaseException | None = None
        try:
            await self._answer()
        except BaseException as error:  # noqa: BLE001 - every run has an end
            failure = error
        finally:
            # From here on there is nothing to give up: what is left has to be written.
            self._leaving = True
            CURRENT_ANSWERS.reset(token)
            if timer is not None:
                timer.cancel()
            await self._leave_helpers()
        await self._writer.settle()
        await self._end(failure)
        if failure is not None and not isinstance(failure, (Exception, asyncio.CancelledError)):
            raise failure

    async def _answer(self) -> None:
        history = await self._store.load(self.chat_id)
        self._mapper.register_calls(history.messages)
        known = {message.id for message in self._messages}
        before = tuple(message for message in history.messages if message.id not in known)
        if history.problems:
            _log.info("a history was mended", extra=self._facts(problems=len(history.problems)))
        turn = Turn(self.chat_id, self.run_id, self.user_id, before, self._messages, self._writer)
        async with AsyncExitStack() as stack:
            self._reply = await stack.enter_async_context(self._responder(turn))
            if self._stopping is not None:
                await self._reply.cancel()
            stored = {each.message_id for each in history.stored}
            await self._writer.read(self._reply, stored, self._hear)

    def _hear(self, event: TurnEvent) -> None:
        if isinstance(event, AgentResult):
            self._said = event.stop_reason.value
        elif isinstance(event, SceneStep) and event.stop_reason is not None:
            self._said = event.stop_reason.value
            self._text, self._reference = event.error, event.reference

    # From outside.

    def stop(self, why: str) -> None:
        """Stops the model and the tools; does not wait for them.

        Args:
            why: What the end says: ``cancelled`` by the user, ``interrupted`` by the server.
        """
        if self._stopping is not None or self._task is None or self.stop_reason is not None:
            self._stopping = self._stopping or why
            return
        self._stopping = why
        _log.info("a run is told to stop", extra=self._facts(reason=why))
        loop = asyncio.get_running_loop()
        loop.call_later(self._limits.stop_grace, self._give_up)
        if self._reply is not None:
            self._cancelling = loop.create_task(self._cancel(self._reply))

    async def _cancel(self, reply: ResponderRun) -> None:
        try:
            await reply.cancel()
        except Exception as error:  # noqa: BLE001 - it is over all the same
            _log.error("a reply could not be stopped", exc_info=error, extra=self._facts())
            self._give_up()

    def _give_up(self) -> None:
        if self._task is not None and not self._leaving:
            _log.error("a run does not stop and is given up", extra=self._facts())
            self.is_abandoned = True
            self._task.cancel()

    def _expire(self) -> None:
        self._too_long = True
        self.stop("error")

    def _unsaved(self, error: Exception) -> None:
        _log.error(
            "a run is stopped, since it cannot be saved",
            exc_info=error,
            extra=self._facts(error_type=type(error).__name__),
        )
        self.stop("error")

    def leave(self) -> None:
        """Hears no more of what others say."""
        # Another run may have begun in its place, if it was taken for dead.
        if self._feed.local == self.look:
            self._feed.local = None

    async def look(self) -> None:
        """Looks what others have said: to stop, or an answer that is waited for."""
        record = await self._store.run(self.run_id)
        if record is not None and record.stop_requested:
            self.stop("cancelled")
        await self._answers.look()

    def lose(self) -> None:
        """The run is not this process's any more: it stops, and nothing more is written."""
        if not self.lost:
            self._writer.fail(RunLostError("the lease of the run is over", self.run_id))

    # The questions of tools.

    def _asked(self, question: ToolQuestion) -> str:
        deferred: DeferredResults | None = getattr(self._reply, "deferred", None)
        key = self._answers.expect("question")
        if deferred is not None:
            helper = asyncio.get_running_loop().create_task(
                self._pass_on(deferred, key, question.key)
            )
            self._helpers.add(helper)
            helper.add_done_callback(self._helpers.discard)
        return key

    def _kept(self, call: ToolCall, key: str) -> None:
        self.deferred.append(call.id)
        deferred: DeferredResults | None = getattr(self._reply, "deferred", None)
        if deferred is not None:
            deferred.discard(key)

    async def _pass_on(self, deferred: DeferredResults, key: str, asked: str) -> None:
        found = await self._answers.of(key)
        deferred.resolve(asked, found.value, is_error=found.is_error)

    async def _leave_helpers(self) -> None:
        await end(*self._helpers)
        if self._cancelling is not None:
            _, late = await asyncio.wait([self._cancelling], timeout=self._limits.stop_grace)
            for each in late:
                _log.error("a reply does not stop and is given up", extra=self._facts())
                each.cancel()

    # The end.

    async def _end(self, failure: BaseException | None) -> None:
        reason, text = self._outcome(failure)
        if failure is not None and reason == "error":
            _log.error(
                "a run has failed",
                exc_info=failure if self._writer.error is None else None,
                extra=self._facts(error_type=type(failure).__name__),
            )
        self.stop_reason = reason
        if not self.lost:
            drafts = self._last_words(reason, text)
            if text is not None and text == self._text and self._reference is not None:
                # The text is another's, and stands in the events.
                text = run_failed(self._reference)
            try:
                await self._writer.finish(reason, drafts, text)
            except Exception as error:  # noqa: BLE001 - whoever looks after dead runs will end it
                _log.error("the end of a run cannot be saved", exc_info=error, extra=self._facts())
        _log.info("a run has ended", extra=self._facts(stop_reason=reason))

    def _last_words(self, reason: str, text: str | None) -> list[Draft]:
        told = self._mapper
        error: list[Draft] = []
        if text:
            metadata = reference_of(self._reference) if text == self._text else None
            said = {"kind": "error", "message": text, "metadata": metadata}
            error.append(cast("Draft", told.with_envelope(said)))
        return [*error, *cast("list[Draft]", told.run_finished(reason, text))]

    def _outcome(self, failure: BaseException | None) -> tuple[str, str | None]:
        if self._writer.error is not None:
            return "error", _UNSAVED
        if self._too_long:
            return "error", f"The run took longer than {self._limits.run_timeout:g} seconds."
        if isinstance(failure, asyncio.CancelledError):
            return self._stopping or "interrupted", None
        if failure is not None:
            return "error", told(failure)
        if self._stopping is not None and self._said in (None, "cancelled"):
            return self._stopping, None
        return self._said or "completed", self._text

    def _facts(self, **more: object) -> dict[str, object]:
        return facts(self.chat_id, self.run_id, **more)


def told(error: BaseException) -> str:
    """What clients may read of an exception: only what this package says itself."""
    if isinstance(error, StoreError):
        return _UNSAVED
    if isinstance(error, ModelError) and error.provider is None and error.__cause__ is not None:
        # The text of whatever a function raised.
        return _MODEL_FAILED
    if not isinstance(error, ToolweaveError) or not str(error):
        return _FAILED
    text = str(error)
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}..."
