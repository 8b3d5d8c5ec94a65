"""A run: from the request to its one last step, whatever happens in between."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import TYPE_CHECKING

from .. import tracing
from .._core import (
    TextMessage,
    ToolAggregateMessage,
    ToolCallMessage,
    UsageMessage,
    UsageUpdate,
)
from .._loops import running_loop
from ..exceptions import ModelError, RateLimitedError
from ..kinds import Role, SceneStatus, SceneStopReason
from ..models import as_messages
from ..event_queue import EventQueue
from ..runs import Run
from .actors import lines
from .agenda import Agenda
from .conduct import begin, conduct, refused
from .failures import in_full, model_failed, reported, run_failed
from .hooks import Deny
from .memory import abandoned, check_results, results_of, settle
from .stage import Paused, Stop
from .steps import SceneResult, SceneStep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .. import Message
    from ..conversations import Interaction
    from ..protocols import Journal
    from .environment import Environment
    from .hooks import Answer
    from .request import SceneMode, SceneRequest

_log = logging.getLogger("toolweave.scenes")

_GRACE = 10.0

# How long what has come of a run may be saved once its time is up, in seconds.
_SAVING = 1.0


class SceneRun(Run[SceneStep]):
    """A run of scenes. Made by `SceneManager.open`.

    As an iterator it gives the steps as they happen, `Completed` last; as a context manager it
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
        environment: Environment,
        request: SceneRequest,
        *,
        verbose: bool | None = None,
        streaming: bool | None = None,
        run_id: str | None = None,
        journal: Journal | None = None,
    ) -> None:
        self._environment = environment
        self._request = request
        self.conversation = request.conversation or uuid.uuid4().hex
        """The key of the conversation."""
        self.result: SceneResult | None = None
        """What came of it, once it has ended."""
        # Each with the reply that it belongs to.
        self._steps: EventQueue[tuple[SceneStep, str | None]] = EventQueue()
        self._generation_id: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._ending = False
        self._stopped: Stop | None = None
        self._said: Stop | None = None
        self._playing = False
        self._expired = False
        self._timer: asyncio.TimerHandle | None = None
        self._raised: BaseException | None = None
        self._waiting: tuple[Interaction, ...] = ()
        self._agenda: Agenda | None = None
        self._awaiting: list[SceneStep] = []
        self._start = 0
        self._stage = environment.stage(
            request,
            self.conversation,
            uuid.uuid4().hex if run_id is None else run_id,
            self._hear,
            verbose=verbose,
            streaming=streaming,
            journal=journal,
        )

    # For who reads.

    @property
    def run_id(self) -> str:
        """The id of the run, which its messages carry."""
        return self._stage.run_id

    @property
    def generation_id(self) -> str | None:
        """The id of the reply that the last step belongs to; None before the first reply."""
        return self._generation_id

    @property
    def current_generation_id(self) -> str | None:
        """The id of the reply that is asked for, or whose calls run, told of or not yet."""
        return self._stage.generation_id

    @property
    def finished_messages(self) -> tuple[Message, ...]:
        """What the run has added so far, the input included: whole replies only."""
        return tuple(self._stage.messages[self._start :])

    @property
    def changed_messages(self) -> tuple[Message, ...]:
        """The messages of earlier runs that have changed: calls whose results have come."""
        return tuple(self._stage.changed)

    async def __anext__(self) -> SceneStep:
        if self._task is None and not self._steps.over:
            self._task = running_loop().create_task(self._main())
            self._task.add_done_callback(self._ended)
        step, self._generation_id = await self._steps.take()
        return step

    async def wait(self) -> SceneResult:
        """Waits for the end. Cancelled, it stops the model and the tools.

        What goes wrong is in the result and is not raised.
        """
        async with self:
            async for _ in self:
                pass
        if self.result is None:
            raise RuntimeError("the run was read by another, and did not end")
        return self.result

    async def cancel(self) -> None:
        """Stops the model and the tools, and waits until they have.

        Calls that have no result get one that says they were interrupted. What there is of the
        conversation is saved. The last step has the stop reason ``cancelled``.
        """
        # Whoever reads may be the one who cancels, and reads no more before this is over.
        self._steps.release()
        if self._task is None:
            # Nothing has happened, and nothing will.
            self._end(Stop(SceneStopReason.CANCELLED))
            return
        self._stop(Stop(SceneStopReason.CANCELLED))
        impatient = False
        waited = 0
        while not self._task.done():
            try:
                done, _ = await asyncio.wait([self._task], timeout=_GRACE)
            except asyncio.CancelledError:
                impatient = True
                continue
            waited += not done
            if waited == 1:
                # A store or a hook that does not end is stopped, too.
                self._task.cancel()
            elif waited > 1:
                _log.error("a run ignores its cancellation and is given up")
                break
        if impatient:
            raise asyncio.CancelledError

    async def caught_up(self) -> None:
        """Waits until whoever reads the run is done with all that has happened so far."""
        if self._stage.reply is not None:
            await self._stage.reply.caught_up()
        await self._steps.caught_up()

    def _stop(self, why: Stop) -> None:
        if self._task is None or self._task.done() or self._stopped is not None:
            return
        self._stopped = why
        if not self._ending:
            self._task.cancel()

    def _hear(self, step: SceneStep) -> None:
        told = (step, self._stage.generation_id)
        if self._steps.over:
            # The run has been given up.
            return
        if step.status is SceneStatus.FUNCTION_PROGRESS:
            self._steps.offer(told)
        else:
            self._steps.put(told)

    # The run.

    async def _main(self) -> None:
        stage, rules = self._stage, self._environment.rules
        if rules.run_timeout is not None:
            self._later(rules.run_timeout, self._expire, rules.run_timeout)
        with tracing.invoke_workflow(rules.name, conversation_id=self.conversation) as span:
            try:
                stop = await self._admitted()
            except BaseException as error:  # noqa: BLE001 - every run has a last step
                stop = self._told(error)
            finally:
                if self._timer is not None:
                    self._timer.cancel()
            total = stage.ledger.total
            span.usage(
                UsageUpdate(total.input_tokens, total.output_tokens, total.cached_input_tokens)
            )
            if stop.reason is SceneStopReason.ERROR:
                span.fail(type(stop.exception).__name__ if stop.exception else "error")
        self._end(stop)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Sees to the last step where the task has not come to it."""
        if task.cancelled():
            # Before its first step.
            self._end(self._stopped or Stop(SceneStopReason.CANCELLED))
        elif (error := task.exception()) is not None:
            self._raised = error
            self._end(Stop(SceneStopReason.ERROR, exception=error))

    def _end(self, stop: Stop) -> None:
        if self._steps.over:
            return
        self.result = self._came_to(stop)
        self._stage.emit(
            SceneStatus.COMPLETED,
            self._stage.text,
            scene=self._stage.said_in,
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
                "run_id": self._stage.run_id,
                "stop_reason": stop.reason.value,
                "iterations": self._stage.ledger.requests,
            },
        )

    def _later(self, seconds: float, do: Callable[..., None], *given: object) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, do, *given)

    def _expire(self, seconds: float) -> None:
        self._expired = True
        self._stop(Stop(SceneStopReason.ERROR, f"The run took longer than {seconds:g} seconds"))
        # Tools have a time of their own to stop in; the model and they are waited for.
        self._later(_GRACE if self._playing else _SAVING, self._overdue)

    def _overdue(self) -> None:
        """Stop what does not end though the time is up: a store, or a hook."""
        if self._task is not None:
            self._task.cancel()
            self._later(_SAVING, self._give_up)

    def _give_up(self) -> None:
        _log.error("a run ignores its cancellation and is given up")
        if self._stopped is not None and self._said is not self._stopped:
            self._told(self._stopped)
        self._end(self._stopped or Stop(SceneStopReason.CANCELLED))

    async def _admitted(self) -> Stop:
        """Runs if the request may: before that nothing is loaded, and nothing is saved."""
        stage, request = self._stage, self._request
        stage.emit(SceneStatus.INITIALIZING, "Initializing context", lifecycle=True)
        denied = await stage.hooks.allowed(request)
        if denied is not None:
            raise refused(denied)
        await self._environment.admit(request)
        instead = await stage.hooks.begin(request)
        if isinstance(instead, Deny):
            raise refused(instead)
        async with self._environment.store.lock(self.conversation):
            return await self._locked(instead)

    async def _locked(self, instead: Answer | None) -> Stop:
        stage, environment = self._stage, self._environment
        stage.emit(SceneStatus.LOADING_CACHE, "Loading from cache", lifecycle=True)
        self._waiting, self._agenda = await environment.load(stage)
        if self._stopped is not None:
            # The store has ignored it.
            raise self._stopped
        self._start = len(stage.messages)
        self._playing = True
        try:
            await self._serve(instead)
            stop = Stop(SceneStopReason.COMPLETED)
        except Paused as paused:
            self._waiting = paused.interactions
            stop = Stop(SceneStopReason.AWAITING_CLIENT)
        except BaseException as error:  # noqa: BLE001 - what there is has to be saved
            stop = self._told(error)
        # From here on it ends by itself, and outside of scenes.
        self._ending, self._playing = True, False
        stage.scene = None
        if self._expired and self._timer is not None:
            self._timer.cancel()
            self._later(_SAVING, self._overdue)
        if stop.reason is SceneStopReason.UNAUTHORIZED:
            return stop
        await self._appended(stop)
        stage.emit(SceneStatus.SAVING_CACHE, "Saving to cache", lifecycle=True)
        await environment.save(stage, self._waiting, self._agenda if self._waiting else None)
        if stop.reason is SceneStopReason.AWAITING_CLIENT:
            for each in self._waiting:
                self._announce(each)
        return stop

    async def _serve(self, instead: Answer | None) -> None:
        stage, request = self._stage, self._request
        said = [] if request.input is None else as_messages(request.input)
        agenda, resumed = self._agenda, request.results is not None
        if request.results is not None:
            results = results_of(request.results)
            check_results(self.conversation, self._waiting, results)
            if said:
                results = {**abandoned(self._waiting), **results}
            self._waiting = await settle(stage, self._waiting, results)
        else:
            if not said and (self._waiting or not _is_open(stage.messages)):
                raise Stop(SceneStopReason.ERROR, "There is nothing to answer")
            if self._waiting:
                self._waiting = await settle(stage, self._waiting, abandoned(self._waiting))
            await self._environment.shorten(stage)
            self._start = len(stage.messages)
        stage.messages += said
        if self._waiting:
            raise Paused(self._waiting)
        if instead is not None:
            stage.text = instead.text
            stage.add(instead.text)
            return
        # A conversation may have spent its budget before.
        stage.check_budget()
        stage.emit(SceneStatus.EXECUTING_MAIN_ACTORS, "Executing main actors", lifecycle=True)
        stage.main_lines = await lines(self._environment.actors, stage.context())
        if agenda is None or not resumed:
            self._agenda = agenda = Agenda(self._mode)
            resumed = False
            await begin(stage, agenda)
        await conduct(stage, agenda, resumed=resumed)

    @property
    def _mode(self) -> SceneMode:
        request = self._request
        if request.mode is None:
            return "scene" if request.scene is not None else self._environment.rules.mode
        return request.mode

    def _announce(self, each: Interaction) -> None:
        step = self._stage.emit(
            SceneStatus.AWAITING_CLIENT,
            f"Awaiting client: {each.function}",
            scene=each.scene,
            function=each.function,
            call_id=each.call_id,
            message_id=self._stage.home_of(each.call_id),
            arguments=each.arguments,
            interaction_id=each.interaction_id,
        )
        self._awaiting += [] if step is None else [step]

    # The end.

    def _told(self, error: BaseException) -> Stop:
        """Why the run ends, which is told of where it is a failure."""
        stop = self._stop_of(error)
        if stop.message is not None and self._said is None and not self._steps.over:
            self._said = stop
            self._stage.emit(
                SceneStatus.ERROR,
                stop.message,
                scene=self._stage.scene,
                error=stop.error or stop.message,
                fatal=True,
                reference=stop.reference,
            )
        return stop

    def _stop_of(self, error: BaseException) -> Stop:
        if isinstance(error, asyncio.CancelledError):
            return self._stopped or Stop(SceneStopReason.CANCELLED)
        if isinstance(error, Stop):
            return error
        if isinstance(error, ModelError):
            message = model_failed(error)
        elif isinstance(error, RateLimitedError):
            return Stop(
                SceneStopReason.RATE_LIMITED, f"Rate limit exceeded: {error}", exception=error
            )
        else:
            message = run_failed(error)
            if not isinstance(error, Exception):
                # Meant for the program: raised for who reads, behind the last step.
                self._raised = error
        return Stop(
            SceneStopReason.ERROR,
            message,
            error=in_full(error),
            exception=error,
            reference=reported(error, "a run of scenes has failed"),
        )

    async def _appended(self, stop: Stop) -> None:
        """Hears the hooks about the end."""
        stage = self._stage
        try:
            appended = await stage.hooks.end(self._request, self._came_to(stop))
        except Exception as error:  # noqa: BLE001 - a hook, which must not cost the conversation
            reference = reported(error, "a hook has failed")
            stage.emit(
                SceneStatus.ERROR, run_failed(error), error=in_full(error), reference=reference
            )
            return
        for each in appended:
            stage.add(each.text)
            stage.text = f"{stage.text}\n\n{each.text}".strip()

    def _came_to(self, stop: Stop) -> SceneResult:
        stage = self._stage
        total = stage.ledger.total
        return SceneResult(
            text=stage.text,
            stop_reason=stop.reason,
            conversation=self.conversation,
            scenes=tuple(stage.entered),
            executed=tuple(stage.executed),
            messages=tuple(stage.messages),
            new_messages=tuple(stage.messages[self._start :]),
            input_tokens=total.input_tokens,
            output_tokens=total.output_tokens,
            total_cost=total.amount,
            estimated=total.estimated,
            unpriced=total.unpriced,
            iterations=stage.ledger.requests,
            awaiting=tuple(self._awaiting),
            error=stop.error or stop.message,
            exception=stop.exception,
            notice=stage.notice,
            repairs=tuple(stage.repairs),
        )


def _is_open(messages: Sequence[Message]) -> bool:
    """Whether something is left to answer: the last word is not the model's, or came with calls."""
    said = [message for message in messages if not isinstance(message, UsageMessage)]
    last = said[-1] if said else None
    if not (isinstance(last, TextMessage) and last.role is Role.ASSISTANT):
        return last is not None
    # What it says behind its calls, it says before it knows their results.
    return last.generation_id is not None and any(
        isinstance(message, (ToolCallMessage, ToolAggregateMessage))
        and message.generation_id == last.generation_id
        for message in said
    )
