"""A scene at play: the model is asked, its tools run, until it has its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .. import tracing
from ..agent.guard import LoopGuard
from ..conversations import Interaction
from ..executor.deferred import METADATA as DEFERRED
from ..kinds import SceneStatus, SceneStopReason
from .actors import lines
from .asking import Asking, answered
from .request import enter_context
from .stage import Paused, Stop, not_found, user

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .. import Message, ToolAggregateMessage
    from .agenda import Agenda, Entry
    from .scene import Scene
    from .stage import Stage
    from .strays import Stray


async def play(stage: Stage, agenda: Agenda, entry: Entry, *, resumed: bool = False) -> str:
    """Plays a scene.

    Args:
        stage: The run.
        agenda: What there is to do.
        entry: The scene.
        resumed: Whether it goes on where it was left.

    Returns:
        What it answered.

    Raises:
        ModelError: The model could not be asked, or broke off.
        Paused: The client is to run tools.
        Stop: It ended without an answer.
    """
    scene = stage.cast.find(entry.scene)
    if scene is None:
        # It was there when the run was paused.
        raise not_found(entry.scene)
    stage.entered.append(scene.name)
    stage.scene = stage.said_in = scene.name
    stage.emit(SceneStatus.EXECUTING_SCENE, f"Entering scene: {scene.name}", scene=scene.name)
    with tracing.invoke_agent(scene.name, conversation_id=stage.key):
        context = stage.context(scene.name, entry.purpose)
        enter_context(context)
        about = f": {scene.description}" if scene.description else ""
        system = stage.system(
            f'You are in the scene "{scene.name}"{about}',
            *await lines(scene.actors, context),
            *_of_plan(stage, agenda, entry),
        )
        play = _Play(stage, scene, system, None if resumed else _nudge(scene, entry))
        return await play.run()


class _Play:
    def __init__(
        self, stage: Stage, scene: Scene, system: Sequence[Message], nudge: str | None
    ) -> None:
        self._stage = stage
        self._scene = scene
        self._system = system
        self._nudge = [] if nudge is None else [user(nudge)]
        self._start = len(stage.messages)
        self._guard = LoopGuard(stage.rules.max_repeats)
        self._refused = False

    async def run(self) -> str:
        stage, limit = self._stage, self._stage.rules.max_iterations
        asked = 0
        while asked < limit:
            asking = Asking(
                stage, stage.cast.playing(self._scene), scene=self._scene, refuses=self._refuses
            )
            reply = await asking.ask(self._request(), most=limit - asked)
            asked += asking.requests
            # The model is told of a call in text once in a row.
            self._refused = bool(asking.refused)
            if asking.aggregate is None:
                return answered(stage, reply, self._scene, notice=asking.notice)
            stage.check_budget()
            waiting = tuple(self._waiting(asking.aggregate))
            if waiting:
                raise Paused(waiting)
            if await self._guard.sees_loop(asking.aggregate):
                return await self._give_up(
                    f"The same tool calls gave the same results {stage.rules.max_repeats} times"
                )
        return await self._give_up(f"Maximum tool call iterations ({limit}) reached")

    def _refuses(self, _: Stray) -> bool:
        return not self._refused

    def _request(self) -> list[Message]:
        # What is said to the model on entering stands before what came of it.
        before = self._stage.messages[: self._start]
        return [*self._system, *before, *self._nudge, *self._stage.messages[self._start :]]

    async def _give_up(self, why: str) -> str:
        """Ends at a limit; if that is wanted, with an answer of what there is."""
        stage, scene = self._stage, self._scene
        if not stage.rules.answer_at_limit:
            raise Stop(SceneStopReason.MAX_ITERATIONS, why)
        stage.emit(SceneStatus.ERROR, why, scene=scene.name, error=why)
        asking = Asking(stage, stage.cast.playing(scene), scene=scene, runs=False)
        reply = await asking.ask(self._request(), offered=False)
        if reply.aggregate is None:
            answered(stage, reply, scene, notice=asking.notice)
        else:
            # It calls tools nevertheless. What it says beside that has been told.
            stage.text, stage.notice = reply.text.strip(), asking.notice
            stage.check_budget()
        raise Stop(SceneStopReason.MAX_ITERATIONS)

    def _waiting(self, aggregate: ToolAggregateMessage) -> Iterator[Interaction]:
        known = {result.tool_call_id for result in aggregate.tool_results}
        keys = cast("dict[str, str]", aggregate.metadata.get(DEFERRED, {}))
        deferred = self._stage.cast.playing(self._scene).executor.deferred
        for call in aggregate.tool_calls:
            if call.id not in known:
                key = keys.get(call.id, call.id)
                # The conversation keeps it from here on, and outlives this process.
                deferred.discard(key)
                yield Interaction(key, call.id, self._scene.name, call.name, call.arguments)


def _nudge(scene: Scene, entry: Entry) -> str | None:
    """What the model is told where the conversation does not end with a word of the user."""
    if entry.purpose is not None:
        return f"Do this now, in the scene '{scene.name}': {entry.purpose}"
    return f"Go on in the scene '{scene.name}'." if entry.follows else None


def _of_plan(stage: Stage, agenda: Agenda, entry: Entry) -> Iterator[str]:
    """What the plan says about a step, and the results that it needs."""
    if entry.purpose is None:
        return
    yield f"Purpose of this step of the plan: {entry.purpose}"
    found = [result for step in entry.depends_on if (result := agenda.result_of(step)) is not None]
    if found:
        results = (f"- {stage.cast[each.scene].name}: {text}" for each, text in found)
        yield "Results of earlier steps:\n" + "\n".join(results)
