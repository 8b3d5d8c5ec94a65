"""Keyword search for tools that are not described to the model until it has found them."""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias, cast

from .._core import SearchIndex, render_contracts
from ._function import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from .._core import FunctionContract
    from ._function import AnyTool

_NAME = "find_tools"
_MAX_FOUND = 5
_MAX_NAMED = 50

# A match in the name counts more than one in the description.
_NAME_WEIGHT = 3

_FOUND = re.compile(r"Found ((?:`[^`\s]+`(?:, )?)+)")
_QUOTED = re.compile(r"`([^`\s]+)`")

Describe: TypeAlias = "Callable[[Sequence[FunctionContract]], str]"
"""Function that describes tools for the model."""

describe: ContextVar[Describe] = ContextVar("describe", default=render_contracts)
"""Function that describes found tools. A run sets it, so that the tools are described as in the
prompt."""


class ToolIndex:
    """Search index of tools by words in their names, descriptions and parameter names.

    `SearchIndex` defines what a word is. Words in a tool's name count three times. A tool whose
    exact name is the query comes first; tools of equal rank keep their order.

    Args:
        contracts: The tools.

    Example:
        >>> from toolweave import FunctionContract
        >>> index = ToolIndex([FunctionContract("GetWeather"), FunctionContract("send_mail")])
        >>> [contract.name for contract in index.search("mails of today")]
        ['send_mail']
    """

    def __init__(self, contracts: Collection[FunctionContract]) -> None:
        self._contracts = tuple(contracts)
        self._index = SearchIndex(map(_texts, self._contracts))

    def search(self, query: str, limit: int = _MAX_FOUND) -> list[FunctionContract]:
        """Return the best matches, best first.

        Args:
            query: Keywords.
            limit: Maximum number of matches.

        Returns:
            Tools that match at least one of the words.
        """
        asked = query.strip()
        named = [contract for contract in self._contracts if contract.name == asked]
        found = [self._contracts[number] for number, _ in self._index.search(query, limit + 1)]
        return [*named, *(contract for contract in found if contract not in named)][:limit]


def search_tool(
    contracts: Sequence[FunctionContract], searchable: Collection[str]
) -> AnyTool | None:
    """Return the tool that searches for tools, or None if no tool is searchable.

    Its name is ``find_tools``, or ``find_tools_2`` and so on if that name is taken.

    Args:
        contracts: Contracts of all tools.
        searchable: Names of the searchable tools.
    """
    hidden = [contract for contract in contracts if contract.name in searchable]
    if not hidden:
        return None
    taken = {contract.name for contract in contracts}
    name, number = _NAME, 1
    while name in taken:
        number += 1
        name = f"{_NAME}_{number}"
    # Built on first use, since most runs never search.
    index: list[ToolIndex] = []

    async def find(query: str) -> str:
        if not index:
            index.append(ToolIndex(hidden))
        return _answer(index[0].search(query), hidden)

    count_text = "is 1 more tool" if len(hidden) == 1 else f"are {len(hidden)} more tools"
    return Tool.from_schema(
        name,
        {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "Keywords for what the tool should do, or its name",
                }
            },
            "required": ["query"],
            "additionalProperties": False,
        },
        find,
        description=(
            f"Finds further tools. There {count_text} that you are told of only once you have "
            "found them here. Look before you say that something cannot be done; then call what "
            "was found"
        ),
    )


def found_tool_names(result: str) -> list[str]:
    """Return the names of the found tools from the result of a search."""
    line = _FOUND.match(result)
    return [] if line is None else _QUOTED.findall(line[1])


def list_contracts(contracts: Sequence[FunctionContract]) -> str:
    """Describe each tool in one line, for a model that gets the full definitions natively."""
    return "\n".join(
        f"- {contract.name}: {' '.join(contract.description.split())}"
        if contract.description
        else f"- {contract.name}"
        for contract in contracts
    )


def _answer(found: Sequence[FunctionContract], hidden: Sequence[FunctionContract]) -> str:
    if found:
        # `found_tool_names` parses this line to know which tools to describe.
        return f"Found {_named(found)}. Call them as any other tool.\n\n{describe.get()(found)}"
    more = len(hidden) - _MAX_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return (
        "No tool fits these words. Search again with others, or for a name. There are "
        f"{_named(hidden[:_MAX_NAMED])}{rest}."
    )


def _named(contracts: Sequence[FunctionContract]) -> str:
    # Names contain no backticks or white space.
    return ", ".join(f"`{contract.name}`" for contract in contracts)


def _texts(contract: FunctionContract) -> Iterator[tuple[str, int]]:
    """Yield the searchable texts of a contract with their weights."""
    yield contract.name, _NAME_WEIGHT
    yield contract.description or "", 1
    parameters: object = (contract.parameters or {}).get("properties")
    if isinstance(parameters, dict):
        for name in cast("dict[str, object]", parameters):
            yield name, 1
