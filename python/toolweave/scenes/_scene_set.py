"""The scenes of a manager, with the clients that send their requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .._core import FunctionContract
from ..kinds import Outcome
from ..natural import NaturalToolUse
from ..tools import Tool, Toolset
from ..tools._names import provider_name
from ._names import closest, match
from ._scene import NO_PARAMETERS, BaseScene
from ._unregistered_calls import NameMatcher, UnregisteredCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..protocols import ChatModel

_MAX_SHOWN = 100
_MAX_NAMES = 50


class SceneSet:
    """The scenes by key, each with a client for its requests.

    Args:
        make_tool_use: Function that creates the client for the tools of a scene.
        make_plain_use: Function that creates the client for all other requests, without the limits
            of tools.
    """

    def __init__(
        self,
        make_tool_use: Callable[[Toolset], NaturalToolUse[Any]],
        make_plain_use: Callable[[Toolset], NaturalToolUse[Any]],
    ) -> None:
        self._make_tool_use = make_tool_use
        self._make_plain_use = make_plain_use
        self._scenes: dict[str, BaseScene] = {}
        # A run may be in a scene that has been removed.
        self._tool_uses: WeakKeyDictionary[BaseScene, NaturalToolUse[Any]] = WeakKeyDictionary()
        self._chooser: NaturalToolUse[Any] | None = None
        self.plain = make_plain_use(Toolset())
        """A client for requests without tools."""

    @property
    def model(self) -> ChatModel:
        """The model that all scenes use."""
        return self.plain.parser.model

    def __len__(self) -> int:
        return len(self._scenes)

    def __contains__(self, key: object) -> bool:
        return key in self._scenes

    def __iter__(self) -> Iterator[BaseScene]:
        return iter(self._scenes.values())

    def __getitem__(self, key: str) -> BaseScene:
        return self._scenes[key]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the scenes, as given."""
        return tuple(scene.name for scene in self)

    def add(self, scene: BaseScene) -> None:
        """Add a scene under a unique key that providers accept.

        Raises:
            ValueError: A scene with this name exists.
        """
        if scene.name in self.names:
            raise ValueError(
                f"scene {scene.name!r} exists already; the names of scenes must be unique"
            )
        scene.key = provider_name(scene.name, taken=self._scenes)
        self._scenes[scene.key] = scene
        self._chooser = None

    def remove(self, name: str) -> BaseScene:
        """Remove and return a scene.

        Raises:
            LookupError: No scene has this name.
        """
        found = next((scene for scene in self if scene.name == name), None)
        if found is None:
            raise LookupError(
                f"name must be one of {', '.join(self.names) or 'no scenes'}, got {name!r}"
            )
        del self._scenes[found.key]
        self._chooser = None
        return found

    def find(self, name: str) -> BaseScene | None:
        """Return the scene that a name refers to, or None.

        The name is the key or the given name of a scene, or differs from one of them in separators
        and case only.
        """
        scenes = list(self)
        keys, names = [scene.key for scene in scenes], [scene.name for scene in scenes]
        for known in (keys, names):
            if name in known:
                return scenes[known.index(name)]
        for known in (keys, names):
            found = match(name, known)
            if found is not None:
                return scenes[found]
        return None

    def unknown_scene_text(self, name: str, *, with_names: bool = True) -> str:
        """Return the error that the model reads about an unknown scene.

        Args:
            name: The unknown name.
            with_names: True to suggest the nearest name and list all scenes.
        """
        text = f"Scene '{name[:100]}' not found."
        if not with_names:
            return text
        keys = [scene.key for scene in self]
        nearest = closest(name, keys)
        meant = "" if nearest is None else f" Did you mean '{nearest}'?"
        return f"{text}{meant} The scenes are: {', '.join(keys)}."

    def describe(self) -> str:
        """Return the scenes with their descriptions as a list for a prompt."""
        return "\n".join(
            f"- {scene.key}: {scene.description}" if scene.description else f"- {scene.key}"
            for scene in self
        )

    def tool_use(self, scene: BaseScene) -> NaturalToolUse[Any]:
        """Return the client for requests with the tools of a scene."""
        scene.refresh()
        use = self._tool_uses.get(scene)
        if use is None:
            use = self._tool_uses[scene] = self._make_tool_use(scene.toolset)
        return use

    def name_matcher(self, use: NaturalToolUse[Any], *, with_tools: bool = True) -> NameMatcher:
        """Return a matcher for the names that a request can call, and those that it cannot.

        Args:
            use: The client of the request.
            with_tools: True if the request has tools.
        """
        here = [tool.name for tool in use.executor.toolset] if with_tools else []
        if use is self._chooser:
            # A scene whose name differs in separators and case only is entered.
            return NameMatcher(
                here, self._tools(), ignored=lambda name: self.find(name) is not None
            )
        return NameMatcher(here, [*self._tools(), *self._scenes])

    def refusal(
        self, unregistered: UnregisteredCall, names: NameMatcher, scene: BaseScene | None
    ) -> str:
        """Return the error that the model reads about a call in text of an unavailable tool.

        Args:
            unregistered: The call.
            names: The names that the model can call.
            scene: The current scene; None outside of scenes.
        """
        if scene is None and unregistered.nearest in self._scenes:
            return self.unknown_scene_text(unregistered.name)
        offered = names.offered
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
        """Return the names of all tools, each with the name of its scene."""
        found: dict[str, str] = {}
        for scene in self:
            scene.refresh()
            for tool in scene.toolset:
                found.setdefault(tool.name, scene.name)
        return found

    def resolve(self, key: str, result: object, *, is_error: bool) -> Outcome:
        """Deliver the answer to a question of a running tool, in any scene."""
        for use in list(self._tool_uses.values()):
            outcome = use.executor.resolve(key, result, is_error=is_error)
            if outcome is not Outcome.NOT_FOUND:
                return outcome
        return Outcome.NOT_FOUND

    @property
    def chooser(self) -> NaturalToolUse[Any]:
        """The client for choosing a scene, with the scenes as tools."""
        if self._chooser is None:
            self._chooser = self._make_plain_use(Toolset(_scene_tool(scene) for scene in self))
        return self._chooser


def _scene_tool(scene: BaseScene) -> Tool[..., str]:
    """Return a scene as a tool. The tool never runs; only calls of it matter."""

    def enter() -> str:
        return entered_text(scene)

    return Tool.from_contract(FunctionContract(scene.key, scene.description, NO_PARAMETERS), enter)


def entered_text(scene: BaseScene) -> str:
    """Return the result that the model reads when it has chosen a scene."""
    # Told only that they have entered a scene, small models wait for another request.
    how = " with the tools of this scene" if len(scene.toolset) else ""
    return f"Scene '{scene.name}' entered. Serve the request now{how}."
