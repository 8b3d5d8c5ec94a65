"""The scenes of a manager, and the models at work in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import FunctionContract
from ..kinds import Outcome
from ..natural import NaturalToolUse
from ..tools import Tool, Toolset
from .names import closest, match, provider_name
from .scene import Scene
from .strays import Names, Stray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ..protocols import ChatModel

_NOTHING: Mapping[str, Any] = {"type": "object", "properties": {}}

_LONGEST = 100
_MOST_NAMES = 50


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

    def __contains__(self, key: object) -> bool:
        return key in self._scenes

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

    def remove(self, name: str) -> Scene:
        """Lets a scene go.

        Raises:
            LookupError: There is no scene of that name.
        """
        found = next((scene for scene in self if scene.name == name), None)
        if found is None:
            raise LookupError(f"there is no scene {name!r}; there are {', '.join(self.names)}")
        del self._scenes[found.key]
        self._playing.pop(found.key, None)
        self._chooser = None
        return found

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

    def callable_names(self, use: NaturalToolUse, *, offered: bool = True) -> Names:
        """The names that the model can call in a request, and those that it may mean.

        Args:
            use: What asks it.
            offered: Whether it is told of the tools.
        """
        here = [tool.name for tool in use.executor.toolset] if offered else []
        if use is self._chooser:
            # One in another spelling is entered.
            return Names(here, self._tools(), ignored=lambda name: self.find(name) is not None)
        return Names(here, [*self._tools(), *self._scenes])

    def refusal(self, stray: Stray, names: Names | None, scene: Scene | None) -> str:
        """The sentence for the model about a call in text of something that it cannot call.

        Args:
            stray: The call.
            names: What it can call.
            scene: The scene that it is in; None outside of scenes.
        """
        if scene is None and stray.near in self._scenes:
            return self.missing(stray.name)
        offered = () if names is None else names.offered
        said = f"Tool '{stray.name[:_LONGEST]}' not found."
        if stray.near in offered:
            said += f" Did you mean '{stray.near}'?"
        else:
            owner = self._tools().get(stray.near)
            what = f"a tool of the scene '{owner}'" if owner else "a scene"
            said += f" '{stray.near}' is {what}, and cannot be called here."
        if not offered:
            return f"{said} There are no tools."
        listed = ", ".join(offered[:_MOST_NAMES])
        more = len(offered) - _MOST_NAMES
        kind = "Available tools" if scene is not None else "The scenes are"
        return f"{said} {kind}: {listed}" + (f", and {more} more." if more > 0 else ".")

    def _tools(self) -> dict[str, str]:
        """All tools, with the scene that each is of."""
        found: dict[str, str] = {}
        for scene in self:
            scene.refresh()
            for tool in scene.toolset:
                found.setdefault(tool.name, scene.name)
        return found

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
