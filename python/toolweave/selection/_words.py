"""Scorer without a model, by the words that a query and a tool have in common.

It serves tests and examples that have no model, and as the baseline that a model should beat.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ._describe import describe
from ._identify import ROOT
from ._scorer import ScorerReply

if TYPE_CHECKING:
    from .._core import ToolEntry
    from ._scorer import ScorerRequest

_WORD = re.compile(r"\w+")
# Shorter words are in every text.
_MIN_LENGTH = 3


class WordScorer:
    """Scorer by the share of the query's words in the name, examples and prompt of a tool.

    Its replies are valid, with no parameters except ``search_query``. The same request always gets
    the same reply.
    """

    name = "words"
    """Name of the scorer."""

    def __repr__(self) -> str:
        return "WordScorer()"

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Answer a request of any strategy."""
        query = request.query
        scored = [(score(query, tool), tool) for tool in request.tools]
        most, best = max(scored, key=lambda one: one[0], default=(0, None))
        content: dict[str, Any] = {}
        if request.strategy == "type":
            content["item_type"] = ROOT if best is None or most == 0 else best.type
        elif request.strategy == "batch":
            for percent, tool in scored:
                content[tool.name] = {"score": percent, **_parameters(tool, query)}
        elif best is not None:
            parameters = _parameters(best, query)
            content = {"score": most, **parameters}
            if request.strategy == "choose":
                content = {"tool": best.name, "score": most, "parameters": parameters}
        return ScorerReply(content)


def score(query: str, tool: ToolEntry) -> int:
    """Return the share of the words of a query that a tool has, in percent."""
    asked = _words(query)
    if not asked:
        return 0
    described = describe(
        tool, item_type=tool.type, site=tool.site, examples=len(tool.examples), prompt_chars=None
    )
    known = _words("\n".join((tool.name.replace("_", " "), described.text, *tool.examples)))
    return round(100 * len(asked & known) / len(asked))


def _parameters(tool: ToolEntry, query: str) -> dict[str, Any]:
    properties: dict[str, Any] = tool.parameters.get("properties") or {}
    return {"search_query": query} if "search_query" in properties else {}


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) >= _MIN_LENGTH}
