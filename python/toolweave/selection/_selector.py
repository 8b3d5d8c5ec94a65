"""Selector of the tool that a query is for."""

from __future__ import annotations

import functools
import json
import logging
import math
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple, cast

from .. import tracing
from .._aio.loops import running_loop
from .._aio.single_flight import Follower, Hit
from .._checks import check_callable, check_count, check_number, check_type
from ._builder import SelectionBuilder, type_note
from ._cache import SelectionCache, from_cached, to_cached
from ._calls import CallLimits, CallScheduler, TaskTransport
from ._candidates import Candidates
from ._identify import ROOT, identify, known_types
from ._limiter import PROCESS_LIMITER, CallLimiter
from ._policy import SelectionPolicy
from ._prompts import Question, build_question
from ._rounds import ask_in_rounds
from ._scorer import Scorer
from ._scorers import AnyScorer, as_scorer
from ._sources import ToolSource, snapshot_of, supertypes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ._calls import SupportsTransport, Transport
    from ._result import Selection

_log = logging.getLogger("toolweave.selection")

_MAX_CANDIDATE_LISTS = 256


class ToolSelector:
    """Selector of the tool for a query, among the tools that a registry has for a type.

    It may be used for many queries at once, and on several event loops.

    Args:
        registry: The registry that has the tools.
        scorer: The scorer: a model, or an async function of a prompt and the JSON Schema of the
            reply. It is optional if every type has at most one tool, whose parameters are then not
            filled.
        policy: The policy.
        cache_ttl: Seconds for which a selection is cached for the same question; 0 disables the
            cache. Selections with failed calls or invalid replies are never cached.
        cache_size: Maximum number of cached selections. The least recently used is evicted first.
        limiter: The limiter of concurrent calls; by default one of 32 calls that all selectors of
            the process share.
        clock: Function that returns the time in seconds, from any origin.

    Raises:
        TypeError: An argument is of the wrong type.

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
                "registry must have a method `tools_for`, as ToolRegistry does, "
                f"got {type(registry).__name__}"
            )
        given = cast("object", policy)
        if given is not None and not isinstance(given, SelectionPolicy):
            raise TypeError(f"policy must be a SelectionPolicy or None, got {type(given).__name__}")
        check_number("cache_ttl", cache_ttl, least=0, most=math.inf)
        check_count("cache_size", cache_size)
        check_type("limiter", limiter, CallLimiter, "a CallLimiter", none=True)
        check_callable("clock", clock, "a function without arguments")
        self.registry = registry
        """The registry that has the tools."""
        self.scorer: Scorer | None = None if scorer is None else as_scorer(scorer)
        """The scorer, if any."""
        self.policy = SelectionPolicy() if policy is None else policy
        """The policy."""
        self._cache_ttl = cache_ttl
        self._cache = SelectionCache(cache_size, clock=clock)
        self._limiter = PROCESS_LIMITER if limiter is None else limiter
        self._clock = clock
        self._candidates: OrderedDict[tuple[str, str, str | None], Candidates] = OrderedDict()

    def __repr__(self) -> str:
        scorer = "no scorer" if self.scorer is None else self.scorer.name
        return f"ToolSelector({scorer}, {self.policy.strategy})"

    def clear_cache(self) -> None:
        """Clear the cache. Selections in progress are not affected."""
        self._cache.clear()

    async def select(
        self,
        query: str,
        *,
        item_type: str | None = None,
        site: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> Selection:
        """Select the tool for a query.

        Errors of tools and replies are reported in the selection; only errors in the arguments are
        raised. If the caller is cancelled, its calls are cancelled and awaited. Other callers that
        wait for the same question still get an answer.

        Args:
            query: The query.
            item_type: The type of the query, in any notation. If None, a model first identifies it
                among the types of the registry, with one more call. If the registry has only the
                root type, or there is no scorer, the root is used.
            site: The site of the query, if any.
            context: Values of placeholders in the prompts of tools, such as
                ``request.previousQueries``. Those of `query`, `item_type` and `site` are set.

        Raises:
            TypeError: An argument is of the wrong type.
            ValueError: There are several tools for the type, but no scorer.
        """
        running_loop()
        began = self._clock()
        question = build_question(query, item_type, site, context)
        # Another thread may reload the registry at any time.
        source = snapshot_of(self.registry)
        types = () if question.item_type else known_types(source)
        now = _SelectionSource(source, source.fingerprint, types)
        scorer = self.scorer
        if not question.item_type and (scorer is None or not now.types):
            question = question.with_type(ROOT)
        if question.item_type and self._needs_no_model(
            candidates := self._candidates_for(now, question)
        ):
            # No call is needed, so the cache is not used.
            builder = SelectionBuilder(
                question, self.registry, self.policy, type_note(source, question)
            )
            return self._log_selection(
                builder.without_model(candidates, None, self._clock() - began)
            )
        if scorer is None:
            count = len(self._candidates_for(now, question).tools)
            raise ValueError(
                f"the type {question.item_type} has {count} tools to choose from, "
                "but the selector has no scorer; give it a model"
            )
        if self._cache_ttl <= 0:
            return self._log_selection((await self._select(scorer, now, question, began))[0])
        found = self._cache.begin(self._key(scorer, now.fingerprint, question))
        if isinstance(found, Follower):
            found = await found.outcome()
        if isinstance(found, Hit):
            return self._log_selection(from_cached(found.value, self._clock() - began))
        with found:
            selection, lasting = await self._select(scorer, now, question, began)
            found.finish(to_cached(selection), ttl=self._cache_ttl if lasting else 0)
        return self._log_selection(selection)

    async def _select(
        self, scorer: Scorer, now: _SelectionSource, question: Question, began: float
    ) -> tuple[Selection, bool]:
        """Return a selection, and True if it may be cached."""
        policy = self.policy
        with tracing.select_tool(policy.strategy, question.item_type or ROOT) as span:
            limits = CallLimits(policy.timeout, policy.max_concurrency, self._limiter)
            calls = CallScheduler(_transport_factory(scorer), limits)
            try:
                selection, lasting = await self._decide(now, question, calls, began)
            finally:
                await calls.close()
            span.set("toolweave.selection.tool", selection.tool and selection.tool.name)
            span.set("toolweave.selection.decision", selection.decision)
            span.set("toolweave.selection.calls", selection.calls)
        return selection, lasting and not calls.any_failed

    async def _decide(
        self, now: _SelectionSource, question: Question, calls: CallScheduler, began: float
    ) -> tuple[Selection, bool]:
        policy, source, found = self.policy, now.source, None
        if not question.item_type:
            found = await identify(source, now.types, question, calls, policy.attempts)
            question = question.with_type(found.item_type)
        candidates = self._candidates_for(now, question)
        builder = SelectionBuilder(
            question, self.registry, policy, type_note(source, question, found)
        )
        if self._needs_no_model(candidates):
            return builder.without_model(candidates, calls, self._clock() - began), True
        result = await ask_in_rounds(candidates, question, calls)
        selection = builder.from_result(candidates, result, calls, self._clock() - began)
        failed = found is not None and found.error is not None
        return selection, not (failed or result.unreadable or _has_errors(selection))

    def _needs_no_model(self, candidates: Candidates) -> bool:
        """Return True if there is no tool, or a single one whose parameters need no model."""
        if len(candidates.tools) != 1:
            return not candidates.tools
        shortcut = self.policy.single_shortcut or self.scorer is None
        return shortcut or not candidates.tools[0].parameters.get("properties")

    def _candidates_for(self, now: _SelectionSource, question: Question) -> Candidates:
        """Return the tools of a type and site, with cached descriptions."""
        key = (now.fingerprint, question.item_type, question.site)
        candidates = self._candidates.get(key)
        if candidates is None:
            tools = now.source.tools_for(question.item_type, question.site)
            above = supertypes_of(now.source, question.item_type)
            candidates = Candidates(tools, above, question.site, self.policy)
            self._candidates[key] = candidates
            while len(self._candidates) > _MAX_CANDIDATE_LISTS:
                self._candidates.popitem(last=False)
        return candidates

    def _key(self, scorer: Scorer, fingerprint: str, question: Question) -> str:
        # The policy and the scorer never change, but the name of a scorer may, for example of a
        # model that stands for several.
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

    def _log_selection(self, selection: Selection) -> Selection:
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


class _SelectionSource(NamedTuple):
    """State of the registry for one question."""

    source: ToolSource
    fingerprint: str
    types: Sequence[str]
    """Types to identify a query's type among, without the root."""


def _transport_factory(scorer: Scorer) -> Callable[[CallScheduler], Transport]:
    """Return the function that creates the transport of a selection."""
    # Not with isinstance: checking a protocol takes as long as some of the calls.
    if callable(getattr(scorer, "make_transport", None)):
        return cast("SupportsTransport", scorer).make_transport
    return functools.partial(TaskTransport, scorer)


def _has_errors(selection: Selection) -> bool:
    """Return True if the selected tool has an error."""
    return any(one.error for one in selection.ranking if one.tool is selection.tool)
