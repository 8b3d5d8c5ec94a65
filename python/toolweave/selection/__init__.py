"""Selection: the one tool of many that a query is for, by the scores of a model.

A registry says which tools there are for a type; the selector asks a model about them, and says
which it is, with which parameters, and why:

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

`SelectionPolicy` says how the model is asked and what it may cost; docs/selection.md, what the
strategies are good for.
"""

from __future__ import annotations

from .limiter import CallLimiter
from .policy import SelectionPolicy, Strategy
from .result import Decision, Score, Selection
from .scorer import Scorer, ScorerReply, ScorerRequest
from .scorers import AnyScorer, as_scorer
from .selector import ToolSelector
from .sources import ToolSource

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
