"""A function that a model may call."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeAlias,
    TypeGuard,
    TypeVar,
    cast,
    overload,
)

from .._core import FunctionContract
from .binding import merge_violations
from .definition import Definition, FromContract, FromHints
from .options import DEFAULTS, ToolOptions, check_pool, checked
from .signature import Style, is_classmethod

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._core import ToolCall, Validator, Violation
    from .options import ConcurrencyKey, Pool, RateLimit, RetryPolicy

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")

AnyFunction: TypeAlias = Callable[..., Any]
"""A function of any signature."""


class Tool(Generic[P, R]):
    """A function with what the model is told about it, and how it is run.

    It can be called as the function can. Make one with `tool`, or from a contract or a JSON
    Schema with the methods here. Tools are not changed once they are made.
    """

    name: str
    """What the model calls it by."""
    function: Callable[P, R]
    """The function."""
    style: Style
    """How it is run: ``sync``, ``async`` or ``generator`` (asynchronous, yields progress)."""
    timeout: float | None
    idle_timeout: float | None
    retries: int | RetryPolicy | None
    max_concurrency: int | None
    concurrency_key: ConcurrencyKey | None
    sequential: bool
    requires_approval: bool | Callable[[ToolCall], bool]
    idempotent: bool
    cache: bool | float | None
    rate_limit: RateLimit | None
    max_result_chars: int | None
    defer_loading: bool
    metadata: Mapping[str, Any]
    pool: Pool | None
    after: tuple[str, ...]
    partial_results: bool

    def __init__(
        self,
        function: Callable[P, R],
        definition: Definition,
        options: Mapping[str, Any],
    ) -> None:
        """Prefer `tool`, `from_contract` and `from_schema`.

        Args:
            function: The function.
            definition: What it is as a tool.
            options: How it is run; see `ToolOptions`.

        Raises:
            ToolDefinitionError: An option has a value that it cannot have.
            TypeError: There is no such option.
        """
        functools.update_wrapper(self, function, updated=())
        self.name = definition.name
        self.function = function
        self.style = definition.signature.style
        self._definition = definition
        self._receiver: tuple[Any, str] | None = None
        self._attribute: str | None = None
        for name, value in checked(self.name, options).items():
            setattr(self, name, value)
        key = self.concurrency_key
        if isinstance(key, str):
            definition.check_argument(key, "concurrency_key")
        resolved = not isinstance(definition, FromHints) or definition.is_resolved
        check_pool(self.name, self.pool, self.style, definition.context if resolved else None)

    @staticmethod
    def from_contract(
        contract: FunctionContract | Mapping[str, Any],
        function: Callable[Q, T],
        **options: Unpack[ToolOptions],
    ) -> Tool[Q, T]:
        """A tool whose contract is given.

        Args:
            contract: The contract, or a definition as clients of providers and MCP write it.
            function: What serves its calls; gets the arguments by name, as JSON.
            **options: How it is run.

        Raises:
            ContractError: A definition is none.
            ToolDefinitionError: The function cannot take the arguments, the schema cannot be
                used, or an option has a value that it cannot have.
        """
        if not isinstance(contract, FunctionContract):
            contract = FunctionContract.from_openai(contract)
        return Tool(function, FromContract(function, contract), options)

    @staticmethod
    def from_schema(
        name: str,
        schema: Mapping[str, Any],
        function: Callable[Q, T],
        *,
        description: str | None = None,
        **options: Unpack[ToolOptions],
    ) -> Tool[Q, T]:
        """A tool from the JSON Schema of its arguments.

        Args:
            name: What the model calls it by.
            schema: The JSON Schema of its arguments.
            function: What serves its calls; gets the arguments by name, as JSON.
            description: What it does, for the model to read.
            **options: How it is run.

        Raises:
            ContractError: The name or the schema cannot be used.
            ToolDefinitionError: As for `from_contract`.
        """
        contract = FunctionContract(name, description, schema)
        return Tool.from_contract(contract, function, **options)

    @property
    def contract(self) -> FunctionContract:
        """What the model is told.

        Raises:
            ToolDefinitionError: A type has no JSON Schema. Worked out at first need.
        """
        return self._definition.contract

    @property
    def description(self) -> str | None:
        """What it does, for the model to read."""
        return self.contract.description

    @property
    def validator(self) -> Validator | None:
        """What arguments are held to; None for a tool without a schema."""
        return self._definition.validator

    @property
    def context_parameter(self) -> str | None:
        """The parameter that is given a `ToolContext`."""
        return self._definition.context

    @property
    def options(self) -> dict[str, Any]:
        """How it is run: all of `ToolOptions`."""
        return {name: getattr(self, name) for name in DEFAULTS}

    @property
    def is_unbound(self) -> bool:
        """Whether it is a method without its object, as in ``Class.method``."""
        return self._definition.signature.is_method and self._receiver is None

    @property
    def portable(self) -> Callable[P, R]:
        """What can be sent to another process by name, as `pickle` does.

        The function; where its name leads to a tool of it, as for a decorated one, that tool.
        """
        named = _lookup_by_name(self.function)
        found: Callable[P, R] = self.function
        if is_tool(named) and named.function is found:
            found = named
        return found

    def replace(self, **options: Unpack[ToolOptions]) -> Tool[P, R]:
        """The same tool with other options.

        Args:
            **options: Those that change.

        Raises:
            ToolDefinitionError: An option has a value that it cannot have.
            TypeError: There is no such option.
        """
        copy = Tool(self.function, self._definition, {**self.options, **options})
        copy._receiver, copy._attribute = self._receiver, self._attribute
        return copy

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The keyword arguments of the function for the JSON arguments of a call.

        A `ToolContext` is not among them.

        Args:
            arguments: Arguments that fit the schema.

        Raises:
            ValidationError: They do not suit the types of the function. The keyword of a
                violation is then pydantic's name for it.
        """
        return self._definition.bind(arguments)

    def violations(
        self, arguments: Mapping[str, Any], schema_violations: Sequence[Violation] | None = None
    ) -> tuple[Violation, ...]:
        """All in which arguments do not suit the tool: its schema and the types of the function.

        Args:
            arguments: The arguments of a call, mended where they could be.
            told: In which ways they do not fit the schema, where that is known.

        Returns:
            The violations of the schema and then those of the types at other places; at most 20.
        """
        if schema_violations is None:
            validator = self.validator
            schema_violations = () if validator is None else validator.iter_errors(arguments)
        return merge_violations(
            schema_violations, self._definition.bind.type_violations(arguments, schema_violations)
        )

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function."""
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Tool[P, R]: ...
    @overload
    def __get__(
        self: Tool[Concatenate[S, Q], R], instance: S, owner: type[Any] | None = None
    ) -> Tool[Q, R]: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> object:
        """The tool of an object, for a method; otherwise the tool itself."""
        if not self.is_unbound:
            return self
        function: Any = self.function
        if is_classmethod(function):
            kind = instance.__class__ if owner is None else owner
            return self._bound(kind, function.__get__(None, kind))
        return (
            self if instance is None else self._bound(instance, function.__get__(instance, owner))
        )

    def _bound(self, receiver: object, function: AnyFunction) -> AnyTool:
        bound = cast("AnyTool", object.__new__(Tool))
        bound.__dict__.update(self.__dict__, function=function, __wrapped__=function)
        bound._receiver = (receiver, self._attribute or function.__name__)
        return bound

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._attribute = name

    def __reduce__(self) -> str | tuple[Any, ...]:
        # By name, as functions are: the name of a decorated one leads to the tool.
        if self._receiver is not None:
            return getattr, self._receiver
        if _lookup_by_name(self) is self:
            name: str = vars(self)["__qualname__"]
            return name
        # A pool is of the process that it was made in.
        return _rebuild, (
            self.portable,
            *self._definition.constructor_arguments,
            {**self.options, "pool": None},
        )

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


AnyTool: TypeAlias = Tool[..., Any]
"""A tool of any signature."""


def is_tool(value: object) -> TypeGuard[AnyTool]:
    """Whether something is a tool."""
    return isinstance(value, Tool)


def tool_from(contract: FunctionContract, function: AnyFunction) -> AnyTool:
    """A tool with this contract: a function's, or that of another tool, with its options."""
    if is_tool(function):
        return Tool(function.function, FromContract(function.function, contract), function.options)
    return Tool(function, FromContract(function, contract), {})


def _lookup_by_name(function: object) -> object:
    """What the name of a function leads to."""
    found: object = sys.modules.get(getattr(function, "__module__", ""))
    for name in str(getattr(function, "__qualname__", "")).split("."):
        found = getattr(found, name, None)
    return found


def _rebuild(
    function: Callable[..., Any],
    name: str,
    description: str | None,
    contract: FunctionContract | None,
    options: Mapping[str, Any],
) -> Tool[..., Any]:
    if is_tool(function):
        function = function.function
    if contract is not None:
        return Tool(function, FromContract(function, contract), options)
    return Tool(function, FromHints(function, name, description, {}), options)
