"""Choice of scenes: by a call of the model, by name, or by its decision to continue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import tracing
from .._core import ToolAggregateMessage, ToolCall, ToolResult
from ..kinds import SceneStatus, SceneStopReason
from ._ends import StopRun, not_found
from ._model_turn import ModelTurn
from ._names import closest
from ._scene_queue import SceneEntry
from ._scene_set import entered_text
from ._state import user
from ._structured import ask_for, strict_object

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._messages import Message
    from ..natural import ReplyRun
    from ._scene import BaseScene
    from ._state import RunState
    from ._unregistered_calls import UnregisteredCall

_CHOOSE = (
    "Choose the scene that can serve the request, by calling it. Call several, in the order in "
    "which they are to be entered, if one is not enough. Answer yourself only if none fits."
)
_NEXT = "Which scene is to be entered next for the request? Call it, or answer if none is."
_MORE = (
    "Does the request need another scene, or is everything in it answered? "
    "Say it as JSON. The scenes are:\n"
)
_DECISION = strict_object(**{"continue": {"type": "boolean"}, "reason": {"type": "string"}})
# The required part: models whose provider does not enforce the schema may write less.
_ACCEPTED = {
    "type": "object",
    "properties": {"continue": {"type": "boolean"}},
    "required": ["continue"],
}


def named_scene(state: RunState, name: str | None) -> list[SceneEntry]:
    """Return the scene that the request names.

    Raises:
        StopRun: The name is missing or unknown.
    """
    if not name:
        raise StopRun(SceneStopReason.ERROR, "Scene mode is requested, but no scene is named")
    scene = state.scenes.find(name)
    if scene is None:
        raise not_found(name)
    return [SceneEntry(scene.key)]


async def choose(state: RunState, *, repeated: bool = False) -> list[SceneEntry]:
    """Ask the model to choose scenes.

    Args:
        state: The run.
        repeated: True if other scenes have answered before.

    Returns:
        The scenes in the order of the model; none if it has answered instead.

    Raises:
        ModelError: The request failed, or the reply broke off.
        StopRun: The model chose an unknown scene twice, or its reply is empty.
    """
    system = state.system(_CHOOSE)
    nudge = [user(_NEXT)] if repeated else []
    with tracing.plan(state.settings.name):
        for retrying in (False, True):
            choice = _Choice(state, accepts_any=not retrying)
            turn = ModelTurn(
                state,
                state.scenes.chooser,
                transform=choice.transform,
                executes=False,
                should_refuse=choice.should_refuse,
            )
            reply = await turn.run([*system, *state.messages, *nudge])
            chosen = choice.chosen or _scenes_in_text(state, reply)
            choice.unknown += [unregistered.name for unregistered in turn.refused]
            if not chosen and turn.aggregate is None:
                misspelled = _misspelled_scene(state, reply)
                if misspelled is None:
                    await turn.report_answer(reply)
                    return []
                choice.unknown.append(misspelled)
                nudge = [user(state.scenes.unknown_scene_text(misspelled))]
            state.check_budget()
            if chosen:
                for scene in chosen:
                    state.emit(
                        SceneStatus.DIRECTOR_DECISION,
                        f"Selected scene: {scene.name}",
                        scene=scene.name,
                        lifecycle=True,
                    )
                return [
                    SceneEntry(scene.key, follows=number > 0) for number, scene in enumerate(chosen)
                ]
            if retrying:
                raise not_found(choice.unknown[0])
    raise AssertionError("unreachable")


async def needs_another_scene(state: RunState) -> bool:
    """Ask the model if the request needs another scene.

    Raises:
        ModelError: The request failed, or the reply broke off.
        StopRun: Two replies have no decision, or the budget is exceeded.
    """
    with tracing.plan(state.settings.name):
        more, notice = await ask_for(
            state,
            _MORE,
            _DECISION,
            lambda decision, _: decision["continue"] is True,
            accepted=_ACCEPTED,
            noun="decision",
            failure="Failed to parse decision",
        )
    state.emit(
        SceneStatus.DIRECTOR_DECISION,
        "Another scene follows" if more else "Scene chain complete",
        notice=notice,
        lifecycle=True,
    )
    return more


class _Choice:
    """The scenes that a reply calls, and the unknown names that it calls."""

    def __init__(self, state: RunState, *, accepts_any: bool) -> None:
        self._state = state
        self._accepts_any = accepts_any
        self._scenes = state.scenes
        self.chosen: list[BaseScene] = []
        self.unknown: list[str] = []

    def should_refuse(self, call: UnregisteredCall) -> bool:
        """Return True for a call in text; in a second reply, if its name is nearest to a scene."""
        return self._accepts_any or call.nearest in self._scenes

    def transform(self, messages: Iterable[Message]) -> Iterable[Message]:
        """Return the messages of the reply, with the keys of scenes in place of called names."""
        for message in messages:
            if isinstance(message, ToolAggregateMessage):
                yield self._read_calls(message)
            else:
                yield message

    def _read_calls(self, aggregate: ToolAggregateMessage) -> ToolAggregateMessage:
        calls: list[ToolCall] = []
        results: list[ToolResult] = []
        for call, result in zip(aggregate.tool_calls, aggregate.tool_results, strict=True):
            scene = self._scenes.find(call.name)
            if scene is None:
                # Scenes are listed once, since a reply may have hundreds of such calls.
                text = self._scenes.unknown_scene_text(call.name, with_names=not self.unknown)
                self.unknown.append(call.name)
                calls.append(call)
                results.append(result.__replace__(result=text, is_error=True))
                continue
            if scene not in self.chosen:
                self.chosen.append(scene)
            calls.append(call.__replace__(name=scene.key))
            if self._state.limit_error is None:
                results.append(ToolResult(result.tool_call_id, scene.key, entered_text(scene)))
            else:
                results.append(result)
        return aggregate.__replace__(tool_calls=calls, tool_results=results)


def _scenes_in_text(state: RunState, reply: ReplyRun) -> list[BaseScene]:
    """Return the scenes named in text by a tag unknown to the parser, or by the text itself.

    A small model may write ``<general-requests/>``, or only the name.
    """
    text = reply.text.strip()
    if reply.aggregate is not None or len(text) > _MAX_SEARCHED:
        return []
    found = [state.scenes.find(name.strip()) for name in (text, *_TAG.findall(text))]
    return list(dict.fromkeys(scene for scene in found if scene is not None))


def _misspelled_scene(state: RunState, reply: ReplyRun) -> str | None:
    """Return the name in the first tag of a reply if it is similar to a scene's, or None."""
    tag = _TAG.match(reply.text.strip())
    if tag is None or closest(tag[1], [scene.key for scene in state.scenes]) is None:
        return None
    return tag[1]


_MAX_SEARCHED = 10_000
_TAG = re.compile(r"<([A-Za-z0-9][\w .-]{0,63}?)\s*/?>")
