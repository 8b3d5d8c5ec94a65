"""Which tool of a registry a question is for, and who says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..selection import ScorerReply, SelectionPolicy, ToolSelector
from ..selection.words import WordScorer
from .recipes import ITEM_TYPE, load_recipe_tools
from .scenarios import BY_HAND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .. import Selection
    from ..registry import ToolRegistry
    from ..selection import ScorerRequest
    from ..selection.policy import Strategy
    from ..selection.scorers import AnyScorer
    from ..tools import Toolset
    from .scenarios import Scenario

STRATEGY: Strategy = "batch"
"""One call for the scores of all tools: there is something to see."""

TIMEOUT = 300.0
"""How long a model may take to choose, in seconds: small ones on small machines take their time."""


class Router:
    """The tools of a type, and how one of them is chosen.

    Args:
        registry: The tools.
        item_type: The type.
        scorer: Who is asked; None for the words that questions and tools have in common.
        allowed_handlers: The dotted prefixes that handlers may be imported from.
        strategy: How it is asked.
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
        """The registry of the playground, with the scores of a scenario."""
        return cls(load_recipe_tools(), ITEM_TYPE, ScenarioScorer(scenario.scores or {}))

    async def select(self, question: str) -> Selection:
        """Finds the tool for a question."""
        return await self._selector.select(question, item_type=self._item_type)

    def toolset(self) -> Toolset:
        """The tools, for a model to call."""
        return self._registry.toolset(self._item_type, allowed_handlers=self._allowed_handlers)


class ScenarioScorer:
    """A scorer that says what a scenario has it say.

    Args:
        scores: The members of its reply, by tool.
    """

    name = BY_HAND

    def __init__(self, scores: Mapping[str, Any]) -> None:
        self._scores = scores

    async def ask(self, request: ScorerRequest) -> ScorerReply:  # noqa: ARG002 - it knows
        """Gives the scores."""
        return ScorerReply(self._scores)


def widest_type(registry: ToolRegistry) -> str:
    """The type that has the most tools, the first of several."""
    types = registry.snapshot.types
    return max(types, key=lambda name: len(registry.tools_for(name)), default="Thing")
