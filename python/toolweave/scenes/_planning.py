"""Plans: the scenes to enter, their order and their purposes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import tracing
from ..kinds import SceneStatus, SceneStopReason
from ._ends import StopRun, not_found
from ._reply_texts import leftover_notice
from ._scene_queue import SceneEntry
from ._structured import InvalidReply, ask_for, strict_object
from ._unregistered_calls import UnregisteredCall, split_calls

if TYPE_CHECKING:
    from ._state import RunState

_PLAN = (
    "Make a plan for the request. Each step enters one scene, for one purpose, and says which "
    "steps it needs the results of. If no scene is needed, leave the steps empty and answer "
    "instead. The scenes are:\n"
)


async def plan(state: RunState) -> list[SceneEntry]:
    """Ask the model for a plan and validate it; an invalid plan is requested once more.

    Returns:
        The steps, each after the steps that it depends on; none if the model has answered instead.

    Raises:
        ModelError: A request failed, or a reply broke off.
        StopRun: The second plan is invalid too.
    """
    state.emit(SceneStatus.PLANNING, "Creating execution plan", lifecycle=True)

    def use(fields: dict[str, Any], retrying: bool) -> list[SceneEntry]:
        steps: list[Any] = fields.get("steps") or []
        answer: str = (fields.get("answer") or "").strip()
        if steps or not answer:
            return _order_steps(state, steps)
        _accept_answer(state, answer, retrying=retrying)
        return []

    with tracing.plan(state.settings.name):
        entries, notice = await ask_for(
            state,
            _PLAN,
            _schema(state),
            use,
            accepted=_ACCEPTED,
            noun="plan",
            failure="Failed to parse execution plan",
        )
    if notice is not None:
        state.emit(SceneStatus.PLANNING, "Execution plan repaired", notice=notice, lifecycle=True)
    return entries


def _invalid_plan(problem: str) -> InvalidReply:
    stop = StopRun(
        SceneStopReason.ERROR,
        f"The execution plan is wrong: {problem}",
        exception=ValueError(problem),
    )
    return InvalidReply(problem, stop)


def _accept_answer(state: RunState, text: str, *, retrying: bool) -> None:
    names = state.scenes.name_matcher(state.scenes.plain)
    unregistered_calls = [
        part for part in split_calls(text, names) if isinstance(part, UnregisteredCall)
    ]
    if unregistered_calls and not retrying:
        raise _invalid_plan(state.scenes.refusal(unregistered_calls[0], names, None))
    notice = leftover_notice(unregistered_calls)
    state.answer(text, notice=notice)
    state.append_text(text, notice=notice)


def _order_steps(state: RunState, steps: list[Any]) -> list[SceneEntry]:
    if not steps:
        raise _invalid_plan("It has neither steps nor an answer.")
    if len(steps) > state.settings.max_scenes:
        raise _invalid_plan(f"It has more than {state.settings.max_scenes} steps.")
    remaining: dict[int, SceneEntry] = {}
    for step in steps:
        scene = state.scenes.find(step["scene"])
        if scene is None:
            raise InvalidReply(
                state.scenes.unknown_scene_text(step["scene"]), not_found(step["scene"])
            )
        if step["id"] in remaining:
            raise _invalid_plan(f"Two steps have the id {step['id']}.")
        number = int(step["id"])
        depends_on = [int(each) for each in step.get("depends_on") or ()]
        remaining[number] = SceneEntry(scene.key, step["purpose"], number, depends_on, follows=True)
    for number, entry in remaining.items():
        for needed in entry.depends_on:
            if needed not in remaining:
                raise _invalid_plan(f"Step {number} depends on step {needed}, which there is not.")
    ordered: list[SceneEntry] = []
    while remaining:
        for number, entry in remaining.items():
            if remaining.keys().isdisjoint(entry.depends_on):
                ordered.append(remaining.pop(number))
                break
        else:
            raise _invalid_plan(f"Steps wait for each other: {', '.join(map(str, remaining))}.")
    return ordered


def _schema(state: RunState) -> dict[str, Any]:
    """Return the schema of a plan."""
    step = strict_object(
        id={"type": "integer"},
        scene={"type": "string", "enum": [each.key for each in state.scenes]},
        purpose={"type": "string"},
        depends_on={"type": "array", "items": {"type": "integer"}},
    )
    steps = {"type": "array", "items": step}
    return strict_object(answer={"type": ["string", "null"]}, steps=steps)


# The required part. Scenes are checked separately, since models may write their names differently.
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
