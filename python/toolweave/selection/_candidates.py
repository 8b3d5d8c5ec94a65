"""The tools that a query may be for, with data that is computed once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from .._core import Ranking, SearchIndex
from ._describe import Description, ReplyFormat, describe, reply_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import ToolEntry
    from ._policy import SelectionPolicy

# Weights of words by their origin: names and examples say what a tool is for, while prompts also
# say what it is not for.
_NAME = 3
_EXAMPLES = 3
_ARGUMENTS = 1
_PROMPT = 1


class Candidates:
    """The tools of a type and site, in document order.

    Args:
        tools: The tools.
        supertypes: The type and its supertypes, in their short forms, the most specific first.
        site: The site, if any.
        policy: The policy, which limits the length of descriptions.
    """

    def __init__(
        self,
        tools: Sequence[ToolEntry],
        supertypes: Sequence[str],
        site: str | None,
        policy: SelectionPolicy,
    ) -> None:
        self.tools = tuple(tools)
        """The tools."""
        self.names = tuple(tool.name for tool in tools)
        """Their names."""
        self.item_type = supertypes[0]
        """The type."""
        self._supertypes = supertypes
        self.site = site
        """The site, if any."""
        self.policy = policy
        """The policy of the selector."""
        # A single tool is selected whatever its score.
        self.threshold = policy.threshold if len(self.tools) > 1 else 0.0
        """Lowest score for which the parameters of a tool are checked."""
        self.prompt_parts: tuple[str, dict[str, Any]] | None = None
        """Start of a prompt about all tools and schema of the reply; the same for every query."""
        nearness = {kind: len(supertypes) - place for place, kind in enumerate(supertypes)}
        # Type first, then site over all sites.
        self._specificity = tuple(
            2 * nearness.get(tool.type, 0) + (tool.site is not None) for tool in tools
        )

    def ranking(self, *, early_stop: float | None = None) -> Ranking:
        """Return a new ranking of these tools, by position."""
        return Ranking(
            self.names,
            self._specificity,
            threshold=self.policy.threshold,
            early_stop=early_stop,
            fallback=self.policy.fallback,
        )

    def position(self, name: str) -> int | None:
        """Return the position of a tool by name; case is ignored if that is unambiguous."""
        if name in self._positions:
            return self._positions[name]
        alike = [at for at, other in enumerate(self.names) if other.casefold() == name.casefold()]
        return alike[0] if len(alike) == 1 else None

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    @cached_property
    def descriptions(self) -> tuple[Description, ...]:
        """Descriptions of the tools for a model."""
        return tuple(
            describe(
                tool,
                item_type=self.item_type,
                site=self.site,
                examples=self.policy.examples,
                prompt_chars=self.policy.prompt_chars,
            )
            for tool in self.tools
        )

    @cached_property
    def reply_formats(self) -> tuple[ReplyFormat, ...]:
        """Formats of the replies about single tools."""
        return tuple(reply_format(tool) for tool in self.tools)

    @cached_property
    def index(self) -> SearchIndex:
        """Search index of the tools."""
        return SearchIndex(
            [
                [
                    (tool.name, _NAME),
                    ("\n".join(tool.examples), _EXAMPLES),
                    ("\n".join(f"{n} {t}" for n, t in tool.arguments.items()), _ARGUMENTS),
                    (described.text, _PROMPT),
                ]
                for tool, described in zip(self.tools, self.descriptions, strict=True)
            ]
        )

    def subset(self, positions: Sequence[int]) -> Candidates:
        """Return some of the tools with their descriptions; for all of them, this object."""
        if len(positions) == len(self.tools) and list(positions) == sorted(set(positions)):
            return self
        part = Candidates(
            [self.tools[at] for at in positions], self._supertypes, self.site, self.policy
        )
        # The cache of the cached property.
        part.__dict__["descriptions"] = tuple(self.descriptions[at] for at in positions)
        return part
