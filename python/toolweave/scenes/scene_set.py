"""The scenes of a manager, and the models at work in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import FunctionContract
from ..kinds import Outcome
from ..natural import NaturalToolUse
from ..tools import Tool, Toolset
from .names import closest, match, provider_name
from .scene import Scene
from .unregistered_calls import NameMatcher, UnregisteredCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ..protocols import ChatModel

_NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}

_MAX_SHOWN = 100
_MAX_NAMES = 50


class SceneSet:
    """The scenes by name, and what asks the model in each.

    Args:
        use: Makes what asks the model about the tools of a scene.
        bare: Makes what asks it about anything else: the limits of tools are not for scenes.
    """

    def __init__(
        self,
        make_tool_use: Callable[[Toolset], NaturalToolUse],
        make_plain_use: Callable[[Toolset], NaturalToolUse],
    ) -> None:
        self._make_tool_use = make_tool_use
        self._make_plain_use = make_plain_use
        self._scenes: dict[str, Scene] = {}
        self._tool_uses: dict[str, NaturalToolUse] = {}
        self._chooser: NaturalToolUse | None = None
        self.plain = make_plain_use(Toolset())
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
        scene.attach(manager, provider_name(scene.name, taken=self._scenes))
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
        self._tool_uses.pop(found.key, None)
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

    def unknown_scene_text(self, name: str, *, with_names: bool = True) -> str:
        """What the model is told about a name that is no scene's.

        Args:
            name: The name.
            listed: Whether it is told what there is, with the nearest name.
        """
        text = f"Scene '{name[:100]}' not found."
        if not with_names:
            return text
        keys = [scene.key for scene in self]
        nearest = closest(name, keys)
        meant = "" if nearest is None else f" Did you mean '{nearest}'?"
        return f"{text}{meant} The scenes are: {', '.join(keys)}."

    def describe(self) -> str:
        """The scenes and what they are for, for a prompt."""
        return "\n".join(
            f"- {scene.key}: {scene.description}" if scene.description else f"- {scene.key}"
            for scene in self
        )

    def tool_use(self, scene: Scene) -> NaturalToolUse:
        """Asks the model about the tools of a scene."""
        scene.refresh()
        use = self._tool_uses.get(scene.key)
        if use is None:
            use = self._tool_uses[scene.key] = self._make_tool_use(scene.toolset)
        return use

    def name_matcher(self, use: NaturalToolUse, *, with_tools: bool = True) -> NameMatcher:
        """The names that the model can call in a request, and those that it may mean.

        Args:
            use: What asks it.
            offered: Whether it is told of the tools.
        """
        here = [tool.name for tool in use.executor.toolset] if with_tools else []
        if use is self._chooser:
            # One in another spelling is entered.
            return NameMatcher(
                here, self._tools(), ignored=lambda name: self.find(name) is not None
            )
        return NameMatcher(here, [*self._tools(), *self._scenes])

    def refusal(
        self, unregistered: UnregisteredCall, names: NameMatcher | None, scene: Scene | None
    ) -> str:
        """The sentence for the model about a call in text of something that it cannot call.

        Args:
            stray: The call.
            names: What it can call.
            scene: The scene that it is in; None outside of scenes.
        """
        if scene is None and unregistered.nearest in self._scenes:
            return self.unknown_scene_text(unregistered.name)
        offered = () if names is None else names.offered
        text = f"Tool '{unregistered.name[:_MAX_SHOWN]}' not found."
        if unregistered.nearest in offered:
            text += f" Did you mean '{unregistered.nearest}'?"
        else:
            owner = self._tools().get(unregistered.nearest)
            what = f"a tool of the scene '{owner}'" if owner else "a scene"
            text += f" '{unregistered.nearest}' is {what}, and cannot be called here."
        if not offered:
            return f"{text} There are no tools."
        listed = ", ".join(offered[:_MAX_NAMES])
        more = len(offered) - _MAX_NAMES
        kind = "Available tools" if scene is not None else "The scenes are"
        return f"{text} {kind}: {listed}" + (f", and {more} more." if more > 0 else ".")

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
        for use in self._tool_uses.values():
            outcome = use.executor.resolve(key, result, is_error=is_error)
            if outcome is not Outcome.NOT_FOUND:
                return outcome
        return Outcome.NOT_FOUND

    @property
    def chooser(self) -> NaturalToolUse:
        """Offers the scenes themselves as tools."""
        if self._chooser is None:
            self._chooser = self._make_plain_use(Toolset(_scene_tool(scene) for scene in self))
        return self._chooser


def _scene_tool(scene: Scene) -> Tool[..., str]:
    """A scene as a tool. It is never run: that it was called is what counts."""

    def enter() -> str:
        return entered_text(scene)

    return Tool.from_contract(FunctionContract(scene.key, scene.description, _NO_PARAMETERS), enter)


def entered_text(scene: Scene) -> str:
    """What the model reads when it has chosen a scene."""
    # Small models that read only that they have entered it wait for another request.
    how = " with the tools of this scene" if len(scene.toolset) else ""
    return f"Scene '{scene.name}' entered. Serve the request now{how}."
