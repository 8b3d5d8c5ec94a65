"""A run of scenes, from the request to the last step."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import TYPE_CHECKING

from .. import tracing
from .._aio.event_queue import EventQueue
from .._aio.loops import running_loop
from .._aio.runs import Run
from .._core import (
    TextMessage,
    ToolAggregateMessage,
    ToolCallMessage,
    UsageMessage,
    UsageUpdate,
)
from ..exceptions import ModelError, RateLimitedError
from ..kinds import Role, SceneStatus, SceneStopReason
from ..models import as_messages
from ._actors import actor_texts
from ._ends import full_text, log_failure, model_failure_text, run_failure_text
from ._flow import denied, run_scenes, select_first_scenes
from ._hooks import Deny
from ._scene_queue import SceneQueue
from ._state import PauseRun, StopRun
from ._steps import SceneResult, SceneStep
from ._storage import apply_client_results, check_results, missing_results, results_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._messages import Message
    from ..conversations import Interaction
    from ..protocols import Journal
    from ._hooks import Answer
    from ._request import SceneMode, SceneRequest
    from ._runtime import SceneRuntime

_log = logging.getLogger("toolweave.scenes")

_GRACE = 10.0

# Time to save a run that has timed out, in seconds.
_SAVING = 1.0


class SceneRun(Run[SceneStep]):
    """A run of scenes, created by `SceneManager.open`.

    As an iterator it yields the steps as they happen, `Completed` last. As a context manager it
    stops the model and the tools when the block ends, and waits for them.

    Example:
        >>> async def main(manager: SceneManager) -> None:
        ...     async with manager.open("What is 15 + 27?") as run:
        ...         async for step in run:
        ...             print(step.status, step.message)
        ...     print(run.result.stop_reason)
    """

    def __init__(
        self,
        runtime: SceneRuntime,
        request: SceneRequest,
        *,
        verbose: bool | None = None,
        streaming: bool | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
    ) -> None:
        self._runtime = runtime
        self._request = request
        self.conversation = request.conversation or uuid.uuid4().hex
        """The key of the conversation."""
        self.result: SceneResult | None = None
        """The result; None until the run has ended."""
        # Steps, each with the id of its reply.
        self._steps: EventQueue[tuple[SceneStep, str | None]] = EventQueue()
        self._generation_id: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._ending = False
        self._stopped: StopRun | None = None
        self._reported_stop: StopRun | None = None
        self._running_scenes = False
        self._expired = False
        self._timer: asyncio.TimerHandle | None = None
        self._raised: BaseException | None = None
        self._waiting: tuple[Interaction, ...] = ()
        self._queue: SceneQueue | None = None
        self._awaiting: list[SceneStep] = []
        self._start = 0
        self._state = runtime.new_state(
            request,
            self.conversation,
            uuid.uuid4().hex if run_id is None else run_id,
            self._publish,
            verbose=verbose,
            streaming=streaming,
            journal=journal,
        )

    # For readers of the run.

    @property
    def run_id(self) -> str:
        """The id of the run in its messages."""
        return self._state.run_id

    @property
    def generation_id(self) -> str | None:
        """The id of the reply that the last step belongs to; None before the first reply."""
        return self._generation_id

    @property
    def current_generation_id(self) -> str | None:
        """The id of the reply in progress, even if none of its steps has been read yet."""
        return self._state.generation_id

    @property
    def finished_messages(self) -> tuple[Message, ...]:
        """The messages that the run has added so far: the input and complete replies."""
        return tuple(self._state.messages[self._start :])

    @property
    def changed_messages(self) -> tuple[Message, ...]:
        """The messages of earlier runs that changed because results of their calls arrived."""
        return tuple(self._state.changed)

    async def __anext__(self) -> SceneStep:
        if self._task is None and not self._steps.is_closed:
            self._task = running_loop().create_task(self._main())
            self._task.add_done_callback(self._on_done)
        step, self._generation_id = await self._steps.take()
        return step

    async def wait(self) -> SceneResult:
        """Wait for the result. Cancellation stops the model and the tools.

        Failures of the run are part of the result and are not raised.
        """
        async with self:
            async for _ in self:
                pass
        if self.result is None:
            raise RuntimeError("another task consumed this run before it finished")
        return self.result

    async def cancel(self) -> None:
        """Stop the model and the tools, and wait until they have stopped.

        Calls without a result get one that says they were interrupted. The conversation is saved up
        to this point. The last step has the stop reason ``cancelled``.
        """
        # The reader of the run may be the caller, which reads nothing until this returns.
        self._steps.release()
        if self._task is None:
            # The run has not started.
            self._finish(StopRun(SceneStopReason.CANCELLED))
            return
        self._request_stop(StopRun(SceneStopReason.CANCELLED))
        cancelled = False
        timeouts = 0
        while not self._task.done():
            try:
                done, _ = await asyncio.wait([self._task], timeout=_GRACE)
            except asyncio.CancelledError:
                cancelled = True
                continue
            timeouts += not done
            if timeouts == 1:
                # A store or a hook that does not return is cancelled too.
                self._task.cancel()
            elif timeouts > 1:
                _log.error("a run ignores its cancellation and is abandoned")
                break
        if cancelled:
            raise asyncio.CancelledError

    async def caught_up(self) -> None:
        """Wait until the reader of the run has processed all steps so far."""
        if self._state.reply is not None:
            await self._state.reply.caught_up()
        await self._steps.caught_up()

    def _request_stop(self, stop: StopRun) -> None:
        if self._task is None or self._task.done() or self._stopped is not None:
            return
        self._stopped = stop
        if not self._ending:
            self._task.cancel()

    def _publish(self, step: SceneStep) -> None:
        item = (step, self._state.generation_id)
        if self._steps.is_closed:
            # The run has been abandoned.
            return
        if step.status is SceneStatus.FUNCTION_PROGRESS:
            self._steps.offer(item)
        else:
            self._steps.put(item)

    # The run.

    async def _main(self) -> None:
        state, settings = self._state, self._runtime.settings
        if settings.run_timeout is not None:
            self._schedule(settings.run_timeout, self._expire, settings.run_timeout)
        with tracing.invoke_workflow(settings.name, conversation_id=self.conversation) as span:
            try:
                stop = await self._run_admitted()
            except BaseException as error:  # noqa: BLE001 - every run has a last step
                stop = self._report_stop(error)
            finally:
                if self._timer is not None:
                    self._timer.cancel()
            total = state.costs.total
            span.usage(
                UsageUpdate(total.input_tokens, total.output_tokens, total.cached_input_tokens)
            )
            if stop.reason is SceneStopReason.ERROR:
                span.fail(type(stop.exception).__name__ if stop.exception else "error")
        self._finish(stop)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        """Emit the last step if the task has not done so."""
        if task.cancelled():
            # The task was cancelled before it started.
            self._finish(self._stopped or StopRun(SceneStopReason.CANCELLED))
        elif (error := task.exception()) is not None:
            self._raised = error
            self._finish(StopRun(SceneStopReason.ERROR, exception=error))

    def _finish(self, stop: StopRun) -> None:
        if self._steps.is_closed:
            return
        self.result = self._build_result(stop)
        self._state.emit(
            SceneStatus.COMPLETED,
            self._state.text,
            scene=self._state.answered_in,
            stop_reason=stop.reason,
            error=self.result.error,
            reference=stop.reference,
            notice=self.result.notice,
        )
        self._steps.end(self._raised)
        _log.info(
            "a run of scenes has ended",
            extra={
                "conversation": self.conversation,
                "run_id": self._state.run_id,
                "stop_reason": stop.reason.value,
                "iterations": self._state.costs.requests,
            },
        )

    def _schedule(self, seconds: float, do: Callable[..., None], *given: object) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, do, *given)

    def _expire(self, seconds: float) -> None:
        self._expired = True
        self._request_stop(
            StopRun(SceneStopReason.ERROR, f"The run took longer than {seconds:g} seconds")
        )
        # Tools have their own time to stop; the run waits for them and for the model.
        self._schedule(_GRACE if self._running_scenes else _SAVING, self._cancel_overdue)

    def _cancel_overdue(self) -> None:
        """Cancel a store or a hook that does not return after the timeout."""
        if self._task is not None:
            self._task.cancel()
            self._schedule(_SAVING, self._abandon)

    def _abandon(self) -> None:
        _log.error("a run ignores its cancellation and is abandoned")
        if self._stopped is not None and self._reported_stop is not self._stopped:
            self._report_stop(self._stopped)
        self._finish(self._stopped or StopRun(SceneStopReason.CANCELLED))

    async def _run_admitted(self) -> StopRun:
        """Run if the request is allowed; nothing is loaded or saved before that."""
        state, request = self._state, self._request
        state.emit(SceneStatus.INITIALIZING, "Initializing context", lifecycle=True)
        denial = await state.hooks.run_authorize(request)
        if denial is not None:
            raise denied(denial)
        await self._runtime.admit(request)
        early_verdict = await state.hooks.run_before(request)
        if isinstance(early_verdict, Deny):
            raise denied(early_verdict)
        async with self._runtime.store.lock(self.conversation):
            return await self._run_locked(early_verdict)

    async def _run_locked(self, early_verdict: Answer | None) -> StopRun:
        state, runtime = self._state, self._runtime
        state.emit(SceneStatus.LOADING_CACHE, "Loading from cache", lifecycle=True)
        self._waiting, self._queue = await runtime.load(state)
        if self._stopped is not None:
            # The store ignored the cancellation.
            raise self._stopped
        self._start = len(state.messages)
        self._running_scenes = True
        try:
            await self._serve(early_verdict)
            stop = StopRun(SceneStopReason.COMPLETED)
        except PauseRun as paused:
            self._waiting = paused.interactions
            stop = StopRun(SceneStopReason.AWAITING_CLIENT)
        except BaseException as error:  # noqa: BLE001 - what there is has to be saved
            stop = self._report_stop(error)
        # From here on the run ends by itself, outside of scenes.
        self._ending, self._running_scenes = True, False
        state.scene = None
        if self._expired and self._timer is not None:
            self._timer.cancel()
            self._schedule(_SAVING, self._cancel_overdue)
        if stop.reason is SceneStopReason.UNAUTHORIZED:
            return stop
        await self._append_from_hooks(stop)
        state.emit(SceneStatus.SAVING_CACHE, "Saving to cache", lifecycle=True)
        await runtime.save(state, self._waiting, self._queue if self._waiting else None)
        if stop.reason is SceneStopReason.AWAITING_CLIENT:
            for each in self._waiting:
                self._announce(each)
        return stop

    async def _serve(self, early_verdict: Answer | None) -> None:
        state, request = self._state, self._request
        messages = [] if request.input is None else as_messages(request.input)
        queue, resumed = self._queue, request.results is not None
        if request.results is not None:
            results = results_of(request.results)
            check_results(self.conversation, self._waiting, results)
            if messages:
                results = {**missing_results(self._waiting), **results}
            self._waiting = await apply_client_results(state, self._waiting, results)
        else:
            if not messages and (self._waiting or not _is_open(state.messages)):
                raise StopRun(SceneStopReason.ERROR, "There is nothing to answer")
            if self._waiting:
                self._waiting = await apply_client_results(
                    state, self._waiting, missing_results(self._waiting)
                )
            await self._runtime.shorten(state)
            self._start = len(state.messages)
        state.messages += messages
        if self._waiting:
            raise PauseRun(self._waiting)
        if early_verdict is not None:
            state.text = early_verdict.text
            state.append_text(early_verdict.text)
            return
        # Earlier runs may have spent the budget of the conversation.
        state.check_budget()
        state.emit(SceneStatus.EXECUTING_MAIN_ACTORS, "Executing main actors", lifecycle=True)
        state.main_texts = await actor_texts(self._runtime.actors, state.context())
        if queue is None or not resumed:
            self._queue = queue = SceneQueue(self._mode)
            resumed = False
            await select_first_scenes(state, queue)
        await run_scenes(state, queue, resumed=resumed)

    @property
    def _mode(self) -> SceneMode:
        request = self._request
        if request.mode is None:
            return "scene" if request.scene is not None else self._runtime.settings.mode
        return request.mode

    def _announce(self, interaction: Interaction) -> None:
        step = self._state.emit(
            SceneStatus.AWAITING_CLIENT,
            f"Awaiting client: {interaction.function}",
            scene=interaction.scene,
            function=interaction.function,
            call_id=interaction.call_id,
            message_id=self._state.message_of(interaction.call_id),
            arguments=interaction.arguments,
            interaction_id=interaction.interaction_id,
        )
        self._awaiting += [] if step is None else [step]

    # The end.

    def _report_stop(self, error: BaseException) -> StopRun:
        """Return the reason for the end of the run, after a step for it if it is a failure."""
        stop = self._stop_for(error)
        if stop.message is not None and self._reported_stop is None and not self._steps.is_closed:
            self._reported_stop = stop
            self._state.emit(
                SceneStatus.ERROR,
                stop.message,
                scene=self._state.scene,
                error=stop.error or stop.message,
                fatal=True,
                reference=stop.reference,
            )
        return stop

    def _stop_for(self, error: BaseException) -> StopRun:
        if isinstance(error, asyncio.CancelledError):
            return self._stopped or StopRun(SceneStopReason.CANCELLED)
        if isinstance(error, StopRun):
            return error
        if isinstance(error, ModelError):
            message = model_failure_text(error)
        elif isinstance(error, RateLimitedError):
            return StopRun(
                SceneStopReason.RATE_LIMITED, f"Rate limit exceeded: {error}", exception=error
            )
        else:
            message = run_failure_text(error)
            if not isinstance(error, Exception):
                # Such exceptions are for the program: raised to the reader after the last step.
                self._raised = error
        return StopRun(
            SceneStopReason.ERROR,
            message,
            error=full_text(error),
            exception=error,
            reference=log_failure(error, "a run of scenes has failed"),
        )

    async def _append_from_hooks(self, stop: StopRun) -> None:
        """Append the texts of the hooks for the end of the run."""
        state = self._state
        try:
            additions = await state.hooks.run_on_terminal(self._request, self._build_result(stop))
        except Exception as error:  # noqa: BLE001 - a hook, which must not cost the conversation
            reference = log_failure(error, "a hook has failed")
            state.emit(
                SceneStatus.ERROR,
                run_failure_text(error),
                error=full_text(error),
                reference=reference,
            )
            return
        for each in additions:
            state.append_text(each.text)
            state.text = f"{state.text}\n\n{each.text}".strip()

    def _build_result(self, stop: StopRun) -> SceneResult:
        state = self._state
        total = state.costs.total
        return SceneResult(
            text=state.text,
            stop_reason=stop.reason,
            conversation=self.conversation,
            scenes=tuple(state.entered),
            executed=tuple(state.executed),
            messages=tuple(state.messages),
            new_messages=tuple(state.messages[self._start :]),
            input_tokens=total.input_tokens,
            output_tokens=total.output_tokens,
            total_cost=total.amount,
            estimated=total.estimated,
            unpriced=total.unpriced,
            iterations=state.costs.requests,
            awaiting=tuple(self._awaiting),
            error=stop.error or stop.message,
            exception=stop.exception,
            notice=state.notice,
            repairs=tuple(state.repairs),
        )


def _is_open(messages: Sequence[Message]) -> bool:
    """Return True if the last message is not the model's answer, or its reply has calls."""
    turns = [message for message in messages if not isinstance(message, UsageMessage)]
    last = turns[-1] if turns else None
    if not (isinstance(last, TextMessage) and last.role is Role.ASSISTANT):
        return last is not None
    # Text after calls in the same reply is written before their results are known.
    return last.generation_id is not None and any(
        isinstance(message, (ToolCallMessage, ToolAggregateMessage))
        and message.generation_id == last.generation_id
        for message in turns
    )
