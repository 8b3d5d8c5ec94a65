"""A router: each question goes to the tool of `tools.xml` that serves it best.

    registry = open_registry()
    selector = ToolSelector(registry, model, POLICY)
    answer = await route(selector, "Compare Chicken Alfredo vs Spaghetti Carbonara", "Recipe")
    print(answer.selection.explain())
    print(answer.text)

This is all that an application needs; what the tools do is in `methods`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from methods.search import SearchHandler
from toolweave import Selection, SelectionPolicy, ToolRegistry, ToolSelector

TOOLS = Path(__file__).parent / "tools.xml"

# Nothing else may be imported, whatever the file says. A small model on a small machine takes its
# time over the first question; the default of 8 seconds is for the models of a provider.
POLICY = SelectionPolicy(allowed_handlers=("methods",), timeout=300)


@dataclass
class Request:
    """A question, and what was answered: what handlers get, as they do from NLWeb."""

    query: str
    item_type: str
    site: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)

    async def send_message(self, message: dict[str, Any]) -> None:
        """Takes a message; a server would send it on."""
        self.messages.append(message)


@dataclass(frozen=True)
class Answer:
    """The tool that was chosen, and what it answered."""

    selection: Selection
    messages: list[dict[str, Any]]

    @property
    def text(self) -> str:
        """The answer, for people."""
        return "\n".join(message["text"] for message in self.messages)


def open_registry() -> ToolRegistry:
    """The tools of `tools.xml`, and the search that it leaves to the program."""
    registry = ToolRegistry.load(TOOLS)
    registry.handler("search")(SearchHandler)
    return registry


async def route(
    selector: ToolSelector, query: str, item_type: str | None = None, site: str | None = None
) -> Answer:
    """Finds the tool for a question, and runs it. Without a type, the model says it first."""
    selection = await selector.select(query, item_type=item_type, site=site)
    request = Request(query, selection.item_type, site)
    await selection.run(request)
    return Answer(selection, request.messages)
