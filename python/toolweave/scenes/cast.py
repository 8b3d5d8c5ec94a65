"""The scenes of a manager, and the models at work in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import FunctionContract
from ..kinds import Outcome
from ..natural import NaturalToolUse
from ..tools import Tool, Toolset
from .names import closest, match, provider_name
from .scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ..protocols import ChatModel

_NOTHING: Mapping[str, Any] = {"type": "object", "properties": {}}


class Cast:
    """The scenes by name, and what asks the model in each.

    Args:
        use: Makes what asks the model about the tools of a scene.
        bare: Makes what asks it about anything else: the limits of tools are not for scenes.
    """

    def __init__(
        self,
        use: Callable[[Toolset], NaturalToolUse],
        bare: Callable[[Toolset], NaturalToolUse],
    ) -> None:
        self._use = use
        self._bare = bare
        self._scenes: dict[str, Scene] = {}
        self._playing: dict[str, NaturalToolUse] = {}
        self._chooser: NaturalToolUse | None = None
        self.plain = bare(Toolset())
        """Asks the model without tools."""

    @property
    def model(self) -> ChatModel:
        """The model."""
        return self.plain.parser.model

    def __len__(self) -> int:
        return len(self._scenes)

    def __iter__(self) -> Iterator[Scene]:
        return iter(self._scenes.values())

    def __getitem__(self, key: str) -> Scene:
        return self._scenes[key]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the scenes, as they were given."""
        return tuple(scene.name for scene in self)

    def add(self, scene: Scene, manager: Any) -> None:
        """Takes a scene in, under a name that providers take and no other scene has.

        Raises:
            ValueError: There is a scene of its name.
        """
        if scene.name in self.names:
            raise ValueError(
                f"scene {scene.name!r} is there already; each scene needs a name of its own"
            )
        scene.belong(manager, provider_name(scene.name, taken=self._scenes))
        self._scenes[scene.key] = scene
        self._chooser = None

    def find(self, name: str) -> Scene | None:
        """The scene that is meant.

        By its name as it was given or as models see it, or by one that differs from either in
        separators and case only.
        """
        scenes = list(self)
        found = match(name, [scene.key for scene in scenes])
        if found is None or scenes[found].key != name:
            exact = next((each for each in scenes if each.name == name), None)
            if exact is not None:
                return exact
        if found is None:
            found = match(name, [scene.name for scene in scenes])
        return None if found is None else scenes[found]

    def missing(self, name: str, *, listed: bool = True) -> str:
        """What the model is told about a name that is no scene's.

        Args:
            name: The name.
            listed: Whether it is told what there is, with the nearest name.
        """
        said = f"Scene '{name[:100]}' not found."
        if not listed:
            return said
        keys = [scene.key for scene in self]
        near = closest(name, keys)
        meant = "" if near is None else f" Did you mean '{near}'?"
        return f"{said}{meant} The scenes are: {', '.join(keys)}."

    def listed(self) -> str:
        """The scenes and what they are for, for a prompt."""
        return "\n".join(
            f"- {scene.key}: {scene.description}" if scene.description else f"- {scene.key}"
            for scene in self
        )

    def playing(self, scene: Scene) -> NaturalToolUse:
        """Asks the model about the tools of a scene."""
        scene.refresh()
        use = self._playing.get(scene.key)
        if use is None:
            use = self._playing[scene.key] = self._use(scene.toolset)
        return use

    def resolve(self, key: str, result: object, *, is_error: bool) -> Outcome:
        """Answers the question of a tool, in whichever scene it runs."""
        for use in self._playing.values():
            outcome = use.executor.resolve(key, result, is_error=is_error)
            if outcome is not Outcome.NOT_FOUND:
                return outcome
        return Outcome.NOT_FOUND

    @property
    def chooser(self) -> NaturalToolUse:
        """Offers the scenes themselves as tools."""
        if self._chooser is None:
            self._chooser = self._bare(Toolset(_door(scene) for scene in self))
        return self._chooser


def _door(scene: Scene) -> Tool[..., str]:
    """A scene as a tool. It is never run: that it was called is what counts."""

    def enter() -> str:
        return entered(scene)

    return Tool.from_contract(FunctionContract(scene.key, scene.description, _NOTHING), enter)


def entered(scene: Scene) -> str:
    """What the model reads when it has chosen a scene."""
    # Small models that read only that they have entered it wait for another request.
    how = " with the tools of this scene" if len(scene.toolset) else ""
    return f"Scene '{scene.name}' entered. Serve the request now{how}."
