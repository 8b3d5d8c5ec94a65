"""Selection of the tool for a question from a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..selection import ScorerReply, SelectionPolicy, ToolSelector
from ..selection._words import WordScorer
from .recipes import ITEM_TYPE, load_recipe_tools
from .scenarios import BY_HAND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..registry import ToolRegistry
    from ..selection import ScorerRequest, Selection
    from ..selection._policy import Strategy
    from ..selection._scorers import AnyScorer
    from ..tools import Toolset
    from .scenarios import Scenario

STRATEGY: Strategy = "batch"
"""One call for the scores of all tools, which the page shows."""

TIMEOUT = 300.0
"""Timeout of a selection in seconds, long enough for local models."""


class Router:
    """The tools of a type, with a selector.

    Args:
        registry: The tools.
        item_type: The type.
        scorer: Scorer of the tools; None to score by words in common.
        allowed_handlers: Dotted prefixes from which handlers may be imported.
        strategy: Strategy of the selection.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        item_type: str,
        scorer: AnyScorer | None,
        allowed_handlers: Sequence[str] = (),
        strategy: Strategy = STRATEGY,
    ) -> None:
        self._registry = registry
        self._item_type = item_type
        self._allowed_handlers = tuple(allowed_handlers)
        policy = SelectionPolicy(
            strategy=strategy,
            timeout=TIMEOUT,
            allowed_handlers=self._allowed_handlers,
        )
        chosen: AnyScorer = WordScorer() if scorer is None else scorer
        self._selector = ToolSelector(registry, chosen, policy, cache_ttl=0)

    @classmethod
    def recorded(cls, scenario: Scenario) -> Router:
        """Create a router for the sample registry, with the scores of a scenario."""
        return cls(load_recipe_tools(), ITEM_TYPE, ScenarioScorer(scenario.scores or {}))

    async def select(self, question: str) -> Selection:
        """Select the tool for a question."""
        return await self._selector.select(question, item_type=self._item_type)

    def toolset(self) -> Toolset:
        """Return the tools for an agent."""
        return self._registry.toolset(self._item_type, allowed_handlers=self._allowed_handlers)


class ScenarioScorer:
    """A scorer with the scores of a scenario.

    Args:
        scores: Members of the reply, by tool.
    """

    name = BY_HAND

    def __init__(self, scores: Mapping[str, Any]) -> None:
        self._scores = scores

    async def ask(self, request: ScorerRequest) -> ScorerReply:  # noqa: ARG002
        """Return the scores."""
        return ScorerReply(self._scores)


def type_with_most_tools(registry: ToolRegistry) -> str:
    """Return the type with the most tools; the first of several."""
    types = registry.snapshot.types
    return max(types, key=lambda name: len(registry.tools_for(name)), default="Thing")
