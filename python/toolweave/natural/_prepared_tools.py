"""Tools prepared for requests, and a cache of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from .._core import (
    FunctionContract,
    Parser,
    ToolAggregateMessage,
    ToolCallMessage,
    ToolResultMessage,
    render_contracts,
    system_prompt,
)
from ..exceptions import ContractError
from ..tools import Toolset
from ..tools import tool as make_tool
from ..tools._search import found_tool_names, search_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from .._core import Dialect
    from .._messages import Message
    from .._options import HasContract, ParserOptions, Tools
    from ._style import Style

_MAX_PROMPTS = 16
_MAX_PREPARED = 8


class PreparedTools:
    """Tools prepared for requests: their parser and their prompts.

    Args:
        contracts: The tools.
        searchable: Names of the tools that are described only after the model has found them. For
            these, a search tool is added.
        **options: Options of `Parser`.
    """

    def __init__(
        self,
        contracts: tuple[FunctionContract, ...],
        searchable: frozenset[str] = frozenset(),
        **options: Unpack[ParserOptions],
    ) -> None:
        self.source = (contracts, searchable)
        """Contracts and searchable names, for comparison."""
        finder = search_tool(contracts, searchable)
        self._finder = None if finder is None else finder.name
        self.contracts = contracts if finder is None else (*contracts, finder.contract)
        """All callable tools, in order."""
        self._always_visible = tuple(tool for tool in self.contracts if tool.name not in searchable)
        self._searchable = searchable
        self.parser = Parser(self.contracts, **options)
        """Parser with these tools. Its own state does not change; each reply has a fresh copy."""
        self._errors: dict[str, ContractError | None] = {}
        self._prompts: dict[tuple[str | None, Style, tuple[str, ...]], str] = {}

    @cached_property
    def by_name(self) -> Mapping[str, FunctionContract]:
        """Tools by name."""
        return {contract.name: contract for contract in self.contracts}

    def found(self, messages: Sequence[Message], chosen: str | None = None) -> tuple[str, ...]:
        """Return the names of the searchable tools that a conversation has found or called.

        Names are in order of appearance. Only messages with calls and results count, not text.

        Args:
            messages: The conversation.
            chosen: Tool that the request chooses.
        """
        if self._finder is None:
            return ()
        names: list[str] = []
        for message in messages:
            if isinstance(message, (ToolCallMessage, ToolAggregateMessage)):
                names += (call.name for call in message.tool_calls)
            if isinstance(message, (ToolResultMessage, ToolAggregateMessage)):
                for result in message.tool_results:
                    if result.name == self._finder and not result.is_error:
                        names += found_tool_names(result.result)
        if chosen is not None:
            names.append(chosen)
        return tuple(name for name in dict.fromkeys(names) if name in self._searchable)

    def visible(self, found: Iterable[str] = ()) -> tuple[FunctionContract, ...]:
        """Return the contracts of the tools that the model is shown.

        Args:
            found: Names of the searchable tools among them. They come last, so that the prompt
                before them does not change and stays in the caches of providers.
        """
        return (*self._always_visible, *(self.by_name[name] for name in found))

    def presentation_error(self, dialect: Dialect) -> ContractError | None:
        """Return the reason why a dialect cannot present the tools; None if it can."""
        name = dialect.name
        if name not in self._errors:
            self._errors[name] = None
            try:
                render_contracts(self.contracts, dialect=dialect)
            except ContractError as error:
                self._errors[name] = error.with_traceback(None)
        return self._errors[name]

    def prompt(self, existing: str | None, style: Style, found: tuple[str, ...] = ()) -> str:
        """Return the system prompt with the tools; see `system_prompt`."""
        key = (existing, style, found)
        prompt = self._prompts.get(key)
        if prompt is None:
            prompt = system_prompt(
                self.visible(found),
                existing,
                style=style.layout,
                tag=style.tag,
                fenced=style.fenced,
                dialect=style.dialect,
            )
            # An application has few system prompts, and sends each of them many times.
            if len(self._prompts) >= _MAX_PROMPTS:
                self._prompts.clear()
            self._prompts[key] = prompt
        return prompt


class PreparedToolsCache:
    """Cache of prepared tools: tools may change between requests, but rarely do."""

    def __init__(self, **options: Unpack[ParserOptions]) -> None:
        self._options = options
        self._entries: list[PreparedTools] = []

    def get(self, tools: Tools) -> PreparedTools:
        """Return these tools, prepared.

        Raises:
            ContractError: The name of a tool is invalid, or two tools share a name.
            SchemaError: The parameters of a tool are not a valid JSON Schema.
            TypeError: An item of `tools` is not a tool.
        """
        source = _contracts_of(tools)
        # Usually the contracts are the same objects as before, so the comparison is fast.
        for prepared in self._entries:
            if prepared.source == source:
                return prepared
        prepared = PreparedTools(*source, **self._options)
        self._entries = [prepared, *self._entries[: _MAX_PREPARED - 1]]
        return prepared


def reiterable(tools: Tools) -> Tools:
    """Return the tools in a form that can be iterated for every request."""
    # A value that is not iterable is rejected when it is read.
    is_iterator = hasattr(tools, "__next__")
    return tuple(cast("Iterable[HasContract]", tools)) if is_iterator else tools


def _contracts_of(tools: Tools) -> tuple[tuple[FunctionContract, ...], frozenset[str]]:
    """Return the contracts of tools in any form, and the names of the searchable ones.

    Raises:
        ContractError: A definition is invalid.
        TypeError: An item of `tools` is not a tool.
    """
    if isinstance(tools, Toolset):
        now = tools.snapshot()
        return now.contracts, now.searchable
    given = cast("object", tools)
    if isinstance(given, Mapping):
        items = cast("Mapping[str, object]", given).items()
        read = [(_named(name, tool), tool) for name, tool in items]
    elif isinstance(given, Iterable) and not isinstance(given, str):
        read = [(_contract(tool), tool) for tool in cast("Iterable[object]", given)]
    else:
        raise TypeError(f"tools must be a list or a mapping, got {type(given).__name__}")
    searchable = frozenset(contract.name for contract, tool in read if _is_searchable(tool))
    return tuple(contract for contract, _ in read), searchable


def _is_searchable(tool: object) -> bool:
    if isinstance(tool, Mapping):
        return cast("Mapping[str, object]", tool).get("defer_loading") is True
    return getattr(tool, "defer_loading", False) is True


def _contract(tool: object, name: str | None = None) -> FunctionContract:
    if isinstance(tool, FunctionContract):
        return tool
    if isinstance(tool, str):
        return FunctionContract(tool)
    if isinstance(tool, Mapping):
        return FunctionContract.from_openai(cast("Mapping[str, Any]", tool))
    contract = getattr(cast("HasContract", tool), "contract", None)
    if isinstance(contract, FunctionContract):
        return contract
    if callable(tool):
        return make_tool(tool, name=name).contract
    raise TypeError(
        "a tool must be a FunctionContract, an object with a contract, a function, a dict with a "
        f"name, or a name, got {tool!r}"
    )


# A dict with one of these keys is a definition; any other is a schema of the arguments.
_DEFINITION = ("function", "name", "parameters", "input_schema", "inputSchema")


def _named(name: str, tool: object) -> FunctionContract:
    if tool is None:
        return FunctionContract(name)
    if isinstance(tool, Mapping):
        fields = cast("Mapping[str, Any]", tool)
        if not any(key in fields for key in _DEFINITION):
            return FunctionContract(name, parameters=fields)
        tool = fields if "function" in fields else {"name": name, **fields}
    contract = _contract(tool, name)
    if contract.name != name:
        found = contract.name
        raise ContractError(f"the key of tool {found!r} must be its name, got {name!r}", found)
    return contract
