"""The loop of a scene: request a reply, run its calls, and repeat until there is an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import tracing
from ..agent._loop import ReplyLoop, pending_calls
from ..conversations import Interaction
from ..kinds import SceneStopReason, StopReason
from ._actors import actor_texts
from ._ends import PauseRun, StopRun, not_found
from ._model_turn import ModelTurn
from ._output import OutputRequest
from ._reply_texts import refuse_all
from ._request import enter_context
from ._state import user

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._core import ToolAggregateMessage
    from ..natural import NaturalToolUse, ReplyRun
    from ._scene import BaseScene
    from ._scene_queue import SceneEntry, SceneQueue
    from ._state import RunState


async def run_scene(
    state: RunState,
    queue: SceneQueue,
    entry: SceneEntry,
    *,
    resumed: bool = False,
    is_last: bool = False,
) -> str:
    """Run a scene.

    Args:
        state: The run.
        queue: The queue, with the answers of earlier scenes.
        entry: The scene.
        resumed: True if the scene continues where the run was paused.
        is_last: True if the answer of the scene is that of the run.

    Returns:
        The answer of the scene.

    Raises:
        ModelError: A request failed, or a reply broke off.
        OutputError: The model gave no valid output of the run, also when asked again.
        PauseRun: The client has to run tools.
        StopRun: The scene ended without an answer.
    """
    scene = state.scenes.find(entry.scene)
    if scene is None:
        # The scene was removed while the run was paused.
        raise not_found(entry.scene)
    state.enter(scene.name)
    with tracing.invoke_agent(scene.name, conversation_id=state.key):
        context = state.context(scene.name, entry.purpose)
        enter_context(context)
        about = f": {scene.description}" if scene.description else ""
        system = (
            f'You are in the scene "{scene.name}"{about}',
            *await actor_texts(scene.actors, context),
            *_plan_texts(state, queue, entry),
        )
        nudge = None if resumed else _nudge(scene, entry)
        loop = _SceneLoop(state, scene, system, nudge, is_last=is_last)
        answer = await loop.run()
    if answer is None:
        # Raised outside of the span, since it is not a failure.
        raise PauseRun
    return answer


class _SceneLoop:
    def __init__(
        self,
        state: RunState,
        scene: BaseScene,
        system: Sequence[str],
        nudge: str | None,
        *,
        is_last: bool,
    ) -> None:
        self._state = state
        self._scene = scene
        self._system = system
        self._is_last = is_last
        self._nudge = [] if nudge is None else [user(nudge)]
        self._start = len(state.messages)

    async def run(self) -> str | None:
        """Return the answer, or None if the client has to run tools."""
        state, scene = self._state, self._scene
        loop = ReplyLoop(state.settings.max_iterations, state.settings.max_repeats)
        refused = False
        stop: StopReason | None = None
        while stop is None:
            # Calls in text are not refused in two replies in a row.
            should_refuse = None if refused else refuse_all
            use = state.scenes.tool_use(scene)
            output = self._output_request(use, with_tools=True)
            turn = ModelTurn(state, use, scene=scene, should_refuse=should_refuse)
            reply = await self._run_turn(turn, output, loop)
            if turn.aggregate is None:
                if await turn.report_answer(reply, output, may_retry=loop.may_continue):
                    return reply.text.strip()
                continue
            refused = bool(turn.refused)
            state.check_budget()
            stop = await loop.stop_reason(turn.aggregate)
            if stop is StopReason.DEFERRED:
                state.waiting = tuple(self._interactions(turn.aggregate, use))
                return None
        return await self._stop_at_limit(stop)

    def _output_request(self, use: NaturalToolUse, *, with_tools: bool) -> OutputRequest | None:
        """Return the request for the output of the run; None if that is not of this scene."""
        return OutputRequest(self._state, use, with_tools=with_tools) if self._is_last else None

    async def _run_turn(
        self, turn: ModelTurn, output: OutputRequest | None, loop: ReplyLoop | None = None
    ) -> ReplyRun:
        state = self._state
        # The prompt on entering comes before the messages that followed it.
        before, after = state.messages[: self._start], state.messages[self._start :]
        system = state.system(*self._system, None if output is None else output.form)
        messages = [*system, *before, *self._nudge, *after]
        return await turn.run(messages, output=output, loop=loop)

    async def _stop_at_limit(self, stop: StopReason) -> str:
        """Stop at a limit, after a last answer without tools if `answer_at_limit` is set."""
        state, scene, settings = self._state, self._scene, self._state.settings
        if stop is StopReason.LOOP:
            reason = f"The same tool calls gave the same results {settings.max_repeats} times"
        else:
            reason = f"Maximum tool call iterations ({settings.max_iterations}) reached"
        end = StopRun(SceneStopReason.MAX_ITERATIONS, reason)
        if not settings.answer_at_limit:
            raise end
        state.emit_stop(end)
        use = state.scenes.tool_use(scene)
        output = self._output_request(use, with_tools=False)
        while True:
            turn = ModelTurn(state, use, scene=scene, executes=False, with_tools=False)
            reply = await self._run_turn(turn, output)
            if reply.aggregate is not None:
                # The model calls tools anyway. Its text has been emitted already.
                state.answer(reply.text.strip(), scene.name, notice=turn.notice)
                state.check_budget()
                break
            if await turn.report_answer(reply, output):
                break
        raise StopRun(SceneStopReason.MAX_ITERATIONS)

    def _interactions(
        self, aggregate: ToolAggregateMessage, use: NaturalToolUse[Any]
    ) -> Iterator[Interaction]:
        for call, key in pending_calls(aggregate):
            # From here on the conversation stores the call, also across processes.
            use.executor.deferred.discard(key)
            yield Interaction(key, call.id, self._scene.name, call.name, call.arguments)


def _nudge(scene: BaseScene, entry: SceneEntry) -> str | None:
    """Return a prompt if the conversation does not end with input of the user, or None."""
    if entry.purpose is not None:
        return f"Do this now, in the scene '{scene.name}': {entry.purpose}"
    return f"Go on in the scene '{scene.name}'." if entry.follows else None


def _plan_texts(state: RunState, queue: SceneQueue, entry: SceneEntry) -> Iterator[str]:
    """Yield the purpose of a step of the plan, and the results that it depends on."""
    if entry.purpose is None:
        return
    yield f"Purpose of this step of the plan: {entry.purpose}"
    found = [result for step in entry.depends_on if (result := queue.result_of(step)) is not None]
    if found:
        results = (f"- {state.scenes[each.scene].name}: {text}" for each, text in found)
        yield "Results of earlier steps:\n" + "\n".join(results)
