"""Benchmark made of the examples of a registry, each a query whose tool is known.

The queried example is removed from the prompts and from the search index; otherwise the model
would only have to recognise it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from .._core import ToolEntry, UsageUpdate, type_name
from ._calls import add_usage
from ._candidates import Candidates
from ._policy import SelectionPolicy
from ._rounds import best_by_words
from ._selector import ToolSelector
from ._sources import ToolSource, supertypes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._result import Selection
    from ._scorer import Scorer, ScorerReply, ScorerRequest

Method: TypeAlias = Literal["each", "batch", "choose", "prefilter"]
"""Method to measure: a strategy, or ``choose`` among the three tools that a word search finds."""

METHODS: tuple[Method, ...] = ("each", "batch", "choose", "prefilter")
"""All methods."""

RECALL_AT = 3
"""Number of tools that ``prefilter`` keeps."""


class LabelledQuery(NamedTuple):
    """Query whose tool is known."""

    query: str
    item_type: str
    site: str | None
    tools: frozenset[str]
    """Names of the tools that have it as an example: one, unless several tools share the
    example."""


@dataclass(frozen=True)
class Measurement:
    """Results of one method on all queries."""

    method: Method
    """The method."""
    queries: int
    """Number of queries."""
    right: int
    """Number of queries for which the right tool was selected."""
    calls: int
    """Number of calls made."""
    prompt_chars: int
    """Total length of the prompts, in characters."""
    usage: UsageUpdate | None
    """Tokens used; None if the model does not report them."""
    seconds: float
    """Total duration, in seconds."""
    ties: int
    """Number of selections in which another tool had the same score as the winner."""
    fallbacks: int
    """Number of selections in which no tool reached the threshold."""
    errors: int
    """Number of selections with an error for at least one tool."""

    @property
    def accuracy(self) -> float:
        """Share of the queries for which the right tool was selected, from 0 to 1."""
        return self.right / self.queries if self.queries else 0.0


@dataclass(frozen=True)
class Recall:
    """Results of the word search alone."""

    queries: int
    """Number of queries with more than `RECALL_AT` tools to choose from."""
    found: int
    """Number of these for which the tool was among the best `RECALL_AT`."""

    @property
    def share(self) -> float:
        """Share of the queries whose tool was found, from 0 to 1."""
        return self.found / self.queries if self.queries else 0.0


def labelled_queries(source: ToolSource, entries: Iterable[ToolEntry]) -> list[LabelledQuery]:
    """Return the examples of a registry as queries, for types with at least two tools.

    Args:
        source: The registry.
        entries: Its tools. Examples of tools that are disabled or replaced are skipped.
    """
    tools: dict[tuple[str, str, str | None], set[str]] = {}
    for entry in entries:
        applicable = source.tools_for(entry.type, entry.site)
        if len(applicable) < 2 or entry.name not in {tool.name for tool in applicable}:
            continue
        for example in entry.examples if entry.enabled else ():
            if example.strip():
                key = (example, type_name(entry.type), entry.site)
                tools.setdefault(key, set()).add(entry.name)
    return [LabelledQuery(*key, frozenset(names)) for key, names in tools.items()]


def sample(queries: Sequence[LabelledQuery], limit: int) -> list[LabelledQuery]:
    """Return at most `limit` of the queries, spread evenly over the registry."""
    if len(queries) <= limit:
        return list(queries)
    return [queries[at * len(queries) // limit] for at in range(limit)]


def policy_of(method: Method, policy: SelectionPolicy) -> SelectionPolicy:
    """Return a policy with the strategy of a method."""
    if method == "prefilter":
        return replace(policy, strategy="choose", prefilter=RECALL_AT)
    return replace(policy, strategy=method)


async def measure(
    method: Method,
    source: ToolSource,
    queries: Iterable[LabelledQuery],
    scorer: Scorer,
    policy: SelectionPolicy,
    *,
    on_result: Callable[[Method, LabelledQuery, Selection], None] | None = None,
) -> Measurement:
    """Run all queries with one method, one after another.

    Args:
        method: The method.
        source: The registry.
        queries: The queries.
        scorer: The scorer to measure.
        policy: The policy, whose strategy is replaced by the method.
        on_result: Function to call after each query.
    """
    policy = policy_of(method, policy)
    counting = _CountingScorer(scorer)
    made: list[tuple[LabelledQuery, Selection]] = []
    for query in queries:
        selector = ToolSelector(WithoutExample(source, query.query), counting, policy, cache_ttl=0)
        selection = await selector.select(query.query, item_type=query.item_type, site=query.site)
        made.append((query, selection))
        if on_result is not None:
            on_result(method, query, selection)
    selections = [selection for _, selection in made]
    return Measurement(
        method=method,
        queries=len(made),
        right=sum(is_right(query, selection) for query, selection in made),
        calls=sum(selection.calls for selection in selections),
        prompt_chars=counting.chars,
        usage=functools.reduce(add_usage, [each.usage for each in selections], None),
        seconds=sum(selection.duration for selection in selections),
        ties=sum(bool(selection.ties) for selection in selections),
        fallbacks=sum(selection.fallback for selection in selections),
        errors=sum(bool(selection.errors) for selection in selections),
    )


def recall(source: ToolSource, queries: Iterable[LabelledQuery], policy: SelectionPolicy) -> Recall:
    """Measure how often the words of a query find its tool among the best `RECALL_AT`."""
    asked = found = 0
    for query in queries:
        tools = WithoutExample(source, query.query).tools_for(query.item_type, query.site)
        if len(tools) <= RECALL_AT:
            continue
        candidates = Candidates(tools, supertypes_of(source, query.item_type), query.site, policy)
        best = best_by_words(candidates, query.query, RECALL_AT)
        asked += 1
        found += any(candidates.names[at] in query.tools for at in best)
    return Recall(asked, found)


def is_right(query: LabelledQuery, selection: Selection) -> bool:
    """Return True if the selected tool is one of the query's."""
    return selection.tool is not None and selection.tool.name in query.tools


class WithoutExample:
    """Registry without a given example.

    Args:
        source: The registry.
        example: The example to leave out.
    """

    def __init__(self, source: ToolSource, example: str) -> None:
        self._source = source
        self._example = example
        self.fingerprint = f"{source.fingerprint} without {example}"
        """Hash that changes with the tools."""

    def tools_for(self, item_type: str, site: str | None = None, /) -> tuple[ToolEntry, ...]:
        """Return the tools of a type, in document order."""
        tools = self._source.tools_for(item_type, site)
        return tuple(self._rest(tool) if self._is_in(tool) else tool for tool in tools)

    def supertypes(self, item_type: str) -> Sequence[str]:
        """Return a type and its supertypes."""
        return supertypes_of(self._source, item_type)

    def _is_in(self, tool: ToolEntry) -> bool:
        return self._example in tool.examples or self._example in (tool.prompt or "")

    def _rest(self, tool: ToolEntry) -> ToolEntry:
        return tool.__replace__(
            examples=[example for example in tool.examples if example != self._example],
            # Some prompts repeat their examples.
            prompt=None if tool.prompt is None else tool.prompt.replace(self._example, "..."),
        )


class _CountingScorer:
    """Scorer that counts the characters of its prompts."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self.name = scorer.name
        self.chars = 0

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        self.chars += len(request.prompt)
        return await self._scorer.ask(request)
