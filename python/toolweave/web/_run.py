"""One run of a chat in this process, from the user's message to the terminal event."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from .._aio.tasks import cancel_and_wait
from ..agent import AgentResult
from ..exceptions import ModelError, RunLostError, StoreError, ToolweaveError
from ..lifecycle import StreamEventMapper
from ..lifecycle._scene_steps import reference_of
from ..scenes import SceneStep
from ._approvals import CURRENT_ANSWERS, PendingAnswers
from ._redaction import run_failure_text
from ._responders import Turn
from ._writer import RunWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import ToolCall
    from .._messages import Message
    from ..executor import DeferredResults, ToolQuestion
    from ..lifecycle import StreamEvent, TurnEvent
    from ..store import MessageStore, RunRecord
    from ._channels import ChatChannel
    from ._limits import WebLimits
    from ._responders import Responder, ResponderRun

_log = logging.getLogger("toolweave.web")

_MAX_ERROR_LENGTH = 1000
_RUN_FAILED = "The run has failed."
_MODEL_FAILED = "The model has failed."
_UNSAVED = "The run was stopped, since it could not be saved."


class ChatRun:
    """One run of a chat. Created by `ChatRuns`.

    Args:
        store: The store that the run is written to.
        channel: The channel of the run's chat.
        responder: The responder that answers.
        record: The run as it is stored.
        messages: The user's new messages.
        limits: The limits of the server, with the timeouts of a run.
    """

    def __init__(
        self,
        store: MessageStore,
        channel: ChatChannel,
        responder: Responder,
        record: RunRecord,
        messages: Sequence[Message],
        limits: WebLimits,
    ) -> None:
        self.chat_id = record.chat_id
        self.run_id = record.run_id
        self.first_event = record.first_event
        self.user_id = record.user_id
        self.stop_reason: str | None = None
        """Stop reason of the run; None until it has ended."""
        self.is_abandoned = False
        """True if the run did not stop within the grace period; another process may end it."""
        self.deferred: list[str] = []
        """Ids of calls whose results are deferred."""
        self._store = store
        self._channel = channel
        self._responder = responder
        self._messages = tuple(messages)
        self._limits = limits
        self._mapper = StreamEventMapper(record.chat_id, record.run_id)
        self._writer = RunWriter(
            store, channel, self._mapper, record, limits, self._on_save_failure
        )
        self._writer.on_question = self._on_question
        self._writer.on_deferred = self._on_deferred
        self._answers = PendingAnswers(store, self._writer)
        self._forwarding_tasks: list[asyncio.Task[None]] = []
        self._responder_run: ResponderRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._cancel_task: asyncio.Task[None] | None = None
        self._finishing = False
        # The reason of a requested stop, and the reason that the run itself reports.
        self._requested_reason: str | None = None
        self._timed_out = False
        self._reported_reason: str | None = None
        self._error_text: str | None = None
        self._reference: str | None = None

    @property
    def is_lost(self) -> bool:
        """True if another process owns the run by now."""
        return isinstance(self._writer.error, RunLostError)

    async def execute(self) -> None:
        """Execute the run and store its end, whatever happens. Must have a task of its own."""
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        if self._requested_reason is not None:
            loop.call_later(self._limits.stop_grace, self._abandon)
        timer = None
        if self._limits.run_timeout is not None:
            timer = loop.call_later(self._limits.run_timeout, self._on_timeout)
        token = CURRENT_ANSWERS.set(self._answers)
        failure: BaseException | None = None
        try:
            await self._respond()
        except BaseException as error:  # noqa: BLE001 - every run has an end
            failure = error
        finally:
            # From here on the task must not be cancelled, since the end has to be written.
            self._finishing = True
            CURRENT_ANSWERS.reset(token)
            if timer is not None:
                timer.cancel()
            await self._stop_forwarding()
        await self._writer.drain()
        await self._end(failure)
        if failure is not None and not isinstance(failure, (Exception, asyncio.CancelledError)):
            raise failure

    async def _respond(self) -> None:
        history = await self._store.load(self.chat_id)
        self._mapper.register_calls(history.messages)
        known = {message.id for message in self._messages}
        earlier = tuple(message for message in history.messages if message.id not in known)
        if history.problems:
            _log.info(
                "a history was repaired", extra=self._log_fields(problems=len(history.problems))
            )
        turn = Turn(self.chat_id, self.run_id, self.user_id, earlier, self._messages, self._writer)
        async with AsyncExitStack() as stack:
            self._responder_run = await stack.enter_async_context(self._responder(turn))
            if self._requested_reason is not None:
                await self._responder_run.cancel()
            stored = {each.message_id for each in history.stored}
            await self._writer.consume(self._responder_run, stored, self._on_event)

    def _on_event(self, event: TurnEvent) -> None:
        if isinstance(event, AgentResult):
            self._reported_reason = event.stop_reason.value
            self._error_text = event.error
        elif isinstance(event, SceneStep) and event.stop_reason is not None:
            self._reported_reason = event.stop_reason.value
            self._error_text, self._reference = event.error, event.reference

    # Called by other tasks.

    def stop(self, reason: str) -> None:
        """Stop the model and the tools, without waiting for them.

        Args:
            reason: The stop reason: ``cancelled`` by the user, ``interrupted`` by the server.
        """
        if self._requested_reason is not None or self._task is None or self.stop_reason is not None:
            self._requested_reason = self._requested_reason or reason
            return
        self._requested_reason = reason
        _log.info("a run is being stopped", extra=self._log_fields(reason=reason))
        loop = asyncio.get_running_loop()
        loop.call_later(self._limits.stop_grace, self._abandon)
        if self._responder_run is not None:
            self._cancel_task = loop.create_task(self._cancel(self._responder_run))

    async def _cancel(self, run: ResponderRun) -> None:
        try:
            await run.cancel()
        except Exception as error:  # noqa: BLE001 - the run ends in any case
            _log.error("a reply could not be stopped", exc_info=error, extra=self._log_fields())
            self._abandon()

    def _abandon(self) -> None:
        if self._task is not None and not self._finishing:
            _log.error("a run does not stop and is abandoned", extra=self._log_fields())
            self.is_abandoned = True
            self._task.cancel()

    def _on_timeout(self) -> None:
        self._timed_out = True
        self.stop("error")

    def _on_save_failure(self, error: Exception) -> None:
        _log.error(
            "a run is stopped, since it cannot be saved",
            exc_info=error,
            extra=self._log_fields(error_type=type(error).__name__),
        )
        self.stop("error")

    def detach(self) -> None:
        """Stop being notified of changes that other processes make."""
        # If this run was considered dead, another one may be attached in its place.
        if self._channel.on_change == self.poll:
            self._channel.on_change = None

    async def poll(self) -> None:
        """Check the store for a requested stop and for answers that the run waits for."""
        record = await self._store.run(self.run_id)
        if record is not None and record.stop_requested:
            self.stop("cancelled")
        await self._answers.poll()

    def lose_lease(self) -> None:
        """Stop a run that another process owns by now; nothing more is written."""
        if not self.is_lost:
            self._writer.fail(RunLostError("the lease of the run is over", self.run_id))

    # Questions of tools.

    def _on_question(self, question: ToolQuestion) -> str:
        deferred: DeferredResults | None = getattr(self._responder_run, "deferred", None)
        key = self._answers.register("question")
        if deferred is not None:
            answer = self._forward_answer(deferred, key, question.key)
            self._forwarding_tasks.append(asyncio.get_running_loop().create_task(answer))
        return key

    def _on_deferred(self, call: ToolCall, key: str) -> None:
        self.deferred.append(call.id)
        deferred: DeferredResults | None = getattr(self._responder_run, "deferred", None)
        if deferred is not None:
            deferred.discard(key)

    async def _forward_answer(self, deferred: DeferredResults, key: str, question_key: str) -> None:
        answer = await self._answers.wait_for(key)
        deferred.resolve(question_key, answer.value, is_error=answer.is_error)

    async def _stop_forwarding(self) -> None:
        await cancel_and_wait(*self._forwarding_tasks)
        if self._cancel_task is not None:
            _, unfinished = await asyncio.wait([self._cancel_task], timeout=self._limits.stop_grace)
            for each in unfinished:
                _log.error("a reply does not stop and is abandoned", extra=self._log_fields())
                each.cancel()

    # The end.

    async def _end(self, failure: BaseException | None) -> None:
        reason, text = self._outcome(failure)
        if failure is not None and reason == "error":
            _log.error(
                "a run has failed",
                exc_info=failure if self._writer.error is None else None,
                extra=self._log_fields(error_type=type(failure).__name__),
            )
        self.stop_reason = reason
        if not self.is_lost:
            drafts = self._final_events(reason, text)
            if text is not None and text == self._error_text and self._reference is not None:
                # The text is an exception's, which only the events hold.
                text = run_failure_text(self._reference)
            try:
                await self._writer.finish(reason, drafts, text)
            except Exception as error:  # noqa: BLE001 - the recovery of dead runs will end it
                _log.error(
                    "the end of a run cannot be saved", exc_info=error, extra=self._log_fields()
                )
        _log.info("a run has ended", extra=self._log_fields(stop_reason=reason))

    def _final_events(self, reason: str, text: str | None) -> list[StreamEvent]:
        events = self._mapper.run_finished(reason, text)
        if not text:
            return events
        metadata = reference_of(self._reference) if text == self._error_text else None
        fields = {"kind": "error", "message": text, "metadata": metadata}
        return [self._mapper.with_envelope(fields), *events]

    def _outcome(self, failure: BaseException | None) -> tuple[str, str | None]:
        if self._writer.error is not None:
            return "error", _UNSAVED
        if self._timed_out:
            return "error", f"The run took longer than {self._limits.run_timeout:g} seconds."
        if isinstance(failure, asyncio.CancelledError):
            return self._requested_reason or "interrupted", None
        if failure is not None:
            return "error", public_error(failure)
        if self._requested_reason is not None and self._reported_reason in (None, "cancelled"):
            return self._requested_reason, None
        return self._reported_reason or "completed", self._error_text

    def _log_fields(self, **more: object) -> dict[str, object]:
        return {"chat_id": self.chat_id, "run_id": self.run_id, **more}


def public_error(error: BaseException) -> str:
    """Return the text that clients may read of an exception: only texts of this package."""
    if isinstance(error, StoreError):
        return _UNSAVED
    if isinstance(error, ModelError) and error.provider is None and error.__cause__ is not None:
        # The text is that of an exception that the model's function raised.
        return _MODEL_FAILED
    if not isinstance(error, ToolweaveError) or not str(error):
        return _RUN_FAILED
    text = str(error)
    return text if len(text) <= _MAX_ERROR_LENGTH else f"{text[:_MAX_ERROR_LENGTH]}..."
