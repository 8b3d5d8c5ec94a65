"""Plans: which scenes in which order, and what for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import tracing
from .._core import TextMessage
from ..kinds import Role, SceneStatus, SceneStopReason
from .agenda import Entry
from .asking import Asking, answered
from .stage import Stop, not_found, user
from .structured import ask_for

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
    asked = [*stage.system(), *stage.messages]
    question = _PLAN + stage.cast.listed()
    schema, accepted = _schema(stage), _schema(stage, known=False)
    with tracing.plan(stage.rules.name):
        for told in (False, True):
            value, text = await ask_for(stage, asked, question, schema, accepted=accepted)
            if value is None:
                wrong = Stop(SceneStopReason.ERROR, "Failed to parse execution plan", error=text)
                problem = "It is not JSON of that schema."
            elif not value["steps"] and (value.get("answer") or "").strip():
                _answer(stage, value["answer"].strip())
                return []
            else:
                try:
                    return _ordered(stage, value["steps"])
                except _Unusable as unusable:
                    wrong, problem = unusable.stop, str(unusable)
            if told:
                raise wrong
            asked += [user(question), TextMessage(text or "{}", role=Role.ASSISTANT)]
            question = f"This plan cannot be used. {problem} Make another one."
    raise AssertionError("unreachable")


async def conclude(stage: Stage) -> None:
    """Lets the model answer when all steps are done.

    Raises:
        ModelError: The model could not be asked, or broke off.
        Stop: There is no answer, or it was too expensive.
    """
    stage.emit(SceneStatus.GENERATING_FINAL_RESPONSE, "Generating final response", lifecycle=True)
    asking = Asking(stage, stage.cast.plain)
    answered(stage, await asking.ask([*stage.system(), *stage.messages, user(_FINAL)]))


class _Unusable(Exception):  # noqa: N818 - of a plan
    """What is wrong with a plan, for the model; and how the run ends if that stays so."""

    def __init__(self, problem: str, stop: Stop | None = None) -> None:
        super().__init__(problem)
        self.stop = stop or Stop(SceneStopReason.ERROR, f"The execution plan is wrong: {problem}")


def _answer(stage: Stage, text: str) -> None:
    stage.text = text
    stage.add(text)


def _ordered(stage: Stage, steps: list[Any]) -> list[Entry]:
    if not steps:
        raise _Unusable("It has neither steps nor an answer.")
    if len(steps) > stage.rules.max_scenes:
        raise _Unusable(f"It has more than {stage.rules.max_scenes} steps.")
    left: dict[int, Entry] = {}
    for step in steps:
        scene = stage.cast.find(step["scene"])
        if scene is None:
            raise _Unusable(stage.cast.missing(step["scene"]), not_found(step["scene"]))
        if step["id"] in left:
            raise _Unusable(f"Two steps have the id {step['id']}.")
        left[step["id"]] = Entry(
            scene.key, step["purpose"], step["id"], tuple(step["depends_on"]), follows=True
        )
    for number, entry in left.items():
        for needed in entry.depends_on:
            if needed not in left:
                raise _Unusable(f"Step {number} depends on step {needed}, which there is not.")
    ordered: list[Entry] = []
    while left:
        ready = next(
            (number for number, entry in left.items() if left.keys().isdisjoint(entry.depends_on)),
            None,
        )
        if ready is None:
            raise _Unusable(f"Steps wait for each other: {', '.join(map(str, left))}.")
        ordered.append(left.pop(ready))
    return ordered


def _schema(stage: Stage, *, known: bool = True) -> dict[str, Any]:
    """What a plan is; with `known`, that scenes are those that there are.

    As providers that enforce schemas want it: all is required, and there is nothing else.
    """
    scene: dict[str, Any] = {"type": "string"}
    if known:
        scene["enum"] = [each.key for each in stage.cast]
    step = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "scene": scene,
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
        "required": ["answer", "steps"] if known else ["steps"],
        "additionalProperties": False,
    }
