"""Inspection of a function's signature: parameters, type hints and style."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin

from ..exceptions import ToolDefinitionError
from ._context import ToolContext

Style: TypeAlias = Literal["sync", "async", "generator"]
"""Style of a function: called, awaited, or iterated over (an async generator)."""

EMPTY: Any = inspect.Parameter.empty
"""Marker for a missing default, type or result."""


class UnresolvedError(Exception):
    """A string annotation refers to a name that is not defined, or not yet."""


class Parameter(NamedTuple):
    """Parameter that is an argument of calls."""

    name: str
    hint: Any
    """Type of the parameter, including `Annotated` metadata."""
    default: Any
    """Default, or `inspect.Parameter.empty` if the parameter is required."""

    @property
    def required(self) -> bool:
        """True if the parameter has no default."""
        return self.default is EMPTY


class Hints(NamedTuple):
    """Resolved type hints of a function."""

    parameters: tuple[Parameter, ...]
    extra: Any
    """Type of ``**kwargs``, or `inspect.Parameter.empty` if the function has none."""
    context: str | None
    """Name of the parameter that gets the `ToolContext`, if any."""
    deps_type: Any
    """Type of the dependencies in the annotation of that parameter; None for any."""
    returns: Any
    """Type of the result, or `inspect.Parameter.empty` if it is not annotated."""


class Signature:
    """Parameters of a function, without ``self`` or ``cls`` of a method.

    Args:
        function: The function.
        tool: The name of its tool, for errors.
        context: The class of contexts. A parameter of that type gets the context of a call.

    Raises:
        ToolDefinitionError: The function cannot be called with keyword arguments.
    """

    def __init__(
        self, function: Callable[..., Any], tool: str, context: type[Any] = ToolContext
    ) -> None:
        self.tool = tool
        self._context = context
        self.body = _body(function)
        """Innermost function, with the code, the docstring and the annotations."""
        self.style: Style = _style(function, self.body, tool)
        """Style of the function."""
        self.parameters = _parameters(function, tool)
        """Parameters by name."""
        self.is_method = _is_method(function, self.parameters)
        """True if the function is an unbound method or a classmethod."""
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
        """True if the function has ``**kwargs``."""
        return any(p.kind is p.VAR_KEYWORD for p in self.parameters.values())

    def check_annotated(self) -> None:
        """Check that every parameter is annotated.

        Raises:
            ToolDefinitionError: A parameter has no annotation.
        """
        for name, parameter in self.parameters.items():
            if parameter.annotation is EMPTY and parameter.kind is not parameter.VAR_KEYWORD:
                raise self.parameter_error(
                    name, f"it has no type; give it one, as in: {name}: str, or Any for anything"
                )

    def parameter_error(self, parameter: str, reason: str) -> ToolDefinitionError:
        """Return the error for a parameter."""
        text = f"tool {self.tool!r}: parameter {parameter!r}: {reason}"
        return ToolDefinitionError(text, self.tool)

    def resolve(self, local: Mapping[str, Any] | None = None, *, lenient: bool = False) -> Hints:
        """Resolve the annotations to types.

        Args:
            local: Local names in scope where the function is defined.
            lenient: If true, a missing or unresolvable annotation becomes `Any`.

        Raises:
            UnresolvedError: An annotation refers to a name that is not defined, or not yet.
            ToolDefinitionError: An annotation is not a type, or two parameters are contexts.
        """
        parameters: list[Parameter] = []
        contexts: list[str] = []
        deps_type: Any = None
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
            if is_context(hint, self._context):
                contexts.append(name)
                deps_type = _deps_type(hint)
                continue
            if parameter.default is None:
                # An implicit Optional, which PEP 484 once allowed.
                hint = _optional(hint)
            parameters.append(Parameter(name, hint, parameter.default))
        if len(contexts) > 1:
            raise self.parameter_error(
                contexts[1],
                f"it is a {self._context.__name__}, and so is {contexts[0]!r}; one is enough",
            )
        return Hints(
            tuple(parameters),
            extra,
            contexts[0] if contexts else None,
            deps_type,
            self._returned(local),
        )

    def _returned(self, local: Mapping[str, Any] | None) -> Any:
        annotation = getattr(self.body, "__annotations__", {}).get("return", EMPTY)
        if annotation is EMPTY:
            return EMPTY
        try:
            return _result(self._hint("return", annotation, local), self.style)
        except (UnresolvedError, ToolDefinitionError):
            # The result type is optional, so errors in it are ignored.
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
        # It is often imported under TYPE_CHECKING only.
        name_of_context = self._context.__name__
        if name_of_context not in scope:
            known[name_of_context] = self._context
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
            raise self.parameter_error(name, f"{shown} is not a type: {error}") from error
        return hints[name]


def is_context(hint: Any, context: type[Any] = ToolContext) -> bool:
    """Return True if a type is that of contexts, possibly annotated or optional."""
    if get_origin(hint) is Annotated:
        return is_context(get_args(hint)[0], context)
    if is_union(hint):
        members = [member for member in get_args(hint) if member is not type(None)]
        return len(members) == 1 and is_context(members[0], context)
    return hint is context or get_origin(hint) is context


def _deps_type(hint: Any) -> Any:
    """Return the type in the brackets of a `ToolContext`; None without one."""
    if get_origin(hint) is not ToolContext:
        # Optional, or annotated.
        found = [_deps_type(each) for each in get_args(hint) if is_context(each)]
        return found[0] if found else None
    (kind,) = get_args(hint)
    return None if isinstance(kind, typing.TypeVar) else kind


def is_union(hint: Any) -> bool:
    """Return True if a type is a union, including `Optional`."""
    return get_origin(hint) in (Union, types.UnionType)


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function."""
    core = _unwrap(function)
    return str(getattr(core, "__name__", type(core).__name__))


def docstring_of(function: Callable[..., Any]) -> str | None:
    """Return the docstring of a function."""
    core = _unwrap(function)
    if _is_plain(core):
        return inspect.getdoc(core)
    # A callable object: the docstring of its `__call__`, or else of its class.
    kind = type(core)
    return inspect.getdoc(kind.__call__) if kind.__call__.__doc__ else inspect.getdoc(kind)


def scope_of(function: Callable[..., Any], frame: types.FrameType | None) -> dict[str, Any]:
    """Return the local names in scope where a function is defined.

    Args:
        function: The function.
        frame: Frame of the function that received it.
    """
    known: dict[str, Any] = {}
    inner: object = getattr(_body(function), "__code__", None)
    caller = None if frame is None else frame.f_back
    # The code of an inner function is a constant of the outer one, or of a class body in it.
    while caller is not None and inner in caller.f_code.co_consts:
        known = {**caller.f_locals, **known}
        inner, caller = caller.f_code, caller.f_back
    return known


def is_classmethod(function: object) -> bool:
    """Return True if a function is a classmethod."""
    return isinstance(function, classmethod)


def _unwrap(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function behind partials, methods, staticmethods and classmethods."""
    inner = _unwrap_once(function)
    return function if inner is None else _unwrap(inner)


def _unwrap_once(function: Any) -> Callable[..., Any] | None:
    is_partial = isinstance(function, functools.partial)
    inner: Callable[..., Any] | None = getattr(function, "func" if is_partial else "__func__", None)
    return inner


def _is_plain(core: Callable[..., Any]) -> bool:
    return inspect.isroutine(core) or hasattr(core, "__wrapped__")


def _code_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that runs: of a callable object, its `__call__`."""
    core = _unwrap(function)
    return core if _is_plain(core) else _unwrap(type(core).__call__)


def _body(function: Callable[..., Any]) -> Callable[..., Any]:
    body: Callable[..., Any] = inspect.unwrap(_code_of(function))
    return body


def _style(function: Callable[..., Any], body: Callable[..., Any], tool: str) -> Style:
    runs = _code_of(function)
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
            f"tool {tool!r}: a class cannot be a tool; use a function that creates an instance",
            tool,
        )
    try:
        is_descriptor = isinstance(function, (staticmethod, classmethod))
        inner = _unwrap_once(function) if is_descriptor else None
        found = inspect.signature(inner or function).parameters
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(
            f"tool {tool!r}: {function!r} has no signature; wrap it in a function that has one",
            tool,
        ) from error
    # Keyword arguments of a partial are fixed, so the model does not set them.
    fixed: Mapping[str, Any] = {}
    if isinstance(function, functools.partial):
        fixed = function.keywords
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
    """Return a type annotated with notes, or the type itself without any."""
    subscript = (hint, *notes)
    return Annotated[subscript] if notes else hint


def _result(hint: Any, style: Style) -> Any:
    """Return the type of the result, without an awaitable or generator around it."""
    if style == "generator":
        return get_args(hint)[0] if get_args(hint) else EMPTY
    if get_origin(hint) in _AWAITABLES:
        return get_args(hint)[-1]
    return hint


_AWAITABLES = (
    typing.get_origin(typing.Awaitable[Any]),
    typing.get_origin(typing.Coroutine[Any, Any, Any]),
)
