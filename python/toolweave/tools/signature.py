"""What the signature of a function says about it as a tool."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin

from ..exceptions import ToolDefinitionError
from .context import ToolContext

Style: TypeAlias = Literal["sync", "async", "generator"]
"""How a function is run: called, awaited, or iterated over (an async generator)."""

EMPTY: Any = inspect.Parameter.empty
"""Stands for a default, a type or a result that is not there."""


class UnresolvedError(Exception):
    """A type is written as text and names something that is not there, or not yet."""


class Parameter(NamedTuple):
    """A parameter that the model fills in."""

    name: str
    hint: Any
    """Its type, with what `Annotated` says about it."""
    default: Any
    """What it is without an argument: `inspect.Parameter.empty` if it needs one."""

    @property
    def required(self) -> bool:
        """Whether it needs an argument."""
        return self.default is EMPTY


class Hints(NamedTuple):
    """The types of a function, resolved."""

    parameters: tuple[Parameter, ...]
    extra: Any
    """The type of ``**kwargs``: `inspect.Parameter.empty` if the function has none."""
    context: str | None
    """The parameter that is given a `ToolContext`."""
    returns: Any
    """The type of the result: `inspect.Parameter.empty` if it is not said."""


class Signature:
    """The parameters of a function, without the object that it is a method of.

    Raises:
        ToolDefinitionError: The function cannot be called with arguments by name.
    """

    def __init__(self, function: Callable[..., Any], tool: str) -> None:
        self.tool = tool
        self.body = _body(function)
        """The function that has the code, the docstring and the types."""
        self.style: Style = _style(function, self.body, tool)
        """How the function is run."""
        self.parameters = _parameters(function, tool)
        """Its parameters by name."""
        self.is_method = _is_method(function, self.parameters)
        """Whether the first parameter is the object that the function is a method of."""
        if self.is_method:
            del self.parameters[next(iter(self.parameters))]
        for parameter in self.parameters.values():
            self._check_kind(parameter)

    def _check_kind(self, parameter: inspect.Parameter) -> None:
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise self.parameter_error(
                parameter.name, "it is positional-only, but arguments come by name; drop the '/'"
            )
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise self.parameter_error(
                f"*{parameter.name}", "arguments come by name; make it a list, as in: items: list"
            )

    @property
    def takes_any_name(self) -> bool:
        """Whether it has ``**kwargs``."""
        return any(p.kind is p.VAR_KEYWORD for p in self.parameters.values())

    def check_annotated(self) -> None:
        """Whether there is a type for every parameter.

        Raises:
            ToolDefinitionError: There is not.
        """
        for name, parameter in self.parameters.items():
            if parameter.annotation is EMPTY and parameter.kind is not parameter.VAR_KEYWORD:
                raise self.parameter_error(
                    name, f"it has no type; give it one, as in: {name}: str, or Any for anything"
                )

    def parameter_error(self, parameter: str, reason: str) -> ToolDefinitionError:
        """The error of a parameter."""
        text = f"tool {self.tool!r}: parameter {parameter!r}: {reason}"
        return ToolDefinitionError(text, self.tool)

    def resolve(self, local: Mapping[str, Any] | None = None, *, lenient: bool = False) -> Hints:
        """The types behind the annotations.

        Args:
            local: Names that are known where the function was defined, besides its globals.
            lenient: Whether a type that is missing or cannot be resolved is `Any`.

        Raises:
            UnresolvedError: A name in an annotation is not known, or not yet.
            ToolDefinitionError: An annotation is no type, or two parameters are contexts.
        """
        parameters: list[Parameter] = []
        contexts: list[str] = []
        extra = EMPTY
        for name, parameter in self.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                extra = self._hint(f"**{name}", parameter.annotation, local, lenient)
                if not lenient and str(get_origin(extra)).endswith("Unpack"):
                    raise self.parameter_error(
                        f"**{name}", "write the keys as parameters of their own"
                    )
                continue
            hint = self._hint(name, parameter.annotation, local, lenient)
            if is_context(hint):
                contexts.append(name)
                continue
            if parameter.default is None:
                # As type checkers once had it, and as it is still written.
                hint = _optional(hint)
            parameters.append(Parameter(name, hint, parameter.default))
        if len(contexts) > 1:
            raise self.parameter_error(
                contexts[1], f"it is a ToolContext, and so is {contexts[0]!r}; one is enough"
            )
        return Hints(
            tuple(parameters), extra, contexts[0] if contexts else None, self._returned(local)
        )

    def _returned(self, local: Mapping[str, Any] | None) -> Any:
        annotation = getattr(self.body, "__annotations__", {}).get("return", EMPTY)
        if annotation is EMPTY:
            return EMPTY
        try:
            return _result(self._hint("return", annotation, local), self.style)
        except (UnresolvedError, ToolDefinitionError):
            # The model can do without; the function cannot be blamed for it.
            return EMPTY

    def _hint(
        self, name: str, annotation: Any, local: Mapping[str, Any] | None, lenient: bool = False
    ) -> Any:
        try:
            return self._resolved(name, annotation, local)
        except (UnresolvedError, ToolDefinitionError):
            if lenient:
                return Any
            raise

    def _resolved(self, name: str, annotation: Any, local: Mapping[str, Any] | None) -> Any:
        if annotation is EMPTY:
            return Any
        shown = annotation if isinstance(annotation, str) else repr(annotation)
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        scope: dict[str, Any] = getattr(self.body, "__globals__", {})
        known: dict[str, Any] = _closure(self.body)
        # Often imported for type checkers only, and we know what is meant.
        if "ToolContext" not in scope:
            known["ToolContext"] = ToolContext
        try:
            hints = typing.get_type_hints(
                holder, scope, {**known, **(local or {})}, include_extras=True
            )
        except (NameError, AttributeError) as error:
            raise UnresolvedError(
                f"tool {self.tool!r}: parameter {name!r}: its type {shown} cannot be "
                f"resolved: {error}; import it, or decorate the function where it is defined"
            ) from error
        except (TypeError, SyntaxError) as error:
            raise self.parameter_error(name, f"{shown} is no type: {error}") from error
        return hints[name]


def is_context(hint: Any) -> bool:
    """Whether a parameter of this type is given a `ToolContext`."""
    if get_origin(hint) is Annotated:
        return is_context(get_args(hint)[0])
    if is_union(hint):
        members = [member for member in get_args(hint) if member is not type(None)]
        return len(members) == 1 and is_context(members[0])
    return hint is ToolContext


def is_union(hint: Any) -> bool:
    """Whether a type is a union, `Optional` included."""
    return get_origin(hint) in (Union, types.UnionType)


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called."""
    core = _unwrap(function)
    return str(getattr(core, "__name__", type(core).__name__))


def docstring_of(function: Callable[..., Any]) -> str | None:
    """What a function says about itself."""
    core = _unwrap(function)
    if _is_plain(core):
        return inspect.getdoc(core)
    # An object that can be called: the docstring of the method, or that of the class.
    kind = type(core)
    return inspect.getdoc(kind.__call__) if kind.__call__.__doc__ else inspect.getdoc(kind)


def scope_of(function: Callable[..., Any], frame: types.FrameType | None) -> dict[str, Any]:
    """The local names that a function can see where it is defined.

    Args:
        function: The function.
        frame: The frame of who was called with it.
    """
    known: dict[str, Any] = {}
    inner: object = getattr(_body(function), "__code__", None)
    caller = None if frame is None else frame.f_back
    # What is defined in a function is a constant of it; a class body stands in between.
    while caller is not None and inner in caller.f_code.co_consts:
        known = {**caller.f_locals, **known}
        inner, caller = caller.f_code, caller.f_back
    return known


def _unwrap(function: Callable[..., Any]) -> Callable[..., Any]:
    """What is behind partial functions and methods."""
    inner = _unwrap_once(function)
    return function if inner is None else _unwrap(inner)


def is_classmethod(function: object) -> bool:
    """Whether a function is one of a class and not of its objects."""
    return isinstance(function, classmethod)


def _unwrap_once(function: Any) -> Callable[..., Any] | None:
    inner: Callable[..., Any] | None = getattr(
        function, "func" if _is_partial(function) else "__func__", None
    )
    return inner


def _is_partial(function: Any) -> bool:
    return isinstance(function, functools.partial)


def _unwrap_descriptor(function: Callable[..., Any]) -> Callable[..., Any]:
    """What is behind a method of a class, which `inspect.signature` does not take."""
    return _unwrap_once(function) or function if _is_descriptor(function) else function


def _is_descriptor(function: object) -> bool:
    return isinstance(function, (staticmethod, classmethod))


def _is_plain(core: Callable[..., Any]) -> bool:
    return inspect.isroutine(core) or hasattr(core, "__wrapped__")


def _body(function: Callable[..., Any]) -> Callable[..., Any]:
    core = _unwrap(function)
    if not _is_plain(core):
        core = _unwrap(type(core).__call__)
    body: Callable[..., Any] = inspect.unwrap(core)
    return body


def _style(function: Callable[..., Any], body: Callable[..., Any], tool: str) -> Style:
    core = _unwrap(function)
    runs = core if _is_plain(core) else _unwrap(type(core).__call__)
    if inspect.isasyncgenfunction(runs):
        return "generator"
    if inspect.iscoroutinefunction(runs):
        return "async"
    if inspect.isgeneratorfunction(runs):
        raise ToolDefinitionError(
            f"tool {tool!r}: a generator cannot report progress without blocking; "
            f"make it async, as in: async def {getattr(body, '__name__', tool)}(...)",
            tool,
        )
    return "sync"


def _parameters(function: Callable[..., Any], tool: str) -> dict[str, inspect.Parameter]:
    if isinstance(function, type):
        raise ToolDefinitionError(
            f"tool {tool!r}: a class is no tool; give a function that makes one", tool
        )
    try:
        found = inspect.signature(_unwrap_descriptor(function)).parameters
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(
            f"tool {tool!r}: {function!r} does not say which arguments it takes; wrap it in a "
            "function that does",
            tool,
        ) from error
    # What a partial function has been given by name is not the model's to change.
    fixed: Mapping[str, Any] = getattr(function, "keywords", {}) if _is_partial(function) else {}
    return {name: parameter for name, parameter in found.items() if name not in fixed}


def _is_method(function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]) -> bool:
    if is_classmethod(function):
        return True
    if not isinstance(function, types.FunctionType) or not parameters:
        return False
    owner = function.__qualname__.rpartition(".")[0]
    first = next(iter(parameters.values()))
    return (
        owner != ""
        and not owner.endswith("<locals>")
        and first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD)
        and (first.annotation is EMPTY or first.name == "self")
    )


def _closure(body: Callable[..., Any]) -> dict[str, Any]:
    if not isinstance(body, types.FunctionType) or not body.__closure__:
        return {}
    known: dict[str, Any] = {}
    for name, cell in zip(body.__code__.co_freevars, body.__closure__, strict=True):
        with contextlib.suppress(ValueError):  # not set yet
            known[name] = cell.cell_contents
    return known


def _optional(hint: Any) -> Any:
    accepts_none = (
        hint is Any
        or hint is object
        or hint is None
        or (is_union(hint) and type(None) in get_args(hint))
        or (get_origin(hint) is Literal and None in get_args(hint))
    )
    if accepts_none:
        return hint
    if get_origin(hint) is Annotated:
        kind, *metadata = get_args(hint)
        return annotated(_optional(kind), metadata)
    return Union[hint, None]  # noqa: UP007 - the type may not know `|`


def annotated(hint: Any, notes: Sequence[Any]) -> Any:
    """A type with notes, if there are any."""
    subscript = (hint, *notes)
    return Annotated[subscript] if notes else hint


def _result(hint: Any, style: Style) -> Any:
    """The type of the result, without what a caller of the function has to do to get it."""
    if style == "generator":
        return get_args(hint)[0] if get_args(hint) else EMPTY
    if get_origin(hint) in _AWAITABLES:
        return get_args(hint)[-1]
    return hint


_AWAITABLES = (
    typing.get_origin(typing.Awaitable[Any]),
    typing.get_origin(typing.Coroutine[Any, Any, Any]),
)
