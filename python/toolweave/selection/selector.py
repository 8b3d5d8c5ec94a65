"""Which tool a query is for."""

from __future__ import annotations

import json
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from .. import tracing
from .._checks import check_callable, check_count, check_number, check_type
from .._loops import running_loop
from ..executor.cache import Follower, Hit
from .batch import score_batch
from .cache import SelectionCache, again, keep
from .calls import Bounds
from .choose import choose
from .each import score_each
from .limit import PROCESS, CallLimiter
from .offer import Offer
from .policy import SelectionPolicy
from .prefilter import prefilter
from .question import Question, checked
from .result import Score, Selection
from .scorer import Scorer
from .scorers import AnyScorer, as_scorer
from .sources import ToolSource, as_it_is, kinds
from .tasks import TaskCalls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .._core import ToolEntry
    from ..executor.cache import Leader
    from .cache import Kept
    from .calls import Calls, MakesCalls
    from .result import Decision
    from .tally import Decided

_log = logging.getLogger("toolweave.selection")

_STRATEGIES: dict[str, Callable[[Offer, Question, Calls], Awaitable[Decided]]] = {
    "choose": choose,
    "each": score_each,
    "batch": score_batch,
}

_MOST_OFFERS = 256
_WITH_THE_QUERY = ("search_query", "query")


class ToolSelector:
    """Finds the tool for a query, among those that a registry has for a type.

    It may be used for many queries at once, and on several event loops.

    Args:
        registry: The tools.
        scorer: Who scores them: a model, or an async function of a prompt and the JSON Schema of
            the reply. It may be left out where every type has one tool at most.
        policy: What it may cost, and what makes a tool the winner.
        cache_ttl: For how many seconds a selection is kept for the same question; 0 keeps none.
            Those with calls that failed, or a reply that could not be used, are never kept.
        cache_size: How many selections are kept; the one that was not asked for the longest goes
            first.
        limiter: Whose places the calls take; if not given, those of the process: 32.
        clock: The time in seconds, from any origin.

    Raises:
        TypeError: The registry is none, or the scorer.

    Example:
        >>> import asyncio
        >>> from toolweave import RegistrySnapshot, ToolEntry, ToolSelector
        >>> tools = RegistrySnapshot.of([ToolEntry("search"), ToolEntry("compare")])
        >>> async def scorer(prompt, schema):
        ...     return {"tool": "compare", "score": 95, "parameters": {}}
        >>> selector = ToolSelector(tools, scorer)
        >>> selection = asyncio.run(selector.select("Which is hotter, X or Y?"))
        >>> selection.tool.name, selection.score, selection.calls
        ('compare', 95.0, 1)
    """

    def __init__(
        self,
        registry: ToolSource,
        scorer: AnyScorer | None = None,
        policy: SelectionPolicy | None = None,
        *,
        cache_ttl: float = 300.0,
        cache_size: int = 1024,
        limiter: CallLimiter | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not callable(getattr(registry, "tools_for", None)):
            raise TypeError(
                "registry must have a method `tools_for`, as ToolRegistry does; "
                f"this is of the type {type(registry).__name__}"
            )
        given = cast("object", policy)
        if given is not None and not isinstance(given, SelectionPolicy):
            raise TypeError(
                f"policy must be a SelectionPolicy, not of the type {type(given).__name__}"
            )
        check_number("cache_ttl", cache_ttl, least=0, most=math.inf)
        check_count("cache_size", cache_size)
        check_type("limiter", limiter, CallLimiter, "a CallLimiter", none=True)
        check_callable("clock", clock, "a function without arguments")
        self.registry = registry
        """The tools."""
        self.scorer: Scorer | None = None if scorer is None else as_scorer(scorer)
        """Who scores them."""
        self.policy = SelectionPolicy() if policy is None else policy
        """What it may cost, and what makes a tool the winner."""
        self._cache_ttl = cache_ttl
        self._cache = SelectionCache(cache_size, clock=clock)
        self._limiter = PROCESS if limiter is None else limiter
        self._clock = clock
        self._offers: OrderedDict[tuple[str, str, str | None], Offer] = OrderedDict()

    def __repr__(self) -> str:
        scorer = "no scorer" if self.scorer is None else self.scorer.name
        return f"ToolSelector({scorer}, {self.policy.strategy})"

    def clear_cache(self) -> None:
        """Forgets all selections. What is under way is not touched."""
        self._cache.clear()

    async def select(
        self,
        query: str,
        *,
        item_type: str = "Thing",
        site: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> Selection:
        """Finds the tool for a query.

        What goes wrong with a tool or a reply is in the selection. Only what is wrong with the
        question is raised. Where the caller is cancelled, the calls are, and are waited for; but
        others who wait for the same question get their answer.

        Args:
            query: What is asked.
            item_type: The type that it is about, in any spelling.
            site: The site that it is about, if any.
            context: Values of placeholders in the prompts of tools, such as
                ``request.previousQueries``. `query`, `item_type` and `site` are known.

        Raises:
            TypeError: An argument is of the wrong type.
            ValueError: There are several tools for the type, but no scorer.
        """
        running_loop()
        began = self._clock()
        question = checked(query, item_type, site, context)
        # Another thread may read the registry again at any time.
        registry = as_it_is(self.registry)
        fingerprint = registry.fingerprint
        offer = self._offer(registry, fingerprint, question)
        if len(offer.tools) < 2:
            # Nothing to choose from, and nothing worth keeping.
            return self._told(self._shortcut(offer, question, began))
        if self.scorer is None:
            raise ValueError(
                f"the type {question.item_type} has {len(offer.tools)} tools to choose from, "
                "but the selector has no scorer; give it a model"
            )
        if self._cache_ttl <= 0:
            return self._told((await self._select(self.scorer, offer, question, began))[0])
        found = self._cache.begin(self._key(self.scorer, fingerprint, question))
        if isinstance(found, Follower):
            found = await found.outcome()
        if isinstance(found, Hit):
            return self._told(again(found.value, self._clock() - began))
        return self._told(await self._lead(found, self.scorer, offer, question, began))

    async def _lead(
        self,
        leader: Leader[Kept],
        scorer: Scorer,
        offer: Offer,
        question: Question,
        began: float,
    ) -> Selection:
        with leader:
            selection, lasting = await self._select(scorer, offer, question, began)
            leader.finish(keep(selection), ttl=self._cache_ttl if lasting else 0)
        return selection

    async def _select(
        self, scorer: Scorer, offer: Offer, question: Question, began: float
    ) -> tuple[Selection, bool]:
        """A selection, and whether it is worth keeping."""
        policy = self.policy
        part, left_out = offer, list[int]()
        if policy.prefilter is not None and len(offer.tools) > policy.prefilter:
            kept = prefilter(offer, question.query, policy.prefilter)
            left_out = sorted(set(range(len(offer.tools))).difference(kept))
            part = offer.part(kept)
        with tracing.select_tool(policy.strategy, question.item_type) as span:
            bounds = Bounds(policy.timeout, policy.max_concurrency, self._limiter)
            calls = _calls(scorer, bounds)
            try:
                decided = await _STRATEGIES[policy.strategy](part, question, calls)
            finally:
                await calls.close()
            ranking = decided.tally.rank(decided.result.order)
            ranking += tuple(
                Score(offer.tools[at], note="left out by the prefilter") for at in left_out
            )
            selection = self._made(part, question, decided, ranking, calls, began)
            span.set("toolweave.selection.tool", selection.tool and selection.tool.name)
            span.set("toolweave.selection.decision", selection.decision)
            span.set("toolweave.selection.calls", selection.calls)
        return selection, not (calls.failed or decided.tally.unread)

    def _made(
        self,
        offer: Offer,
        question: Question,
        decided: Decided,
        ranking: tuple[Score, ...],
        calls: Calls,
        began: float,
    ) -> Selection:
        result, tally = decided.result, decided.tally
        winner = result.winner
        tool = None if winner is None else offer.tools[winner]
        ties = tuple(offer.tools[at] for at in result.ties)
        found = None if winner is None else tally.found[winner]
        score, parameters = (None, {}) if found is None else (found.score, found.parameters)
        decision: Decision = result.reason
        if tool is not None and decision == "fallback":
            parameters = _with_the_query(tool, parameters, question.query)
        return Selection(
            query=question.query,
            item_type=question.item_type,
            site=question.site,
            tool=tool,
            score=score,
            parameters=parameters,
            ranking=ranking,
            decision=decision,
            reason=self._reason(tool, decision, ties, ranking, unread=tally.unread),
            ties=ties,
            strategy=self.policy.strategy,
            calls=calls.made,
            usage=calls.usage,
            duration=self._clock() - began,
            policy=self.policy,
            registry=self.registry,
        )

    def _shortcut(self, offer: Offer, question: Question, began: float) -> Selection:
        """The selection where there is one tool at most."""
        tool = offer.tools[0] if offer.tools else None
        about = question.item_type
        if question.site is not None:
            about += f" at the site {question.site}"
        parameters = {} if tool is None else _with_the_query(tool, {}, question.query)
        score = None if tool is None else 100.0
        return Selection(
            query=question.query,
            item_type=question.item_type,
            site=question.site,
            tool=tool,
            score=score,
            parameters=parameters,
            ranking=() if tool is None else (Score(tool, score, dict(parameters)),),
            decision="none" if tool is None else "single",
            reason=(
                f"There are no tools for the type {about}."
                if tool is None
                else f"{tool.name} is the only tool for the type {about}."
            ),
            ties=(),
            strategy="single",
            calls=0,
            usage=None,
            duration=self._clock() - began,
            policy=self.policy,
            registry=self.registry,
        )

    def _reason(
        self,
        tool: ToolEntry | None,
        decision: Decision,
        ties: tuple[ToolEntry, ...],
        ranking: tuple[Score, ...],
        *,
        unread: bool,
    ) -> str:
        need = f"the threshold of {self.policy.threshold:g}"
        # The winner's, unless it is the fallback.
        first = ranking[0]
        if first.score is not None and decision == "early_stop":
            stop = self.policy.early_stop
            return f"{first.tool.name} scored {first.score:g}: enough to stop at ({stop:g})."
        if first.score is not None and decision == "threshold":
            won = f"{first.tool.name} has the highest score, {first.score:g}, which reaches {need}"
            also = ", ".join(tied.name for tied in ties)
            return f"{won}; tied with {also}." if also else f"{won}."
        if unread:
            why = f"No score could be had ({first.error})"
        elif first.score is None:
            why = "No tool has a score"
        else:
            why = f"The best score, {first.score:g} of {first.tool.name}, is below {need}"
        if tool is not None:
            return f"{why}, so it is the fallback {tool.name}."
        if self.policy.fallback is None:
            return f"{why}, and there is no fallback."
        return f"{why}, and the fallback {self.policy.fallback} is not among the tools."

    def _offer(self, registry: ToolSource, fingerprint: str, question: Question) -> Offer:
        """The tools of a type and site. What is worked out about them is kept."""
        key = (fingerprint, question.item_type, question.site)
        offer = self._offers.get(key)
        if offer is None:
            tools = registry.tools_for(question.item_type, question.site)
            above = kinds(registry, question.item_type)
            offer = Offer(tools, above, question.site, self.policy)
            self._offers[key] = offer
            while len(self._offers) > _MOST_OFFERS:
                self._offers.popitem(last=False)
        return offer

    def _key(self, scorer: Scorer, fingerprint: str, question: Question) -> str:
        # The policy and the scorer are always the same here, but models may change their names,
        # as one does that stands for several.
        return json.dumps(
            (
                question.query,
                question.item_type,
                question.site,
                sorted(question.context.items()),
                fingerprint,
                scorer.name,
            )
        )

    def _told(self, selection: Selection) -> Selection:
        level = logging.WARNING if selection.errors else logging.INFO
        if _log.isEnabledFor(level):
            chosen = None if selection.tool is None else selection.tool.name
            _log.log(
                level,
                "selected %s of %d tools for the type %s",
                chosen or "none",
                len(selection.ranking),
                selection.item_type,
                extra={
                    "tool": chosen,
                    "score": selection.score,
                    "item_type": selection.item_type,
                    "site": selection.site,
                    "strategy": selection.strategy,
                    "decision": selection.decision,
                    "calls": selection.calls,
                    "errors": len(selection.errors),
                    "duration": selection.duration,
                    "cached": selection.cached,
                },
            )
        return selection


def _calls(scorer: Scorer, bounds: Bounds) -> Calls:
    """What makes the calls of one selection."""
    # Not by its type: to look at a protocol takes as long as some of the calls.
    if callable(getattr(scorer, "make_calls", None)):
        return cast("MakesCalls", scorer).make_calls(bounds)
    return TaskCalls(scorer, bounds)


def _with_the_query(tool: ToolEntry, parameters: dict[str, Any], query: str) -> dict[str, Any]:
    """The parameters of a tool that no reply spoke of; what it is to search for is known."""
    properties: Mapping[str, Any] = tool.parameters.get("properties") or {}
    known = {
        name: query
        for name in _WITH_THE_QUERY
        if name not in parameters and _takes_text(properties.get(name))
    }
    return {**parameters, **known}


def _takes_text(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    return cast("Mapping[str, object]", schema).get("type") == "string"
