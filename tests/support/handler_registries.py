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
    """Tools, and their handlers by name."""

    handlers: Mapping[str, object] = field(default_factory=dict[str, object])
    tools: Sequence[ToolEntry] = (SEARCH,)
    fingerprint: str = "0"

    asked_for: list[tuple[str, str | None]] = field(default_factory=list[Any])

    def tools_for(self, type: str, /, site: str | None = None) -> tuple[ToolEntry, ...]:  # noqa: A002 - as schema.org calls it
        """All of them, whatever the type."""
        self.asked_for.append((type, site))
        return tuple(self.tools)

    def handler_for(self, entry: ToolEntry, /) -> object | None:
        """The one of that name."""
        return self.handlers.get(entry.name)


@dataclass(frozen=True)
class Selected:
    """As much of a selection as running needs."""

    tool: ToolEntry | None
    parameters: dict[str, Any]
    query: str = "soup"
    item_type: str = "Recipe"
    site: str | None = None


class Details:
    """A handler as NLWeb has them."""

    def __init__(self, params: dict[str, Any], handler: object) -> None:
        self.params = params
        self.handler = handler

    async def do(self) -> Any:
        return self.params, self.handler
