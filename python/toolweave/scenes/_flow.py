"""The flow of a run: results of the client, then scenes, chosen and run one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import TextMessage, ToolAggregateMessage, ToolCallMessage, UsageMessage
from ..kinds import Role, SceneStatus, SceneStopReason
from ..models import as_messages
from ._actors import actor_texts
from ._choosing import choose, named_scene, needs_another_scene
from ._conclusion import conclude
from ._ends import PauseRun, StopRun, denied
from ._hooks import Append, Deny, SceneOutcome
from ._output import has_output, read_hook_answer
from ._planning import plan
from ._scene_loop import run_scene
from ._scene_queue import SceneQueue
from ._storage import add_results, results_of, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._messages import Message
    from ._hooks import Answer
    from ._scene_queue import SceneEntry
    from ._state import RunState


async def serve(state: RunState, early_answer: Answer | None) -> None:
    """Serve the request of a run whose conversation has been loaded.

    Args:
        state: The run.
        early_answer: The answer of a hook, which replaces that of the model.

    Raises:
        ModelError: A request failed, or a reply broke off.
        PauseRun: The client has to run tools.
        StopRun: The run ended without an answer.
    """
    request = state.request
    messages = [] if request.input is None else as_messages(request.input)
    resumed = request.results is not None and state.queue is not None
    if request.results is not None:
        results = results_of(state, request.results)
        await add_results(state, results, complete=bool(messages))
    else:
        if not messages and (state.waiting or not _is_open(state.messages)):
            raise StopRun(SceneStopReason.ERROR, "There is nothing to answer")
        await add_results(state, {}, complete=True)
        await shorten(state)
        state.start = len(state.messages)
    state.messages += messages
    if state.waiting:
        raise PauseRun
    if early_answer is not None:
        state.answer(early_answer.text)
        state.append_text(early_answer.text)
        await read_hook_answer(state)
        return
    # Earlier runs may have spent the budget of the conversation.
    state.check_budget()
    state.emit(SceneStatus.EXECUTING_MAIN_ACTORS, "Executing main actors", lifecycle=True)
    state.main_texts = await actor_texts(state.settings.actors, state.context())
    if state.queue is None or not resumed:
        default = state.settings.mode if request.scene is None else "scene"
        state.queue = SceneQueue(request.mode or default)
        await _select_first_scenes(state, state.queue)
    await _run_scenes(state, state.queue, resumed=resumed)


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


async def _select_first_scenes(state: RunState, queue: SceneQueue) -> None:
    """Fill the queue with the first scenes; it stays empty if the model has answered instead."""
    if queue.mode == "scene":
        queue.pending = named_scene(state, state.request.scene)
    elif queue.mode == "planning":
        queue.pending = await plan(state)
    else:
        queue.pending = await choose(state)


async def _run_scenes(state: RunState, queue: SceneQueue, *, resumed: bool) -> None:
    """Run the scenes of the queue, and those chosen after them.

    Args:
        state: The run.
        queue: The scenes to enter.
        resumed: True if the first scene continues where the run was paused.
    """
    had_scenes = bool(queue.pending)
    while queue.pending:
        while queue.pending:
            _check_scene_limit(state, queue)
            entry = queue.pending[0]
            # In the other modes, the last scene is not known before it has answered.
            is_last = queue.mode in ("direct", "scene") and len(queue.pending) == 1
            text = await run_scene(state, queue, entry, resumed=resumed, is_last=is_last)
            resumed = False
            queue.pending.pop(0)
            queue.done.append((entry, text))
            if await _run_hooks(state, entry, text):
                return
            state.scene = None
        if queue.mode == "chaining" and await needs_another_scene(state):
            _check_scene_limit(state, queue)
            queue.pending = await choose(state, repeated=True)
    if (had_scenes and queue.mode == "planning") or not await has_output(state):
        await conclude(state)


def _check_scene_limit(state: RunState, queue: SceneQueue) -> None:
    """Raise StopRun if the limit of scenes is reached."""
    limit = state.settings.max_scenes
    if len(queue.done) >= limit:
        raise StopRun(SceneStopReason.MAX_ITERATIONS, f"Maximum scene limit ({limit}) reached")


async def _run_hooks(state: RunState, entry: SceneEntry, text: str) -> bool:
    """Run the hooks for a scene that has answered; return True if they end the run."""
    scene = state.scenes[entry.scene].name
    outcome = SceneOutcome(scene, text)
    for verdict in await state.settings.hooks.run_after_scene(state.request, outcome):
        if isinstance(verdict, Deny):
            state.output.clear()
            raise denied(verdict.reason)
        state.append_text(verdict.text, scene)
        if isinstance(verdict, Append):
            state.answer(f"{state.text}\n\n{verdict.text}", scene, notice=state.notice)
        else:
            state.answer(verdict.text, scene)
            await read_hook_answer(state)
            return True
    return False
