"""`tool`, which turns a function into a tool. Use it with or without options."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from .._checks import check_mapping, check_text, got
from .._core import FunctionContract
from ..exceptions import ToolDefinitionError
from ._definition import FromHints
from ._function import AnyFunction, AnyTool, Tool, is_tool, tool_from
from ._options import ToolOptions
from ._signature import name_of, scope_of

if TYPE_CHECKING:
    from typing import Protocol

    from typing_extensions import Unpack

    from ._context import ToolContext

    class Decorator(Protocol):
        """Decorator that turns a function into a tool."""

        @overload
        def __call__(
            self, function: Callable[Concatenate[_Anything, _P], _R], /
        ) -> Tool[..., _R, object]: ...
        @overload
        def __call__(
            self, function: Callable[Concatenate[ToolContext[_D], _P], _R], /
        ) -> Tool[Concatenate[ToolContext[_D], _P], _R, _D]: ...
        @overload
        def __call__(self, function: Callable[_P, _R], /) -> Tool[_P, _R, object]: ...
        def __call__(self, function: Callable[..., Any], /) -> AnyTool:
            """Return the tool."""
            ...

    # Type checkers know the dependencies of a tool whose first parameter is the context. A first
    # parameter of the type Any or object would also take a context, so it is recognized before.
    class _Anything:
        """Type that no parameter takes unless it takes anything."""


_D = TypeVar("_D")
_P = ParamSpec("_P")
_R = TypeVar("_R")


@overload
def tool(
    function: Callable[Concatenate[_Anything, _P], _R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    schema: Mapping[str, Any] | None = None,
    **options: Unpack[ToolOptions],
) -> Tool[..., _R, object]: ...
@overload
def tool(
    function: Callable[Concatenate[ToolContext[_D], _P], _R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    schema: Mapping[str, Any] | None = None,
    **options: Unpack[ToolOptions],
) -> Tool[Concatenate[ToolContext[_D], _P], _R, _D]: ...
@overload
def tool(
    function: Callable[_P, _R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    schema: Mapping[str, Any] | None = None,
    **options: Unpack[ToolOptions],
) -> Tool[_P, _R, object]: ...
@overload
def tool(contract: FunctionContract, /, **options: Unpack[ToolOptions]) -> Decorator: ...
@overload
def tool(
    name: str | None = None,
    /,
    *,
    description: str | None = None,
    schema: Mapping[str, Any] | None = None,
    **options: Unpack[ToolOptions],
) -> Decorator: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    schema: Mapping[str, Any] | None = None,
    **options: Unpack[ToolOptions],
) -> Decorator: ...
def tool(
    subject: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    schema: Mapping[str, Any] | None = None,
    **options: Unpack[ToolOptions],
) -> Any:
    """Turn a function into a tool.

    The contract comes from the types of the parameters and the docstring (Google, NumPy or Sphinx
    style), unless you pass a schema or a contract. Texts in ``Annotated`` or ``Field`` take
    precedence over the docstring. Arguments are always validated before the function runs.
    ``**kwargs`` accepts arguments of any other name.

    The function may be sync, async, or an async generator, which yields progress and, as its last
    value, the result. It may be a method or a callable object. A parameter annotated with
    `ToolContext` is not shown to the model.

    Args:
        subject: The function; or the name or contract of the tool, to decorate a function as in
            ``@tool("name")``.
        name: Name of the tool; by default the function's name.
        description: Description of the tool; by default from the docstring.
        schema: JSON Schema of the arguments, instead of the types. The function then gets JSON
            values without conversion.
        **options: Options; see `ToolOptions`.

    Returns:
        The tool, which can be called like the function; or a decorator that returns it.

    Raises:
        ToolDefinitionError: The function cannot be a tool, or an option has an invalid value.
            Errors that the signature alone does not show, such as a type without a JSON Schema,
            are raised when the contract is first used, at the latest when the tool is added to a
            `Toolset`.
        ContractError: The schema is invalid.

    Example:
        >>> @tool
        ... def add(a: int, b: int = 1) -> int:
        ...     "Add two numbers."
        ...     return a + b
        >>> add.contract.parameters["properties"]["b"]
        {'type': 'integer', 'default': 1}
        >>> add(1, b=2)
        3
    """
    if isinstance(subject, FunctionContract):
        contract = subject
        if name is not None or description is not None or schema is not None:
            raise TypeError(
                f"tool {contract.name!r}: name, description and schema must be left out with a "
                "contract, which includes them"
            )

        def serve(function: AnyFunction) -> AnyTool:
            return tool_from(contract, function).replace(**options)

        return serve
    check_text("name", name, none=True)
    check_text("description", description, none=True)
    check_mapping("schema", schema, none=True)
    if subject is None or isinstance(subject, str):
        if subject is not None and name is not None:
            raise TypeError(f"name must be given once, got {subject!r} and {name!r}")
        chosen = subject if name is None else name

        def decorate(function: AnyFunction) -> AnyTool:
            here = inspect.currentframe()
            return _make(function, chosen, description, schema, {**options}, here)

        return decorate
    return _make(subject, name, description, schema, {**options}, inspect.currentframe())


def _make(
    function: AnyFunction,
    name: str | None,
    description: str | None,
    schema: Mapping[str, Any] | None,
    options: dict[str, Any],
    frame: types.FrameType | None,
) -> AnyTool:
    made = _existing_tool(function)
    if made is not None:
        if name is None and description is None and schema is None:
            return made.replace(**options)
        function = made.function
        options = {**made.options, **options}
    _check_callable(function)
    chosen = name_of(function) if name is None else name
    if chosen == "<lambda>":
        raise ToolDefinitionError("a lambda has no name: tool(function, name=...)", chosen)
    if schema is not None:
        contract = FunctionContract(chosen, description, schema)
        return tool_from(contract, function).replace(**options)
    definition = FromHints(function, chosen, description, scope_of(function, frame))
    return Tool(function, definition, options)


def _check_callable(function: object) -> None:
    # staticmethod and classmethod objects need not be callable themselves.
    if not callable(function) and not isinstance(function, (staticmethod, classmethod)):
        raise TypeError(f"the subject of a tool must be a function, got {got(function)}")


def _existing_tool(function: object) -> AnyTool | None:
    if is_tool(function):
        return function
    if isinstance(function, types.MethodType):
        # From Python 3.13 on, a classmethod of a tool arrives as a bound method.
        inner: object = function.__func__
        return inner.__get__(function.__self__) if is_tool(inner) else None
    return None
