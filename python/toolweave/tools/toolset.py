"""The tools that a model may call, by name."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard, cast

from .._checks import check_mapping
from .._core import FunctionContract
from ..exceptions import ContractError, ToolDefinitionError
from .decorator import tool as make_tool
from .function import AnyFunction, AnyTool, is_tool, tool_from
from .signature import name_of

if TYPE_CHECKING:
    from ..options import HasContract

ToolLike: TypeAlias = (
    "AnyTool | AnyFunction | FunctionContract | HasContract | Mapping[str, Any] | str"
)
"""What a `Toolset` takes: a tool, a function; or, with a handler, a contract, a definition as
clients of providers write it, or a bare name."""

Handlers: TypeAlias = "Mapping[str, AnyFunction]"
"""Functions by the names of the tools that they serve."""


class Toolset:
    """Tools in order, each under a name of its own.

    A set may change while others read it, in any thread: an iteration goes over the tools that
    were there when it began.

    Args:
        tools: The tools: `Tool`s, functions, or contracts in any form that have a handler. A
            bare name has no schema, so its arguments are not validated.
        handlers: The functions that serve the contracts, by name.

    Raises:
        ContractError: A name is given twice, or a definition is none.
        ToolDefinitionError: A tool has no function, or none that can serve it.

    Example:
        >>> def add(a: int, b: int) -> int:
        ...     return a + b
        >>> tools = Toolset([add, "ping"], handlers={"ping": lambda: "pong"})
        >>> [tool.name for tool in tools]
        ['add', 'ping']
    """

    def __init__(self, tools: Iterable[ToolLike] = (), *, handlers: Handlers | None = None) -> None:
        self._lock = threading.Lock()
        # Never changed, only replaced: whoever reads it has it for good.
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
                f"there is a handler for {names}, but no such tool", next(iter(unused))
            )
        self._version = 0

    @property
    def version(self) -> int:
        """How often the set has changed."""
        return self._version

    @property
    def contracts(self) -> tuple[FunctionContract, ...]:
        """What the model is told about the tools."""
        return self._describe().contracts

    @property
    def searchable(self) -> frozenset[str]:
        """The names of the tools that the model is told of only once it has found them."""
        return self._describe().searchable

    def add(self, tool: ToolLike, handler: AnyFunction | None = None) -> AnyTool:
        """Adds a tool, behind the others.

        Args:
            tool: As for the constructor.
            handler: The function that serves it, for a contract.

        Returns:
            The tool as it is in the set.

        Raises:
            ContractError: There is one of its name.
            ToolDefinitionError: It has no function, or none that can serve it.
        """
        made = _resolve_tool(tool, _contract_of(tool), handler)
        self._insert(made)
        return made

    def remove(self, name: str) -> AnyTool:
        """Takes a tool out.

        Returns:
            The tool.

        Raises:
            KeyError: There is none of this name.
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
        """The tool of this name."""
        return self._tools.get(name)

    def snapshot(self) -> Toolset:
        """The set as it is now, which later changes do not reach."""
        copy = Toolset()
        with self._lock:
            copy._tools = self._tools
            copy._descriptions = self._describe()
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
                f"tool {tool.name!r} is a method without its object: give the tool of an object, "
                f"as in: thing.{tool.function.__name__}",
                tool.name,
            )
        # What is wrong with its types is found here, before a model is asked.
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

    def _describe(self) -> _Descriptions:
        tools, found = self._tools, self._descriptions
        if found is None or found.tools is not tools:
            contracts = tuple(tool.contract for tool in tools.values())
            searchable = frozenset(tool.name for tool in tools.values() if tool.defer_loading)
            found = self._descriptions = _Descriptions(tools, contracts, searchable)
        return found


class _Descriptions(NamedTuple):
    """What the model is told about some tools."""

    tools: Mapping[str, AnyTool]
    contracts: tuple[FunctionContract, ...]
    searchable: frozenset[str]


def _is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _as_items(tools: Any) -> Iterable[Any]:
    if _is_mapping(tools):
        return [_tool_from_entry(name, item) for name, item in tools.items()]
    if isinstance(tools, str) or callable(tools) or not hasattr(tools, "__iter__"):
        raise TypeError(f"tools are given as a list; put a single one in a list: [{tools!r}]")
    return cast("Iterable[Any]", tools)


def _tool_from_entry(name: str, item: Any) -> ToolLike:
    """An item of a mapping from names to tools, to schemas or to None, as the core reads it."""
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
        raise ContractError(
            f"tool {found!r} stands under the name {name!r}; both must agree", found
        )
    return cast("ToolLike", item)


_DEFINITION = frozenset({"function", "name", "parameters", "input_schema", "inputSchema"})


def _contract_of(item: Any) -> FunctionContract | None:
    """The contract that an item is, or has without being a tool."""
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
    """The tool for an item, with its handler if it has one."""
    if contract is None:
        made = item if is_tool(item) else _make_tool(item)
        if handler is not None:
            raise ToolDefinitionError(
                f"tool {made.name!r} has a function of its own and a handler; leave one out",
                made.name,
            )
        return made
    serving = cast("AnyFunction | None", item if handler is None and callable(item) else handler)
    if serving is None:
        name = contract.name
        raise ToolDefinitionError(
            f"tool {name!r} has no function to serve it: handlers={{{name!r}: ...}}", name
        )
    made = tool_from(contract, serving)
    # As the clients of providers write it.
    deferred = _is_mapping(item) and item.get("defer_loading") is True
    return made.replace(defer_loading=True) if deferred else made
