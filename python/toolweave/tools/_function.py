"""`Tool`: a function that a model can call."""

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
from ._binding import merge_violations
from ._definition import Definition, FromContract, FromHints
from ._options import DEFAULTS, ToolOptions, check_pool, checked
from ._run_context import ToolDeps
from ._signature import Style, is_classmethod

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._core import ToolCall, Validator, Violation
    from ._options import ConcurrencyKey, Pool, Prepare, RateLimit, RetryPolicy

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")

AnyFunction: TypeAlias = Callable[..., Any]
"""A function of any signature."""


class Tool(Generic[P, R, ToolDeps]):
    """Function with a contract and options.

    A tool can be called like its function. Create one with `tool`, or from a contract or a JSON
    Schema with `from_contract` and `from_schema`. Tools are immutable.
    """

    name: str
    """Name of the tool."""
    function: Callable[P, R]
    """The function."""
    style: Style
    """Style of the function: ``sync``, ``async`` or ``generator`` (async, yields progress)."""
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
    prepare: Prepare | None

    def __init__(
        self,
        function: Callable[P, R],
        definition: Definition,
        options: Mapping[str, Any],
    ) -> None:
        """Create a tool. Prefer `tool`, `from_contract` and `from_schema`.

        Args:
            function: The function.
            definition: Its contract and argument conversion.
            options: Options; see `ToolOptions`.

        Raises:
            ToolDefinitionError: An option has an invalid value.
            TypeError: An option is unknown.
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
        hints = definition.known_hints
        check_pool(self.name, self.pool, self.style, None if hints is None else hints.context)

    @staticmethod
    def from_contract(
        contract: FunctionContract | Mapping[str, Any],
        function: Callable[Q, T],
        **options: Unpack[ToolOptions],
    ) -> Tool[Q, T]:
        """Create a tool from a contract.

        Args:
            contract: The contract, or a definition in the format of a provider or of MCP.
            function: The function. It gets the arguments by name, as JSON values.
            **options: Options; see `ToolOptions`.

        Raises:
            ContractError: The definition is invalid.
            ToolDefinitionError: The function does not accept the arguments, the schema is invalid,
                or an option has an invalid value.
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
        """Create a tool from the JSON Schema of its arguments.

        Args:
            name: Name of the tool.
            schema: JSON Schema of the arguments.
            function: The function. It gets the arguments by name, as JSON values.
            description: Description for the model.
            **options: Options; see `ToolOptions`.

        Raises:
            ContractError: The name or the schema is invalid.
            ToolDefinitionError: As for `from_contract`.
        """
        contract = FunctionContract(name, description, schema)
        return Tool.from_contract(contract, function, **options)

    @property
    def contract(self) -> FunctionContract:
        """Contract, as shown to the model. Computed on first use.

        Raises:
            ToolDefinitionError: A type has no JSON Schema.
        """
        return self._definition.contract

    @property
    def description(self) -> str | None:
        """Description for the model."""
        return self.contract.description

    @property
    def validator(self) -> Validator | None:
        """Validator of the arguments; None for a tool without a schema."""
        return self._definition.validator

    @property
    def context_parameter(self) -> str | None:
        """Name of the parameter that gets the `ToolContext`, if any."""
        return self._definition.context

    @property
    def deps_type(self) -> Any:
        """Type of the dependencies in the annotation of its `ToolContext`; None for any."""
        return self._definition.hints.deps_type

    @property
    def options(self) -> dict[str, Any]:
        """All options; see `ToolOptions`."""
        return {name: getattr(self, name) for name in DEFAULTS}

    @property
    def is_unbound(self) -> bool:
        """True if the tool is an unbound method, as in ``Class.method``."""
        return self._definition.signature.is_method and self._receiver is None

    @property
    def portable(self) -> Callable[P, R]:
        """Callable that can be pickled by name.

        The function; or, if its name refers to the tool, as for a decorated function, the tool.
        """
        named = _lookup_by_name(self.function)
        found: Callable[P, R] = self.function
        if is_tool(named) and named.function is found:
            found = named
        return found

    def replace(self, **options: Unpack[ToolOptions]) -> Tool[P, R, ToolDeps]:
        """Return a copy of the tool with other options.

        Args:
            **options: The options to change.

        Raises:
            ToolDefinitionError: An option has an invalid value.
            TypeError: An option is unknown.
        """
        copy: Tool[P, R, ToolDeps] = Tool(
            self.function, self._definition, {**self.options, **options}
        )
        copy._receiver, copy._attribute = self._receiver, self._attribute
        return copy

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the JSON arguments of a call to keyword arguments of the function.

        A `ToolContext` is not included.

        Args:
            arguments: Arguments that match the schema.

        Raises:
            ValidationError: The arguments do not match the types of the function. The keyword of
                each violation is then pydantic's error type.
        """
        return self._definition.bind(arguments)

    def violations(
        self, arguments: Mapping[str, Any], schema_violations: Sequence[Violation] | None = None
    ) -> tuple[Violation, ...]:
        """Return all violations of the schema and of the types of the function.

        Args:
            arguments: The arguments of a call, after repair.
            schema_violations: Their violations of the schema, if already known.

        Returns:
            The violations of the schema and then those of the types at other paths; at most 20.
        """
        if schema_violations is None:
            validator = self.validator
            schema_violations = () if validator is None else validator.iter_errors(arguments)
        return merge_violations(
            schema_violations, self._definition.bind.type_violations(arguments, schema_violations)
        )

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Tool[P, R, ToolDeps]: ...
    @overload
    def __get__(
        self: Tool[Concatenate[S, Q], R], instance: S, owner: type[Any] | None = None
    ) -> Tool[Q, R]: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> object:
        """Return the tool bound to an object, for a method; otherwise the tool itself."""
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
        # By name, like functions: the name of a decorated function refers to the tool.
        if self._receiver is not None:
            return getattr, self._receiver
        if _lookup_by_name(self) is self:
            name: str = vars(self)["__qualname__"]
            return name
        # A pool belongs to the process that created it.
        given, options = self._definition, {**self.options, "pool": None}
        return _rebuild, (
            self.portable,
            self.name,
            given.given_description,
            given.given_contract,
            options,
        )

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


AnyTool: TypeAlias = Tool[..., Any]
"""A tool of any signature."""


def is_tool(value: object) -> TypeGuard[AnyTool]:
    """Return True if a value is a tool."""
    return isinstance(value, Tool)


def tool_from(contract: FunctionContract, function: AnyFunction) -> AnyTool:
    """Return a tool with this contract, from a function or from a tool, whose options it keeps."""
    if is_tool(function):
        return Tool(function.function, FromContract(function.function, contract), function.options)
    return Tool(function, FromContract(function, contract), {})


def _lookup_by_name(function: object) -> object:
    """Return the object that the qualified name of a function refers to."""
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
