"""`Toolset`: the tools that a model can call, by name."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeGuard, TypeVar, cast

from .._checks import check_mapping
from .._core import FunctionContract
from ..exceptions import ContractError, ToolDefinitionError
from ._decorator import tool as make_tool
from ._function import AnyFunction, AnyTool, is_tool, tool_from
from ._signature import name_of

if TYPE_CHECKING:
    from functools import partial

    from .._options import HasContract
    from ._function import Tool

ToolLike: TypeAlias = (
    "AnyTool | AnyFunction | FunctionContract | HasContract | Mapping[str, Any] | str"
)
"""Item of a `Toolset`: a tool or a function; or, with a handler, a contract, a definition in the
format of a provider, or a bare name."""


class PlainFunction(Protocol):
    """A function or a method, which unlike a `Tool` has a name as its attribute."""

    @property
    def __name__(self) -> str: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        ...


D = TypeVar("D")

ToolFor: TypeAlias = (
    "Tool[..., Any, D] | PlainFunction | partial[Any] | FunctionContract | Mapping[str, Any] | str"
)
"""A `ToolLike` for dependencies of a type, as far as type checkers know that of a tool."""

NO_TOOLS: tuple[str, ...] = ()
"""No tools; pyright does not infer the type of the dependencies from ``()``."""

Handlers: TypeAlias = "Mapping[str, AnyFunction]"
"""Functions by tool name."""


class Toolset:
    """Ordered set of tools with unique names.

    Thread-safe: a toolset may change while it is read. An iteration covers the tools at its start.

    Args:
        tools: The tools: `Tool` objects, functions, or contracts in any form with a handler. A
            bare name has no schema, so its arguments are not validated.
        handlers: Functions for the contracts, by name.

    Raises:
        ContractError: A name is used twice, or a definition is invalid.
        ToolDefinitionError: A tool has no function, or one that does not accept its arguments.

    Example:
        >>> def add(a: int, b: int) -> int:
        ...     return a + b
        >>> tools = Toolset([add, "ping"], handlers={"ping": lambda: "pong"})
        >>> [tool.name for tool in tools]
        ['add', 'ping']
    """

    def __init__(self, tools: Iterable[ToolLike] = (), *, handlers: Handlers | None = None) -> None:
        self._lock = threading.Lock()
        # Never modified, only replaced, so readers need no lock.
        self._tools: Mapping[str, AnyTool] = {}
        self._descriptions: _Descriptions | None = None
        self._version = 0
        check_mapping("handlers", handlers, none=True)
        unused = dict(handlers or {})
        for item in _as_items(tools):
            contract = _contract_of(item)
            name = _name_of_item(item) if contract is None else contract.name
            self._insert(_resolve_tool(item, contract, unused.pop(name, None)))
        if unused:
            names = ", ".join(map(repr, unused))
            raise ToolDefinitionError(
                f"handlers must be for tools of the set, got {names}", next(iter(unused))
            )
        self._version = 0

    @property
    def version(self) -> int:
        """Number of changes so far."""
        return self._version

    @property
    def contracts(self) -> tuple[FunctionContract, ...]:
        """Contracts of the tools."""
        return self._current_descriptions().contracts

    @property
    def searchable(self) -> frozenset[str]:
        """Names of tools with `defer_loading`, which the model has to search for."""
        return self._current_descriptions().searchable

    def add(self, tool: ToolLike, handler: AnyFunction | None = None) -> AnyTool:
        """Add a tool at the end.

        Args:
            tool: The tool, in any form that the constructor takes.
            handler: The function, for a contract.

        Returns:
            The added tool.

        Raises:
            ContractError: The name is in use.
            ToolDefinitionError: The tool has no function, or one that does not accept its
                arguments.
        """
        made = _resolve_tool(tool, _contract_of(tool), handler)
        self._insert(made)
        return made

    def remove(self, name: str) -> AnyTool:
        """Remove a tool.

        Returns:
            The removed tool.

        Raises:
            KeyError: There is no tool of this name.
        """
        with self._lock:
            left = dict(self._tools)
            if name not in left:
                known = ", ".join(map(repr, left)) or "none"
                raise KeyError(f"there is no tool {name!r}; there are: {known}")
            removed = left.pop(name)
            self._replace(left)
        return removed

    def get(self, name: str) -> AnyTool | None:
        """Return the tool of this name, or None."""
        return self._tools.get(name)

    @classmethod
    def from_tools(cls, tools: Iterable[AnyTool]) -> Toolset:
        """Return a set of tools of another set, or of replacements of the same names."""
        made = cls()
        made._tools = {tool.name: tool for tool in tools}
        return made

    def snapshot(self) -> Toolset:
        """Return a copy that later changes do not affect."""
        copy = Toolset()
        with self._lock:
            copy._tools = self._tools
            copy._descriptions = self._current_descriptions()
            copy._version = self._version
        return copy

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __repr__(self) -> str:
        return f"Toolset({list(self._tools)})"

    def _insert(self, tool: AnyTool) -> None:
        if tool.is_unbound:
            raise ToolDefinitionError(
                f"tool {tool.name!r} must be bound, got a method without its object; use the tool "
                f"of an object, such as thing.{tool.function.__name__}",
                tool.name,
            )
        # Errors in its types are raised here, before a request.
        _ = tool.contract, tool.validator
        with self._lock:
            if tool.name in self._tools:
                raise ContractError(
                    f"tool name {tool.name!r} is given more than once; each tool needs a name of "
                    "its own",
                    tool.name,
                )
            self._replace({**self._tools, tool.name: tool})

    def _replace(self, tools: Mapping[str, AnyTool]) -> None:
        self._tools = tools
        self._version += 1

    def _current_descriptions(self) -> _Descriptions:
        tools, found = self._tools, self._descriptions
        if found is None or found.tools is not tools:
            contracts = tuple(tool.contract for tool in tools.values())
            searchable = frozenset(tool.name for tool in tools.values() if tool.defer_loading)
            found = self._descriptions = _Descriptions(tools, contracts, searchable)
        return found


class _Descriptions(NamedTuple):
    """Contracts and searchable names of a set of tools, computed once."""

    tools: Mapping[str, AnyTool]
    contracts: tuple[FunctionContract, ...]
    searchable: frozenset[str]


def _is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _as_items(tools: Any) -> Iterable[Any]:
    if _is_mapping(tools):
        return [_tool_from_entry(name, item) for name, item in tools.items()]
    if isinstance(tools, str) or callable(tools) or not hasattr(tools, "__iter__"):
        raise TypeError(f"tools must be a list; put a single tool in a list: [{tools!r}]")
    return cast("Iterable[Any]", tools)


def _tool_from_entry(name: str, item: Any) -> ToolLike:
    """Return the tool of a mapping's entry, which may be a tool, a schema or None."""
    if item is None:
        return name
    if _is_mapping(item):
        if _DEFINITION.isdisjoint(item):
            return FunctionContract(name, None, item)
        item = item if "function" in item else {"name": name, **item}
    contract = _contract_of(item)
    if contract is None and not is_tool(item):
        return _make_tool(item, name)
    found = item.name if contract is None else contract.name
    if found != name:
        raise ContractError(f"the key of tool {found!r} must be its name, got {name!r}", found)
    return cast("ToolLike", item)


_DEFINITION = frozenset({"function", "name", "parameters", "input_schema", "inputSchema"})


def _contract_of(item: Any) -> FunctionContract | None:
    """Return the contract of an item that is not a tool, if it has one."""
    if isinstance(item, FunctionContract):
        return item
    if is_tool(item):
        return None
    if isinstance(item, str):
        return FunctionContract(item)
    if _is_mapping(item):
        return FunctionContract.from_openai(item)
    held: object = getattr(item, "contract", None)
    return held if isinstance(held, FunctionContract) else None


def _name_of_item(item: Any) -> str:
    return item.name if is_tool(item) else name_of(item)


def _make_tool(function: AnyFunction, name: str | None = None) -> AnyTool:
    return make_tool(function, name=name)


def _resolve_tool(
    item: Any, contract: FunctionContract | None, handler: AnyFunction | None
) -> AnyTool:
    """Return the tool for an item and its handler, if any."""
    if contract is None:
        made = item if is_tool(item) else _make_tool(item)
        if handler is not None:
            raise ToolDefinitionError(
                f"tool {made.name!r} must have one function, got its own and a handler",
                made.name,
            )
        return made
    serving = cast("AnyFunction | None", item if handler is None and callable(item) else handler)
    if serving is None:
        name = contract.name
        raise ToolDefinitionError(
            f"tool {name!r} has no function; pass one as handlers={{{name!r}: ...}}", name
        )
    made = tool_from(contract, serving)
    # In the format of a provider.
    deferred = _is_mapping(item) and item.get("defer_loading") is True
    return made.replace(defer_loading=True) if deferred else made
