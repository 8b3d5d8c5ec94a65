"""A scene: a name, what it is for, its tools and what the model is told in it."""

from __future__ import annotations

import functools
import inspect
import logging
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from .._checks import check_methods, check_text
from .._core import FunctionContract
from ..exceptions import ContractError, ToolDefinitionError
from ..executor import Deferred
from ..tools import Tool, Toolset
from ..tools import tool as make_tool
from ..tools.function import is_tool
from .actors import Actor, ActorFunction, checked_actor
from .decorators import is_decorating
from .names import provider_name

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ..tools.function import AnyFunction
    from ..tools.options import ToolOptions
    from ..tools.toolset import Handlers, ToolLike
    from .manager import SceneManager

_log = logging.getLogger("toolweave.scenes")

_NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}

F = TypeVar("F", bound="Callable[..., Any]")


class Scene:
    """One thing that a model can do: tools that belong together, and what to know for them.

    Made by `SceneManager.scene`, and filled by its own methods, each of which returns it. As a
    decorator it takes a class, whose methods become its tools, or a function, which becomes an
    actor.

    Args:
        name: What it is called, in any script and form; models see it as providers take it.
        description: What it is for: what the model chooses by.
        manager: Where it belongs.

    Raises:
        TypeError: The name is no str.
        ValueError: It is empty.

    Example:
        >>> class Calculator:
        ...     def add(self, a: float, b: float) -> float:
        ...         "Adds two numbers."
        ...         return a + b
        >>> scene = Scene("Maths", "Works with numbers")
        >>> scene = scene.service(Calculator(), methods={"add": "Add"})
        >>> scene = scene.actor("Round to two places.").client_tool("Get Location")
        >>> [tool.name for tool in scene.toolset]
        ['Add', 'Get_Location']
    """

    def __init__(
        self, name: str, description: str | None = None, *, manager: SceneManager | None = None
    ) -> None:
        check_text("name", name)
        check_text("description", description, none=True)
        check_methods("manager", manager, "a SceneManager", "scene", "stream", none=True)
        if not name.strip():
            raise ValueError("a scene needs a name, for the model to choose it by")
        self.name = name
        """What it is called."""
        self.description = description
        """What it is for."""
        self.key = provider_name(name)
        """The name by which models call it; a manager numbers those that would be the same."""
        self.toolset = Toolset()
        """All of its tools. Those of toolsets that change are brought up to date by `refresh`."""
        self.actors: list[str | ActorFunction] = []
        """What the model is told in it."""
        self.client_tools: set[str] = set()
        """The names of the tools that the client runs."""
        self._manager = manager
        self._followed: dict[int, _FollowedToolset] = {}

    @property
    def manager(self) -> SceneManager:
        """Where it belongs.

        Raises:
            ValueError: It belongs nowhere yet.
        """
        if self._manager is None:
            raise ValueError(
                f"the scene {self.name!r} has no manager yet: give it to SceneManager.add"
            )
        return self._manager

    def attach(self, manager: SceneManager, key: str) -> None:
        """Takes its place in a manager, under the name by which models call it."""
        self._manager, self.key = manager, key

    @overload
    def tool(self, function: ToolLike, /, **options: Unpack[ToolOptions]) -> Self: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(
        self, function: ToolLike | None = None, /, **options: Unpack[ToolOptions]
    ) -> Self | Callable[[F], F]:
        """Adds a tool.

        Args:
            function: A function, or a tool in any form that a `Toolset` takes. Left out, a
                decorator comes back, as in ``@scene.tool()``, which leaves the function as it is.
            **options: How it is run; see `ToolOptions`.

        Returns:
            The scene; or the function, where ``@scene.tool`` decorates it. Type checkers cannot
            know that, and want ``@scene.tool()``.

        Raises:
            ContractError: There is a tool of its name in the scene.
            ToolDefinitionError: It cannot be a tool.
        """
        if function is None:

            def decorate(decorated: F) -> F:
                self.tool(decorated, **options)
                return decorated

            return decorate
        if options:
            (made,) = Toolset([function])
            function = made.replace(**options)
        self.toolset.add(function)
        if not options and is_decorating(function, inspect.currentframe()):
            return cast("Self", function)
        return self

    def tools(
        self, tools: Iterable[ToolLike] | Toolset, *, handlers: Handlers | None = None
    ) -> Self:
        """Adds many tools.

        A `Toolset` is followed: what is added to it or removed later counts from the next reply
        on. So scenes can be made of MCP servers and of the types of a registry.

        Args:
            tools: The tools.
            handlers: The functions that serve contracts among them, by name.

        Raises:
            ContractError: There is a tool of the same name in the scene.
            ToolDefinitionError: One of them cannot be a tool.
        """
        if not isinstance(tools, Toolset):
            for each in Toolset(tools, handlers=handlers):
                self.toolset.add(each)
            return self
        if handlers:
            raise ValueError("handlers are given to the Toolset, where there is one")
        for each in tools:
            self.toolset.add(each)
        self._followed[id(tools)] = _FollowedToolset(tools)
        return self

    def service(
        self,
        service: object,
        *,
        methods: Iterable[str] | Mapping[str, str | tuple[str, str]] | None = None,
        **options: Unpack[ToolOptions],
    ) -> Self:
        """Adds methods of an object as tools; their types say what arguments are.

        Args:
            service: The object.
            methods: The names of the methods, or a mapping from these to the names of the tools,
                or to names with descriptions for the model to read: ``{"add": ("Add", "Adds two
                numbers")}``. All public methods if not given.
            **options: How they are run; see `ToolOptions`.

        Raises:
            AttributeError: There is no such method.
            ContractError: There is a tool of the same name in the scene.
            ToolDefinitionError: A method cannot be a tool.
            TypeError: It is a class, or a list of tools.
        """
        if isinstance(service, type):
            raise TypeError(
                f"a service is an object, not the class {service.__name__}; call it first"
            )
        if methods is None:
            chosen: Mapping[str, object] = dict.fromkeys(_public_methods(service))
        elif isinstance(methods, Mapping):
            chosen = dict(cast("Mapping[str, object]", methods))
        elif isinstance(methods, str):
            raise TypeError(f"methods are given as a list: [{methods!r}]")
        else:
            chosen = dict.fromkeys(methods)
        if not chosen:
            raise ToolDefinitionError(
                f"the service {type(service).__name__} has no public methods", self.name
            )
        for method, given in chosen.items():
            name, description = _named(method, given)
            found: object = getattr(service, method)
            if not callable(found):
                raise ToolDefinitionError(
                    f"{type(service).__name__}.{method} is no method", name or method
                )
            made = make_tool(cast("AnyFunction", found), name=name, description=description)
            self.toolset.add(made.replace(**options) if options else made)
        return self

    def client_tool(
        self,
        name: str,
        schema: Mapping[str, Any] | None = None,
        *,
        description: str | None = None,
    ) -> Self:
        """Adds a tool that the client runs: a call of it pauses the run.

        Args:
            name: What it is called; as for scenes, models see it as providers take it.
            schema: The JSON Schema of its arguments.
            description: What it does, for the model to read.

        Raises:
            ContractError: There is a tool of its name in the scene, or the schema cannot be used.
        """
        # Without any, anything goes, which models read as: whatever they can think of.
        contract = FunctionContract(
            provider_name(name), description, _NO_PARAMETERS if schema is None else schema
        )
        self.toolset.add(Tool.from_contract(contract, _defer, cache=False))
        self.client_tools.add(contract.name)
        return self

    def actor(self, actor: Actor) -> Self:
        """Adds what the model is told whenever it is asked in this scene.

        Args:
            actor: Static text, a sync or async function of the `SceneContext`, or an object that
                has one as its method `act`.

        Raises:
            TypeError: It is none of these.
        """
        self.actors.append(checked_actor(actor))
        return self

    def scene(self, name: str, description: str | None = None) -> Scene:
        """Begins the next scene of the same manager."""
        return self.manager.scene(name, description)

    def __call__(self, decorated: F) -> F:
        """Takes a class, made without arguments, as a service; or a function as an actor."""
        made: object = decorated
        if isinstance(made, type):
            self.description = self.description or inspect.getdoc(made)
            self.service(made())
        else:
            self.actor(decorated)
        return decorated

    def refresh(self) -> None:
        """Brings the tools up to date with the toolsets that are followed."""
        for followed in self._followed.values():
            if followed.version != followed.source.version:
                self._follow(followed)

    def _follow(self, followed: _FollowedToolset) -> None:
        followed.version = followed.source.version
        now = {each.name: each for each in followed.source}
        for name, each in followed.known.items():
            if now.get(name) is not each and self.toolset.get(name) is each:
                self.toolset.remove(name)
        for name, each in now.items():
            if followed.known.get(name) is each:
                continue
            try:
                self.toolset.add(each)
            except ContractError:
                _log.warning(
                    "a tool is left out, since the scene has another one of its name",
                    extra={"scene": self.name, "tool": name},
                )
        followed.known = now

    def __repr__(self) -> str:
        return f"Scene({self.name!r}, {[tool.name for tool in self.toolset]})"


class _FollowedToolset:
    """A toolset that may change, and what was last seen of it."""

    def __init__(self, source: Toolset) -> None:
        self.source = source
        self.version = source.version
        self.known = {each.name: each for each in source}


def _named(method: str, given: object) -> tuple[str | None, str | None]:
    """The name of a method's tool, and its description, as far as they are given.

    Raises:
        TypeError: It is something else.
    """
    if given is None or isinstance(given, str):
        return given, None
    pair = cast("tuple[object, ...]", given) if isinstance(given, tuple) else ()
    if len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], str):
        return pair[0], pair[1]
    raise TypeError(
        f"methods[{method!r}] must be the name of a tool, or a tuple of its name and description, "
        f"got {given!r}"
    )


def _defer(**_: Any) -> Deferred:
    """Serves the tools of clients: the result comes with the next request."""
    # Not by the id of the call, which some providers use again in the next reply.
    return Deferred(uuid.uuid4().hex)


def _public_methods(service: object) -> list[str]:
    """The public methods of an object, in the order in which they are defined."""
    found: dict[str, None] = {}
    for owner in reversed(type(service).__mro__[:-1]):
        for name, value in vars(owner).items():
            if name.startswith("_"):
                continue
            if isinstance(value, (staticmethod, classmethod, functools.partial)) or (
                inspect.isfunction(value) or is_tool(value)
            ):
                found[name] = None
    return list(found)
