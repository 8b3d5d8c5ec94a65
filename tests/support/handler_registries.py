"""A registry in memory, a selection from it and a handler of NLWeb's shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolweave._core import ToolEntry

DETAILS = ToolEntry(
    "details",
    type="Recipe",
    return_struc={
        "score": "integer between 0 and 100",
        "item_name": "the name of the item",
        "limit": "integer between 1 and 10",
    },
)
SEARCH = ToolEntry("search", return_struc={"score": "integer between 0 and 100"})
ASKED = {"item_name": "Pad Thai", "limit": 3}


@dataclass(eq=False)
class Registry:
    """A registry of tools, with handlers by name."""

    handlers: Mapping[str, object] = field(default_factory=dict[str, object])
    tools: Sequence[ToolEntry] = (SEARCH,)
    fingerprint: str = "0"

    asked_for: list[tuple[str, str | None]] = field(default_factory=list[Any])

    def tools_for(self, type: str, /, site: str | None = None) -> tuple[ToolEntry, ...]:  # noqa: A002 - as schema.org calls it
        """Return all tools, for any type."""
        self.asked_for.append((type, site))
        return tuple(self.tools)

    def handler_for(self, entry: ToolEntry, /) -> object | None:
        """Return the handler of that name."""
        return self.handlers.get(entry.name)


@dataclass(frozen=True)
class Selected:
    """The part of a selection that running it needs."""

    tool: ToolEntry | None
    parameters: dict[str, Any]
    query: str = "soup"
    item_type: str = "Recipe"
    site: str | None = None


class Details:
    """A handler with NLWeb's interface."""

    def __init__(self, params: dict[str, Any], handler: object) -> None:
        self.params = params
        self.handler = handler

    async def do(self) -> Any:
        return self.params, self.handler
