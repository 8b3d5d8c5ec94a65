"""Selection of the one tool that a query is for, by the scores of a model.

A registry has the tools of a type. The selector asks a model about them and returns the chosen
tool, its parameters and the reason:

    >>> import asyncio
    >>> from toolweave import RegistrySnapshot, ToolEntry
    >>> tools = RegistrySnapshot.of(
    ...     [
    ...         ToolEntry("search", return_struc={"score": "integer", "search_query": "what for"}),
    ...         ToolEntry("details", return_struc={"score": "integer", "item_name": "of what"}),
    ...     ]
    ... )
    >>> async def scorer(prompt, schema):  # or any model
    ...     return {"tool": "details", "score": 90, "parameters": {"item_name": "Ramen"}}
    >>> selector = ToolSelector(tools, scorer)
    >>> selection = asyncio.run(selector.select("How long does Ramen take?"))
    >>> selection.tool.name, selection.parameters
    ('details', {'item_name': 'Ramen'})
    >>> selection.reason
    'details has the highest score, 90, which reaches the threshold of 70.'

`SelectionPolicy` sets how the model is asked and the limits on cost. See
docs/explanation/selection.md for a comparison of the strategies.
"""

from __future__ import annotations

from .._public import claim_exports
from ._limiter import CallLimiter
from ._policy import SelectionPolicy, Strategy
from ._result import Decision, Score, Selection
from ._scorer import Scorer, ScorerReply, ScorerRequest
from ._scorers import AnyScorer, as_scorer
from ._selector import ToolSelector
from ._sources import ToolSource

__all__ = [
    "AnyScorer",
    "CallLimiter",
    "Decision",
    "Score",
    "Scorer",
    "ScorerReply",
    "ScorerRequest",
    "Selection",
    "SelectionPolicy",
    "Strategy",
    "ToolSelector",
    "ToolSource",
    "as_scorer",
]

claim_exports(globals())
