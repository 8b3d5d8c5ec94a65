"""A router that runs the best tool of `tools.xml` for each question.

    registry = open_registry()
    selector = ToolSelector(registry, model, POLICY)
    answer = await route(selector, "Compare Chicken Alfredo vs Spaghetti Carbonara", "Recipe")
    print(answer.selection.explain())
    print(answer.text)

This is all that an application needs; the handlers of the tools are in `methods`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from methods.search import SearchHandler
from toolweave import Selection, SelectionPolicy, ToolRegistry, ToolSelector

TOOLS = Path(__file__).parent / "tools.xml"

# Nothing else may be imported, regardless of the file. A local model may need minutes for the first
# question; the default of 8 seconds suits the models of a provider.
POLICY = SelectionPolicy(allowed_handlers=("methods",), timeout=300)


@dataclass
class Request:
    """A question and its answers, with the interface that handlers know from NLWeb."""

    query: str
    item_type: str
    site: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)

    async def send_message(self, message: dict[str, Any]) -> None:
        """Store a message; a server would send it to the client."""
        self.messages.append(message)


@dataclass(frozen=True)
class Answer:
    """The selected tool and its messages."""

    selection: Selection
    messages: list[dict[str, Any]]

    @property
    def text(self) -> str:
        """The answer as readable text."""
        return "\n".join(message["text"] for message in self.messages)


def open_registry() -> ToolRegistry:
    """Return the tools of `tools.xml`, with the search handler that the file does not name."""
    registry = ToolRegistry.load(TOOLS)
    registry.handler("search")(SearchHandler)
    return registry


async def route(
    selector: ToolSelector, query: str, item_type: str | None = None, site: str | None = None
) -> Answer:
    """Select the tool for a question and run it. Without a type, the model determines it first."""
    selection = await selector.select(query, item_type=item_type, site=site)
    request = Request(query, selection.item_type, site)
    await selection.run(request)
    return Answer(selection, request.messages)
