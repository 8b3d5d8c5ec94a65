"""A run of scenes, from the request to the last step."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic

from .. import tracing
from .._aio.loops import running_loop
from .._aio.runs import ResultRun
from .._core import UsageUpdate
from ..costs._spending import current_meter
from ..kinds import SceneStatus, SceneStopReason
from ..natural._partial_output import partial_values
from ..output._schema import Output
from ._ends import StopRun, denied, failure, run_failure_text, stop_of
from ._flow import serve
from ._hooks import Deny
from ._state import OutputText
from ._storage import load, save

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from .._messages import Message
    from ..natural._partial_output import PartialOutput
    from ._hooks import Answer
    from ._state import RunState
    from ._steps import SceneResult, SceneStep

_log = logging.getLogger("toolweave.scenes")

_GRACE = 10.0

# Time to save a run that has timed out, in seconds.
_SAVING = 1.0


class SceneRun(ResultRun["SceneStep", "SceneResult[Output]"], Generic[Output]):
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

    def __init__(self, state: RunState) -> None:
        self._state = state
        self.conversation = state.key
        """The key of the conversation."""
        self.run_id = state.run_id
        """The id of the run in its messages."""
        self.generation_id: str | None = None
        """The id of the reply that the last step belongs to; None before the first reply."""
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        # The end that was requested from outside, and the one that was reported in a step.
        self._stopped: StopRun | None = None
        self._reported: StopRun | None = None
        self._running_scenes = False
        self._ending = False
        self._expired = False
        self._raised: BaseException | None = None

    # For readers of the run.

    @property
    def current_generation_id(self) -> str | None:
        """The id of the reply in progress, even if none of its steps has been read yet."""
        return self._state.generation_id

    @property
    def finished_messages(self) -> tuple[Message, ...]:
        """The messages that the run has added so far: the input and complete replies."""
        return tuple(self._state.messages[self._state.start :])

    @property
    def changed_messages(self) -> tuple[Message, ...]:
        """The messages of earlier runs that changed because results of their calls arrived."""
        return tuple(self._state.changed)

    async def __anext__(self) -> SceneStep:
        while True:
            step = await self._take()
            if not isinstance(step, OutputText):
                return step

    async def _take(self) -> SceneStep | OutputText:
        if self._task is None and not self._state.steps.is_closed:
            self._task = running_loop().create_task(self._main())
            self._task.add_done_callback(self._on_done)
        step, self.generation_id = await self._state.steps.take()
        return step

    async def wait(self) -> SceneResult[Output]:
        """Wait for the result. Cancellation stops the model and the tools.

        Failures of the run are part of the result and are not raised.
        """
        return await self._read_result()

    async def stream_output(self) -> AsyncGenerator[Any, None]:
        """Run, and yield the output as far as it is written, as a JSON value.

        The values are those of `AgentRun.stream_output`. With an output type, only the request for
        the output is read. Without one, each is the text of the reply so far: an answer outside of
        scenes, or one of a scene. In both cases the values begin again with another reply.

        Leaving the iteration early stops the run if the run is also left as a context manager.

        Yields:
            Plain JSON values that do not change any more. The last one is the value that `output`
            of the result was made from.

        Raises:
            OutputError: The run ended without an output, for example because it failed, or waits
                for the client.
        """
        self._state.streams_output = True
        values = partial_values(self._output_texts(), lambda: self._state.output.final(self.result))
        async with aclosing(values):
            async for value in values:
                yield value

    async def _output_texts(self) -> AsyncGenerator[tuple[PartialOutput, str], None]:
        while True:
            try:
                step = await self._take()
            except StopAsyncIteration:
                return
            if isinstance(step, OutputText):
                yield step.output, step.text

    async def cancel(self) -> None:
        """Stop the model and the tools, and wait until they have stopped.

        Calls without a result get one that says they were interrupted. The conversation is saved up
        to this point. The last step has the stop reason ``cancelled``.
        """
        # The reader of the run may be the caller, which reads nothing until this returns.
        self._state.steps.release()
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
        await self._state.steps.caught_up()

    def _request_stop(self, stop: StopRun) -> None:
        if self._task is None or self._task.done() or self._stopped is not None:
            return
        self._stopped = stop
        if not self._ending:
            self._task.cancel()

    # The run.

    async def _main(self) -> None:
        state, settings = self._state, self._state.settings
        current_meter.set(state.usage)
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
        state = self._state
        if state.steps.is_closed:
            return
        self.result = state.end(stop, self._raised)
        _log.info(
            "a run of scenes has ended",
            extra={
                "conversation": state.key,
                "run_id": state.run_id,
                "stop_reason": stop.reason.value,
                "iterations": state.costs.requests,
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
        if self._stopped is not None and self._reported is not self._stopped:
            self._report_stop(self._stopped)
        self._finish(self._stopped or StopRun(SceneStopReason.CANCELLED))

    async def _run_admitted(self) -> StopRun:
        """Run if the request is allowed; nothing is loaded or saved before that."""
        state, settings, request = self._state, self._state.settings, self._state.request
        state.emit(SceneStatus.INITIALIZING, "Initializing context", lifecycle=True)
        denial = await settings.hooks.run_authorize(request)
        if denial is not None:
            raise denied(denial.reason)
        if settings.rate_limiter is not None:
            await settings.rate_limiter.acquire(settings.rate_key(request))
        verdict = await settings.hooks.run_before(request)
        if isinstance(verdict, Deny):
            raise denied(verdict.reason)
        async with settings.store.lock(state.key):
            return await self._run_locked(verdict)

    async def _run_locked(self, early_answer: Answer | None) -> StopRun:
        state = self._state
        state.emit(SceneStatus.LOADING_CACHE, "Loading from cache", lifecycle=True)
        await load(state)
        if self._stopped is not None:
            # The store ignored the cancellation.
            raise self._stopped
        state.start = len(state.messages)
        self._running_scenes = True
        try:
            await serve(state, early_answer)
            stop = StopRun(SceneStopReason.COMPLETED)
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
        await save(state)
        if stop.reason is SceneStopReason.AWAITING_CLIENT:
            state.emit_waiting()
        return stop

    def _report_stop(self, error: BaseException) -> StopRun:
        """Return the reason for the end of the run, after a step for it if it is a failure."""
        if isinstance(error, asyncio.CancelledError):
            stop = self._stopped or StopRun(SceneStopReason.CANCELLED)
        else:
            stop = stop_of(error)
            if not isinstance(error, Exception):
                # Such exceptions are for the program: raised to the reader after the last step.
                self._raised = error
        closed = self._state.steps.is_closed
        if stop.message is not None and self._reported is None and not closed:
            self._reported = stop
            self._state.emit_stop(stop, fatal=True)
        return stop

    async def _append_from_hooks(self, stop: StopRun) -> None:
        """Append the texts of the hooks for the end of the run."""
        state = self._state
        try:
            additions = await state.settings.hooks.run_on_terminal(
                state.request, state.build_result(stop)
            )
        except Exception as error:  # noqa: BLE001 - a hook, which must not cost the conversation
            state.emit_stop(failure(error, run_failure_text(error), "a hook has failed"))
            return
        for each in additions:
            state.extend_answer(each.text)
