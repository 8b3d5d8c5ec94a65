"""Scenes without their manager: a name, a description, tools and actors."""

from __future__ import annotations

import functools
import inspect
import logging
import types
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from .._checks import check_text
from .._core import FunctionContract
from ..exceptions import ContractError, ToolDefinitionError
from ..executor import Deferred
from ..tools import Tool, Toolset
from ..tools import tool as make_tool
from ..tools._function import is_tool
from ..tools._names import provider_name
from ._actors import Actor, ActorFunction, checked_actor

if TYPE_CHECKING:
    from types import FrameType

    from typing_extensions import Self, Unpack

    from ..tools._function import AnyFunction
    from ..tools._options import ToolOptions
    from ..tools._toolset import Handlers, ToolLike

_log = logging.getLogger("toolweave.scenes")

NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}

F = TypeVar("F", bound="Callable[..., Any]")


class BaseScene:
    """A scene without its manager; see `Scene`. Runs and their parts know only this class."""

    def __init__(self, name: str, description: str | None = None) -> None:
        check_text("name", name)
        check_text("description", description, none=True)
        if not name.strip():
            raise ValueError(f"name must not be empty, got {name!r}")
        self.name = name
        """The name, as given."""
        self.description = description
        """The purpose of the scene, by which the model chooses."""
        self.key = provider_name(name)
        """The name by which models call the scene; a manager numbers equal ones."""
        self.toolset = Toolset()
        """All tools of the scene; `refresh` updates those of followed toolsets."""
        self.actors: list[str | ActorFunction[Any]] = []
        """The actors of the scene."""
        self.client_tools: set[str] = set()
        """The names of the tools that the client runs."""
        self._followed: dict[int, _FollowedToolset] = {}

    @overload
    def tool(self, function: ToolLike, /, **options: Unpack[ToolOptions]) -> Self: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(
        self, function: ToolLike | None = None, /, **options: Unpack[ToolOptions]
    ) -> Self | Callable[[F], F]:
        """Add a tool.

        Args:
            function: A function, or a tool in any form that a `Toolset` accepts. If omitted, the
                method returns a decorator, as in ``@scene.tool()``, which returns the function
                unchanged.
            **options: The options of the tool; see `ToolOptions`.

        Returns:
            The scene, or the function if ``@scene.tool`` decorates it. Type checkers cannot
            distinguish these; use ``@scene.tool()`` with them.

        Raises:
            ContractError: The scene has a tool with this name.
            ToolDefinitionError: The function cannot be a tool.
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
        if not options and _is_decorating(function, inspect.currentframe()):
            return cast("Self", function)
        return self

    def tools(
        self, tools: Iterable[ToolLike] | Toolset, *, handlers: Handlers | None = None
    ) -> Self:
        """Add several tools.

        A `Toolset` is followed: tools that are added to it or removed from it later take effect
        from the next reply on. Scenes can thus use MCP servers and the types of a registry.

        Args:
            tools: The tools.
            handlers: The functions that run contracts among the tools, by name.

        Raises:
            ContractError: The scene has a tool with the same name.
            ToolDefinitionError: A tool is invalid.
        """
        follows = isinstance(tools, Toolset)
        if follows and handlers:
            raise ValueError("handlers must be passed to the Toolset, got a Toolset and handlers")
        source = tools if isinstance(tools, Toolset) else Toolset(tools, handlers=handlers)
        for each in source:
            self.toolset.add(each)
        if follows:
            self._followed[id(source)] = _FollowedToolset(source)
        return self

    def service(
        self,
        service: object,
        *,
        methods: Iterable[str] | Mapping[str, str | tuple[str, str]] | None = None,
        **options: Unpack[ToolOptions],
    ) -> Self:
        """Add methods of an object as tools, with schemas from their type annotations.

        Args:
            service: The object.
            methods: The names of the methods, or a mapping from these to the names of the tools,
                or to names with descriptions for the model to read: ``{"add": ("Add", "Adds two
                numbers")}``. All public methods if not given.
            **options: The options of the tools; see `ToolOptions`.

        Raises:
            AttributeError: The object has no such method.
            ContractError: The scene has a tool with the same name.
            ToolDefinitionError: A method cannot be a tool.
            TypeError: The service is a class, or `methods` is a string.
        """
        if isinstance(service, type):
            raise TypeError(
                f"service must be an object, got the class {service.__name__}: pass an instance"
            )
        if methods is None:
            chosen: Mapping[str, object] = dict.fromkeys(_public_methods(service))
        elif isinstance(methods, Mapping):
            chosen = dict(cast("Mapping[str, object]", methods))
        elif isinstance(methods, str):
            raise TypeError(f"methods must be a list or a mapping, got {methods!r}")
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
                    f"{type(service).__name__}.{method} is not a method", name or method
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
        """Add a tool that the client runs: a call of it pauses the run.

        Args:
            name: The name of the tool. Models see it as a name that providers accept.
            schema: The JSON Schema of the arguments; no arguments if not given.
            description: The description for the model to read.

        Raises:
            ContractError: The scene has a tool with this name, or the schema is invalid.
        """
        # Models invent arguments for a tool without a schema.
        contract = FunctionContract(
            provider_name(name), description, NO_PARAMETERS if schema is None else schema
        )
        self.toolset.add(Tool.from_contract(contract, _defer, cache=False))
        self.client_tools.add(contract.name)
        return self

    def actor(self, actor: Actor[Any]) -> Self:
        """Add an actor to the system message of every request in this scene.

        Args:
            actor: Static text, a sync or async function of the `SceneContext`, or an object with
                such a function as its method `act`.

        Raises:
            TypeError: The actor is none of these.
        """
        self.actors.append(checked_actor(actor))
        return self

    def __call__(self, decorated: F) -> F:
        """Add an instance of a class as a service, or a function as an actor."""
        made: object = decorated
        if isinstance(made, type):
            self.description = self.description or inspect.getdoc(made)
            self.service(made())
        else:
            self.actor(decorated)
        return decorated

    def refresh(self) -> None:
        """Update the tools from the followed toolsets."""
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
                    "a tool is omitted because the scene has another one with its name",
                    extra={"scene": self.name, "tool": name},
                )
        followed.known = now

    def __repr__(self) -> str:
        return f"Scene({self.name!r}, {[tool.name for tool in self.toolset]})"


class _FollowedToolset:
    """A toolset that may change, with its tools at the last update."""

    def __init__(self, source: Toolset) -> None:
        self.source = source
        self.version = source.version
        self.known = {each.name: each for each in source}


def _named(method: str, given: object) -> tuple[str | None, str | None]:
    """Return the name and the description given for the tool of a method, each or None.

    Raises:
        TypeError: The value is neither a name nor a pair.
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
    """Defer a call of a client tool: its result arrives with a later request."""
    # The key is not the id of the call, which some providers reuse in the next reply.
    return Deferred(uuid.uuid4().hex)


def _public_methods(service: object) -> list[str]:
    """Return the names of the public methods of an object, in order of definition."""
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


def _is_decorating(made: object, called: FrameType | None) -> bool:
    """Return True if the caller of `called` applies it as a decorator to a function it defines.

    This distinguishes ``@scene.tool``, which returns the function, from ``scene.tool(function)``.

    The code of the function is then a constant of the caller's code, and the current line of the
    caller is one of its decorators; a function begins with the first of them.

    Args:
        made: The decorated object; inner decorators may have replaced the function.
        called: The frame of the decorator.
    """
    caller = None if called is None else called.f_back
    if caller is None:
        return False
    function = made.function if is_tool(made) else made
    # Inner decorators may have returned a wrapper.
    while not isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
        inner: object = getattr(function, "__wrapped__", None)
        if inner is None:
            return False
        function = inner
    code = function.__code__
    if code not in caller.f_code.co_consts or function.__name__ == "<lambda>":
        return False
    body = min(
        (line for _, _, line in code.co_lines() if line and line > code.co_firstlineno),
        default=code.co_firstlineno,
    )
    return code.co_firstlineno <= caller.f_lineno <= body
