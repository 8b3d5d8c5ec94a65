"""A stand-in for a model: scores by the words that a query and a tool have in common.

It understands nothing. It makes tables, tests and examples possible where there is no model, and is
what a real one should be better than.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .describe import describe
from .identify import ROOT
from .scorer import ScorerReply

if TYPE_CHECKING:
    from .._core import ToolEntry
    from .scorer import ScorerRequest

_WORD = re.compile(r"\w+")
# Shorter ones are in every text.
_SHORTEST = 3


class WordScorer:
    """Scores a tool by how many of the query's words are in its name, examples and prompt.

    It gives what any reply would have to look like, without parameters but what to search for. The
    same question always has the same answer.
    """

    name = "words"
    """What it is called."""

    def __repr__(self) -> str:
        return "WordScorer()"

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Answers as the strategy that asks wants it."""
        scores = [score(request.query, tool) for tool in request.tools]
        content: dict[str, Any]
        match request.strategy:
            case "type":
                best = max(range(len(scores)), key=scores.__getitem__, default=None)
                fits = best is not None and scores[best] > 0
                content = {
                    "item_type": request.tools[best].type if best is not None and fits else ROOT
                }
            case "each":
                content = _about(request.tools[0], scores[0], request.query)
            case "batch":
                content = {
                    tool.name: _about(tool, score, request.query)
                    for tool, score in zip(request.tools, scores, strict=True)
                }
            case "choose":
                best = max(range(len(scores)), key=scores.__getitem__)
                about = _about(request.tools[best], scores[best], request.query)
                del about["score"]
                content = {
                    "tool": request.tools[best].name,
                    "score": scores[best],
                    "parameters": about,
                }
        return ScorerReply(content)


def score(query: str, tool: ToolEntry) -> int:
    """The share of the words of a query that a tool has as well, in percent."""
    asked = _words(query)
    if not asked:
        return 0
    described = describe(
        tool, item_type=tool.type, site=tool.site, examples=len(tool.examples), prompt_chars=None
    )
    known = _words("\n".join((tool.name.replace("_", " "), described.text, *tool.examples)))
    return round(100 * len(asked & known) / len(asked))


def _about(tool: ToolEntry, score: int, query: str) -> dict[str, Any]:
    properties: dict[str, Any] = tool.parameters.get("properties") or {}
    return {"score": score, **({"search_query": query} if "search_query" in properties else {})}


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) >= _SHORTEST}
