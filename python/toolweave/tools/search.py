"""Finding tools by keywords, for those that the model is told of only once it looks for them."""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias, cast

from .._core import SearchIndex, render_contracts
from .function import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from .._core import FunctionContract
    from .function import AnyTool

_NAME = "find_tools"
_MAX_FOUND = 5
_MAX_NAMED = 50

# A word of the name says more of a tool than one in its description.
_NAME_WEIGHT = 3

_FOUND = re.compile(r"Found ((?:`[^`\s]+`(?:, )?)+)")
_QUOTED = re.compile(r"`([^`\s]+)`")

Describe: TypeAlias = "Callable[[Sequence[FunctionContract]], str]"
"""Writes what the model reads about tools that were found."""

describe: ContextVar[Describe] = ContextVar("describe", default=render_contracts)
"""How found tools are described. Whoever tells the model of tools sets it for its calls, so that
they are written as in its prompt."""


class ToolIndex:
    """Tools by the words of their names, descriptions and parameters' names.

    What counts as a word is said by `SearchIndex`; one of a name counts three times. A tool whose
    very name is asked for comes first; among equals the order is that of the tools.

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
        """The tools that fit best, the best one first.

        Args:
            query: Keywords.
            limit: How many there are at most.

        Returns:
            Tools that have at least one of the words.
        """
        asked = query.strip()
        named = [contract for contract in self._contracts if contract.name == asked]
        found = [self._contracts[number] for number, _ in self._index.search(query, limit + 1)]
        return [*named, *(contract for contract in found if contract not in named)][:limit]


def search_tool(
    contracts: Sequence[FunctionContract], searchable: Collection[str]
) -> AnyTool | None:
    """The tool that finds tools; None where there is nothing to find.

    It is called ``find_tools``, or ``find_tools_2`` and so on where there is a tool of that name.

    Args:
        contracts: All tools.
        searchable: The names of those that can be found.
    """
    hidden = [contract for contract in contracts if contract.name in searchable]
    if not hidden:
        return None
    taken = {contract.name for contract in contracts}
    name, number = _NAME, 1
    while name in taken:
        number += 1
        name = f"{_NAME}_{number}"
    # Whoever only tells the model of tools never searches.
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
            f"Finds further tools. There {count_text} that you are told of only once you have found "
            "them here. Look before you say that something cannot be done; then call what was found"
        ),
    )


def found_tool_names(result: str) -> list[str]:
    """The names of the tools that were found, from the result of a search."""
    line = _FOUND.match(result)
    return [] if line is None else _QUOTED.findall(line[1])


def list_contracts(contracts: Sequence[FunctionContract]) -> str:
    """Describes tools in a line each, for a model that is given the rest natively."""
    return "\n".join(
        f"- {contract.name}: {' '.join(contract.description.split())}"
        if contract.description
        else f"- {contract.name}"
        for contract in contracts
    )


def _answer(found: Sequence[FunctionContract], hidden: Sequence[FunctionContract]) -> str:
    if found:
        # What is described from now on is read from this line; see `found_tool_names`.
        return f"Found {_named(found)}. Call them as any other tool.\n\n{describe.get()(found)}"
    more = len(hidden) - _MAX_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return (
        "No tool fits these words. Search again with others, or for a name. There are "
        f"{_named(hidden[:_MAX_NAMED])}{rest}."
    )


def _named(contracts: Sequence[FunctionContract]) -> str:
    # No name has a backtick or white space in it.
    return ", ".join(f"`{contract.name}`" for contract in contracts)


def _texts(contract: FunctionContract) -> Iterator[tuple[str, int]]:
    """The texts of a contract that are searched, and how often they count."""
    yield contract.name, _NAME_WEIGHT
    yield contract.description or "", 1
    parameters: object = (contract.parameters or {}).get("properties")
    if isinstance(parameters, dict):
        for name in cast("dict[str, object]", parameters):
            yield name, 1
