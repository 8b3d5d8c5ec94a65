"""What a run does: it chooses scenes, plays them, and chooses again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kinds import SceneStopReason
from .choosing import choose, named, wants_more
from .hooks import UNAUTHORIZED, Append, Deny, SceneOutcome
from .planning import conclude, plan
from .play import play
from .stage import Stop

if TYPE_CHECKING:
    from .agenda import Agenda, Entry
    from .stage import Stage


async def begin(stage: Stage, agenda: Agenda) -> None:
    """Finds the first scenes; there are none if the model has answered instead.

    Raises:
        ModelError: The model could not be asked, or broke off.
        Stop: There is nothing to enter.
    """
    if agenda.mode == "scene":
        agenda.queue = named(stage, stage.request.scene)
    elif agenda.mode == "planning":
        agenda.queue = await plan(stage)
    else:
        agenda.queue = await choose(stage)


async def conduct(stage: Stage, agenda: Agenda, *, resumed: bool = False) -> None:
    """Plays the scenes of the agenda, and those that follow from them.

    Args:
        stage: The run.
        agenda: What there is to do.
        resumed: Whether the first of them goes on where it was left.

    Raises:
        ModelError: The model could not be asked, or broke off.
        Paused: The client is to run tools. The agenda says how to go on.
        Stop: It ended for another reason than that there is an answer.
    """
    played = bool(agenda.queue)
    while agenda.queue:
        while agenda.queue:
            _check_length(stage, agenda)
            entry = agenda.queue[0]
            text = await play(stage, agenda, entry, resumed=resumed)
            resumed = False
            agenda.queue.pop(0)
            agenda.done.append((entry, text))
            if await _left(stage, entry, text):
                return
            stage.scene = None
        if agenda.mode == "chaining" and await wants_more(stage):
            _check_length(stage, agenda)
            agenda.queue = await choose(stage, again=True)
    if played and agenda.mode == "planning":
        await conclude(stage)


def _check_length(stage: Stage, agenda: Agenda) -> None:
    """Ends the run where another scene would be one too many."""
    most = stage.rules.max_scenes
    if len(agenda.done) >= most:
        raise Stop(SceneStopReason.MAX_ITERATIONS, f"Maximum scene limit ({most}) reached")


async def _left(stage: Stage, entry: Entry, text: str) -> bool:
    """Hears the hooks about a scene that has answered; True if the run ends with it."""
    scene = stage.cast[entry.scene].name
    for verdict in await stage.hooks.left(stage.request, SceneOutcome(scene, text)):
        if isinstance(verdict, Deny):
            raise refused(verdict)
        stage.add(verdict.text, scene)
        if isinstance(verdict, Append):
            stage.text = f"{stage.text}\n\n{verdict.text}"
        else:
            stage.text, stage.notice = verdict.text, None
            return True
    return False


def refused(verdict: Deny) -> Stop:
    """What a hook did not allow."""
    return Stop(SceneStopReason.UNAUTHORIZED, verdict.reason or UNAUTHORIZED)
