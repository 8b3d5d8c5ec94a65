"""The flow of a run: choose scenes, run them, and choose again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kinds import SceneStopReason
from ._choosing import choose, named_scene, needs_another_scene
from ._hooks import UNAUTHORIZED, Append, Deny, SceneOutcome
from ._planning import conclude, plan
from ._scene_loop import run_scene
from ._state import StopRun

if TYPE_CHECKING:
    from ._scene_queue import SceneEntry, SceneQueue
    from ._state import RunState


async def select_first_scenes(state: RunState, queue: SceneQueue) -> None:
    """Fill the queue with the first scenes; it stays empty if the model has answered instead.

    Raises:
        ModelError: The request failed, or the reply broke off.
        StopRun: There is no scene to enter.
    """
    if queue.mode == "scene":
        queue.pending = named_scene(state, state.request.scene)
    elif queue.mode == "planning":
        queue.pending = await plan(state)
    else:
        queue.pending = await choose(state)


async def run_scenes(state: RunState, queue: SceneQueue, *, resumed: bool = False) -> None:
    """Run the scenes of the queue, and those chosen after them.

    Args:
        state: The run.
        queue: The scenes to enter.
        resumed: True if the first scene continues where the run was paused.

    Raises:
        ModelError: A request failed, or a reply broke off.
        PauseRun: The client has to run tools. The queue says how to resume.
        StopRun: The run ended without an answer.
    """
    had_scenes = bool(queue.pending)
    while queue.pending:
        while queue.pending:
            _check_scene_limit(state, queue)
            entry = queue.pending[0]
            text = await run_scene(state, queue, entry, resumed=resumed)
            resumed = False
            queue.pending.pop(0)
            queue.done.append((entry, text))
            if await _run_hooks(state, entry, text):
                return
            state.scene = None
        if queue.mode == "chaining" and await needs_another_scene(state):
            _check_scene_limit(state, queue)
            queue.pending = await choose(state, repeated=True)
    if had_scenes and queue.mode == "planning":
        await conclude(state)


def _check_scene_limit(state: RunState, queue: SceneQueue) -> None:
    """Raise StopRun if the limit of scenes is reached."""
    limit = state.settings.max_scenes
    if len(queue.done) >= limit:
        raise StopRun(SceneStopReason.MAX_ITERATIONS, f"Maximum scene limit ({limit}) reached")


async def _run_hooks(state: RunState, entry: SceneEntry, text: str) -> bool:
    """Run the hooks for a scene that has answered; return True if they end the run."""
    scene = state.scenes[entry.scene].name
    for verdict in await state.hooks.run_after_scene(state.request, SceneOutcome(scene, text)):
        if isinstance(verdict, Deny):
            raise denied(verdict)
        state.append_text(verdict.text, scene)
        if isinstance(verdict, Append):
            state.text = f"{state.text}\n\n{verdict.text}"
        else:
            state.text, state.notice = verdict.text, None
            return True
    return False


def denied(verdict: Deny) -> StopRun:
    """Return the end of a run that a hook has denied."""
    return StopRun(SceneStopReason.UNAUTHORIZED, verdict.reason or UNAUTHORIZED)
