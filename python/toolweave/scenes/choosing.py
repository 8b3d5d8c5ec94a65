"""Choosing scenes: by the model, as it calls functions; by name; or by its word to go on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import tracing
from .._core import ToolAggregateMessage, ToolCall, ToolResult
from ..kinds import SceneStatus, SceneStopReason
from .agenda import Entry
from .asking import Asking, answered
from .cast import entered
from .names import closest
from .stage import Stop, not_found, user
from .structured import ask_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .. import Message
    from ..natural import ReplyRun
    from .scene import Scene
    from .stage import Stage
    from .strays import Stray

_CHOOSE = (
    "Choose the scene that can serve the request, by calling it. Call several, in the order in "
    "which they are to be entered, if one is not enough. Answer yourself only if none fits."
)
_NEXT = "Which scene is to be entered next for the request? Call it, or answer if none is."
_MORE = (
    "Does the request need another scene, or is everything in it answered? "
    "Say it as JSON. The scenes are:\n"
)
_DECISION = {
    "type": "object",
    "properties": {"continue": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["continue", "reason"],
    "additionalProperties": False,
}
# All that counts. What providers enforce is not what models without that write.
_ACCEPTED = {
    "type": "object",
    "properties": {"continue": {"type": "boolean"}},
    "required": ["continue"],
}


def named(stage: Stage, name: str | None) -> list[Entry]:
    """The scene that the request names.

    Raises:
        Stop: There is none, or no name.
    """
    if not name:
        raise Stop(SceneStopReason.ERROR, "Scene mode is requested, but no scene is named")
    scene = stage.cast.find(name)
    if scene is None:
        raise not_found(name)
    return [Entry(scene.key)]


async def choose(stage: Stage, *, again: bool = False) -> list[Entry]:
    """Lets the model choose scenes.

    Args:
        stage: The run.
        again: Whether scenes have answered before.

    Returns:
        The scenes, in its order; none if it has answered instead.

    Raises:
        ModelError: The model could not be asked, or broke off.
        Stop: What it chose is no scene, after it was told so, too; or it said nothing.
    """
    system = stage.system(_CHOOSE)
    nudge = [user(_NEXT)] if again else []
    with tracing.plan(stage.rules.name):
        for told in (False, True):
            choice = _Choice(stage)
            refuses = choice.means_a_scene if told else choice.means_anything
            asking = Asking(
                stage, stage.cast.chooser, keep=choice.keep, runs=False, refuses=refuses
            )
            reply = await asking.ask([*system, *stage.messages, *nudge])
            picked = choice.picked or _written(stage, reply)
            choice.missed += [stray.name for stray in asking.refused]
            if not picked and asking.aggregate is None:
                misspelt = _misspelt(stage, reply)
                if misspelt is None:
                    answered(stage, reply, notice=asking.notice)
                    return []
                choice.missed.append(misspelt)
                nudge = [user(stage.cast.missing(misspelt))]
            stage.check_budget()
            if picked:
                for scene in picked:
                    stage.emit(
                        SceneStatus.DIRECTOR_DECISION,
                        f"Selected scene: {scene.name}",
                        scene=scene.name,
                        lifecycle=True,
                    )
                return [Entry(scene.key, follows=number > 0) for number, scene in enumerate(picked)]
            if told:
                raise not_found(choice.missed[0])
    raise AssertionError("unreachable")


async def wants_more(stage: Stage) -> bool:
    """Ask the model if it wants another scene.

    Raises:
        ModelError: The model could not be asked, or broke off.
        Stop: It does not say, asked twice; or it was too expensive.
    """
    with tracing.plan(stage.rules.name):
        more, notice = await ask_for(
            stage,
            [*stage.system(), *stage.messages],
            _MORE + stage.cast.listed(),
            _DECISION,
            lambda decision, _: decision["continue"] is True,
            accepted=_ACCEPTED,
            what="decision",
            failure="Failed to parse decision",
        )
    stage.emit(
        SceneStatus.DIRECTOR_DECISION,
        "Another scene follows" if more else "Scene chain complete",
        notice=notice,
        lifecycle=True,
    )
    return more


class _Choice:
    """What a reply calls, as scenes."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._cast = stage.cast
        self.picked: list[Scene] = []
        self.missed: list[str] = []

    def means_a_scene(self, stray: Stray) -> bool:
        """Return True for a call in text of a scene, misspelt."""
        return stray.near in self._cast

    def means_anything(self, _: Stray) -> bool:
        """Return True for any call in text."""
        return True

    def keep(self, messages: Iterable[Message]) -> Iterable[Message]:
        """The messages of the reply, with the scenes that are meant in place of those called."""
        for message in messages:
            if isinstance(message, ToolAggregateMessage):
                yield self._read(message)
            else:
                yield message

    def _read(self, aggregate: ToolAggregateMessage) -> ToolAggregateMessage:
        calls: list[ToolCall] = []
        results: list[ToolResult] = []
        for call, result in zip(aggregate.tool_calls, aggregate.tool_results, strict=True):
            scene = self._cast.find(call.name)
            if scene is None:
                # What there is, is said once: a reply may have hundreds of such calls.
                text = self._cast.missing(call.name, listed=not self.missed)
                self.missed.append(call.name)
                calls.append(call)
                results.append(result.__replace__(result=text, is_error=True))
                continue
            if scene not in self.picked:
                self.picked.append(scene)
            calls.append(call.__replace__(name=scene.key))
            if self._stage.ledger.overdrawn is None:
                results.append(ToolResult(result.tool_call_id, scene.key, entered(scene)))
            else:
                results.append(result)
        return aggregate.__replace__(tool_calls=calls, tool_results=results)


def _written(stage: Stage, reply: ReplyRun) -> list[Scene]:
    """The scenes that a model calls by a name that its parser does not know, or by nothing else.

    A small model may write ``<general-requests/>``, or just the name.
    """
    text = reply.text.strip()
    if reply.aggregate is not None or len(text) > _LONGEST:
        return []
    names = dict.fromkeys([text, *_TAG.findall(text)])
    found = [scene for name in names if (scene := stage.cast.find(name.strip())) is not None]
    return list(dict.fromkeys(found))


def _misspelt(stage: Stage, reply: ReplyRun) -> str | None:
    """What a reply that begins with a tag calls, if that is spelled nearly like a scene."""
    tag = _TAG.match(reply.text.strip())
    if tag is None or closest(tag[1], [scene.key for scene in stage.cast]) is None:
        return None
    return tag[1]


_LONGEST = 10_000
_TAG = re.compile(r"<([A-Za-z0-9][\w .-]{0,63}?)\s*/?>")
