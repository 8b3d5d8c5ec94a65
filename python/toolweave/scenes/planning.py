"""Plans: which scenes in which order, and what for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import tracing
from ..kinds import SceneStatus, SceneStopReason
from .agenda import Entry
from .asking import Asking, answered, notice_of
from .stage import Stop, not_found, user
from .strays import Stray, split
from .structured import Unusable, ask_for

if TYPE_CHECKING:
    from .stage import Stage

_PLAN = (
    "Make a plan for the request. Each step enters one scene, for one purpose, and says which "
    "steps it needs the results of. If no scene is needed, leave the steps empty and answer "
    "instead. The scenes are:\n"
)
_FINAL = "Based on all the information gathered, provide the final answer to the user's request."


async def plan(stage: Stage) -> list[Entry]:
    """Lets the model make a plan, and checks it; it is told once what is wrong with it.

    Returns:
        The steps in an order in which each comes after those that it needs; none if the model has
        answered instead.

    Raises:
        ModelError: The model could not be asked, or broke off.
        Stop: There is no plan that can be used.
    """
    stage.emit(SceneStatus.PLANNING, "Creating execution plan", lifecycle=True)

    def use(written: dict[str, Any], told: bool) -> list[Entry]:
        steps: list[Any] = written.get("steps") or []
        answer: str = (written.get("answer") or "").strip()
        if steps or not answer:
            return _ordered(stage, steps)
        _answer(stage, answer, told=told)
        return []

    with tracing.plan(stage.rules.name):
        entries, notice = await ask_for(
            stage,
            [*stage.system(), *stage.messages],
            _PLAN + stage.cast.listed(),
            _schema(stage),
            use,
            accepted=_ACCEPTED,
            what="plan",
            failure="Failed to parse execution plan",
        )
    if notice is not None:
        stage.emit(SceneStatus.PLANNING, "Execution plan mended", notice=notice, lifecycle=True)
    return entries


async def conclude(stage: Stage) -> None:
    """Lets the model answer when all steps are done.

    Raises:
        ModelError: The model could not be asked, or broke off.
        Stop: There is no answer, or it was too expensive.
    """
    stage.emit(SceneStatus.GENERATING_FINAL_RESPONSE, "Generating final response", lifecycle=True)
    refused = False
    while True:
        asking = Asking(stage, stage.cast.plain, refuses=None if refused else _refuse)
        reply = await asking.ask([*stage.system(), *stage.messages, user(_FINAL)])
        if not asking.refused:
            answered(stage, reply, notice=asking.notice)
            return
        refused = True
        stage.check_budget()


def _refuse(_: Stray) -> bool:
    return True


def _wrong(problem: str) -> Unusable:
    stop = Stop(
        SceneStopReason.ERROR,
        f"The execution plan is wrong: {problem}",
        exception=ValueError(problem),
    )
    return Unusable(problem, stop)


def _answer(stage: Stage, text: str, *, told: bool) -> None:
    names = stage.cast.callable_names(stage.cast.plain)
    strays = [part for part in split(text, names) if isinstance(part, Stray)]
    if strays and not told:
        raise _wrong(stage.cast.refusal(strays[0], names, None))
    stage.text, stage.said_in = text, None
    stage.notice = notice_of(strays) if strays else None
    stage.add(text, notice=stage.notice)


def _ordered(stage: Stage, steps: list[Any]) -> list[Entry]:
    if not steps:
        raise _wrong("It has neither steps nor an answer.")
    if len(steps) > stage.rules.max_scenes:
        raise _wrong(f"It has more than {stage.rules.max_scenes} steps.")
    left: dict[int, Entry] = {}
    for step in steps:
        scene = stage.cast.find(step["scene"])
        if scene is None:
            raise Unusable(stage.cast.missing(step["scene"]), not_found(step["scene"]))
        if step["id"] in left:
            raise _wrong(f"Two steps have the id {step['id']}.")
        number = int(step["id"])
        depends_on = tuple(int(each) for each in step.get("depends_on") or ())
        left[number] = Entry(scene.key, step["purpose"], number, depends_on, follows=True)
    for number, entry in left.items():
        for needed in entry.depends_on:
            if needed not in left:
                raise _wrong(f"Step {number} depends on step {needed}, which there is not.")
    ordered: list[Entry] = []
    while left:
        ready = next(
            (number for number, entry in left.items() if left.keys().isdisjoint(entry.depends_on)),
            None,
        )
        if ready is None:
            raise _wrong(f"Steps wait for each other: {', '.join(map(str, left))}.")
        ordered.append(left.pop(ready))
    return ordered


def _schema(stage: Stage) -> dict[str, Any]:
    """The schema of a plan, for providers that enforce schemas: all is required, nothing else."""
    step = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "scene": {"type": "string", "enum": [each.key for each in stage.cast]},
            "purpose": {"type": "string"},
            "depends_on": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["id", "scene", "purpose", "depends_on"],
        "additionalProperties": False,
    }
    fields = {"answer": {"type": ["string", "null"]}, "steps": {"type": "array", "items": step}}
    return {
        "type": "object",
        "properties": fields,
        "required": ["answer", "steps"],
        "additionalProperties": False,
    }


# All that counts: which scenes there are is checked apart, since names may be spelled otherwise.
_ACCEPTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "answer": {"type": ["string", "null"]},
        "steps": {
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "scene": {"type": "string"},
                    "purpose": {"type": "string"},
                    "depends_on": {"type": ["array", "null"], "items": {"type": "integer"}},
                },
                "required": ["id", "scene", "purpose"],
            },
        },
    },
}
