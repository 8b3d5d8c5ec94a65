"""Routing of a handler's query to the tools for NLWeb's dispatcher."""

from __future__ import annotations

import inspect
import logging
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict, cast

from .._checks import check_known, check_mapping, check_number, check_type
from .._core import ReplyReader
from ..handlers import find_handler
from ..handlers._loading import check_strings
from ..handlers._target import registered_handler
from ..selection import CallLimiter, SelectionPolicy, ToolSelector
from ..selection._scorers import as_scorer
from ._handler import attribute, item_type_of, placeholders, query_of, site_of
from ._installation import InstalledModel, hierarchy, is_aggregated, is_enabled, load_registry
from ._tools import NLWebTools, TypeHierarchy, with_search_query

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._core import ToolEntry
    from ..selection import Score
    from ..selection._scorer import Scorer
    from ..selection._scorers import AnyScorer
    from ..selection._sources import ToolSource
    from ._handler import NLWebHandler

NLWEB_POLICY = SelectionPolicy(strategy="each", prefilter=None, max_concurrency=1024, attempts=1)
"""Policy of NLWeb: one call per tool, for all tools, all at once and without retries."""

NLWEB_LIMITER = CallLimiter(4096)
"""Default limiter of all queries in the process. NLWeb itself has no limit, so this one only keeps
a flood of queries from opening an unbounded number of connections."""

ALL_SITES = "all"
"""Site that stands for all sites."""

SEARCH = "search"
"""Tool that NLWeb itself runs: it needs no handler and does not abort the fast track."""

_QUERY_PARAMETERS = frozenset({"search_query", "query"})
"""Parameters whose value is the query."""

SOLE_TOOL_REASON = "the only tool for this type and site"
"""Justification of a tool that was selected without asking a model."""

RUNNER = "toolweave.nlweb.ToolRunner"
"""Path that NLWeb's dispatcher imports for a tool whose handler it cannot import itself."""

_log = logging.getLogger("toolweave.nlweb")


@dataclass(frozen=True)
class RoutedTool:
    """Tool with the attributes of NLWeb's own class."""

    name: str
    path: str
    method: str
    arguments: Mapping[str, str]
    examples: Sequence[str]
    schema_type: str
    prompt: str
    return_structure: Any
    handler_class: str | None
    """Dotted path that NLWeb's dispatcher imports; None for NLWeb's own search."""
    entry: ToolEntry = field(repr=False)
    """The tool."""
    routing: Routing = field(repr=False, compare=False)
    """The routing that selected it."""


@dataclass(frozen=True)
class RoutingResult:
    """Result of routing a query."""

    query: str
    """The query."""
    results: list[dict[str, Any]]
    """Value of ``handler.tool_routing_results``, the best first."""

    @property
    def tool(self) -> str | None:
        """Name of the selected tool."""
        return self.results[0]["tool"].name if self.results else None


class RoutingOptions(TypedDict, total=False):
    """Options besides the registry, the scorer and the policy."""

    enabled: bool | Callable[[], bool] | None
    """True to select tools; None, the default, for the setting of NLWeb."""
    decontextualization_timeout: float
    """Timeout of the wait for the decontextualized query, in seconds; 10 by default."""
    allowed_hosts: Sequence[str]
    """Hosts that tools with ``method="url"`` may request, as ``host`` or ``host:port``; none by
    default."""
    handler_timeout: float | None
    """Timeout of handlers that this package runs, in seconds; none by default."""
    limiter: CallLimiter | None
    """Limiter of calls to the model; None for one of 4,096 calls that all queries share. The wait
    for a slot is part of `SelectionPolicy.timeout`."""
    cache: float | None
    """Seconds for which the tool of a query is cached; 300 by default. None or 0 disables the
    cache."""
    skip_modes: Sequence[str]
    """Modes of queries that need no tool; ``summarize``, ``generate`` and ``deep_research`` by
    default."""
    type_hierarchy: Mapping[str, Sequence[str]] | None
    """Types with their supertypes; None for ``ToolSelector.TYPE_HIERARCHY`` of this NLWeb if that
    was edited, else for schema.org."""


class Routing:
    """Routing of queries to the tools of a registry.

    Args:
        registry: The registry; None for NLWeb's own ``tools.xml``.
        scorer: The scorer; None for NLWeb's own model.
        policy: The policy; None for that of NLWeb.
        **options: See `RoutingOptions`.

    Raises:
        TypeError: An argument is of the wrong type, or an option is unknown.
        ValueError: A timeout is not above 0.
    """

    def __init__(
        self,
        registry: ToolSource | None = None,
        scorer: AnyScorer | None = None,
        policy: SelectionPolicy | None = None,
        **options: Unpack[RoutingOptions],
    ) -> None:
        check_type("policy", policy, SelectionPolicy, "a SelectionPolicy", none=True)
        _check_options(options)
        self.policy = NLWEB_POLICY if policy is None else policy
        self.decontextualization_timeout = options.get("decontextualization_timeout", 10.0)
        self.allowed_hosts = check_strings(options.get("allowed_hosts", ()), "allowed_hosts")
        self.handler_timeout = options.get("handler_timeout")
        self.skip_modes = check_strings(
            options.get("skip_modes", ("summarize", "generate", "deep_research")), "skip_modes"
        )
        self._limiter = options.get("limiter") or NLWEB_LIMITER
        self._cache = options.get("cache", 300.0) or 0.0
        declared = options.get("type_hierarchy")
        own = None if declared is None else TypeHierarchy(declared)
        self._hierarchy = hierarchy if own is None else lambda: own
        enabled = options.get("enabled")
        self._enabled: bool | Callable[[], bool] = is_enabled if enabled is None else enabled
        self._scorer: Scorer = InstalledModel() if scorer is None else as_scorer(scorer)
        self._selector: ToolSelector | None = None
        if registry is not None:
            self._selector = self._select_from(registry)

    @property
    def selector(self) -> ToolSelector:
        """The selector. NLWeb's own tools are loaded at first use.

        Raises:
            RegistryError: The tools cannot be loaded. The next access tries again.
        """
        if self._selector is None:
            self._selector = self._select_from(load_registry())
        return self._selector

    @property
    def enabled(self) -> bool:
        """True if tools are selected."""
        return self._enabled() if callable(self._enabled) else self._enabled

    def route_all_sites(self, handler: NLWebHandler) -> RoutingResult | None:
        """Route a query to all sites to search if NLWeb does not aggregate sites; else None."""
        if attribute(handler, "site") != ALL_SITES or is_aggregated():
            return None
        tools = self.selector.registry.tools_for("Item", ALL_SITES)
        search = next((entry for entry in tools if entry.name == SEARCH), None)
        query = query_of(handler)
        results = [] if search is None else [self._sole_result(search, query, {})]
        return RoutingResult(query, results)

    async def route(self, handler: NLWebHandler) -> RoutingResult:
        """Select the tool for the query of a handler.

        Raises:
            RegistryError: The tools cannot be loaded.
            ValueError: There are several tools but no scorer.
        """
        selector = self.selector
        query, item_type, site = query_of(handler), item_type_of(handler), site_of(handler)
        tools = selector.registry.tools_for(item_type, site)
        sole = tools[0] if len(tools) == 1 else None
        winner, parameters = sole, dict[str, Any]()
        top: Sequence[Score] = ()
        ranking: Sequence[Score] = ()
        # A single tool is selected without asking the model, as in NLWeb.
        if sole is None or self._needs_model(sole):
            asked_for = {name for entry in tools for name in entry.placeholders}
            selection = await selector.select(
                query, item_type=item_type, site=site, context=placeholders(handler, asked_for)
            )
            for failed in selection.errors:
                _log.warning("the tool %s: %s", failed.tool.name, failed.error)
            winner, parameters = selection.tool, selection.parameters
            top, ranking = selection.top, selection.ranking
        if winner is None:
            return RoutingResult(query, [])
        try:
            if winner == sole:
                return RoutingResult(query, [self._sole_result(winner, query, parameters)])
            results = [
                self._result(score, parameters if score.tool is winner else score.parameters)
                for score in top
                if score.tool is winner or self._can_run(score.tool)
            ]
        except ImportError as error:
            # Now, since NLWeb's dispatcher would discard what search needs before it fails.
            _log.warning(
                "the selected tool cannot run, so search is used: %s",
                winner.name,
                exc_info=error,
                extra={"tool": winner.name},
            )
            results = [
                self._result(score, score.parameters)
                for score in ranking
                if score.tool.name == self.policy.fallback
                and score.tool is not winner
                and self._can_run(score.tool)
            ]
        return RoutingResult(query, results)

    def _needs_model(self, sole: ToolEntry) -> bool:
        """Return True if the only tool has parameters that only a model can fill."""
        if registered_handler(self.selector.registry, sole) is None:
            return False
        return not _QUERY_PARAMETERS.issuperset(sole.parameters.get("properties", ()))

    def _select_from(self, registry: ToolSource) -> ToolSelector:
        if not callable(getattr(registry, "tools_for", None)):
            # Raises the error.
            return ToolSelector(registry)
        return ToolSelector(
            NLWebTools(registry, self._hierarchy),
            self._scorer,
            self.policy,
            cache_ttl=self._cache,
            limiter=self._limiter,
        )

    def _can_run(self, entry: ToolEntry) -> bool:
        try:
            self._handler_class(entry)
        except ImportError:
            return False
        return True

    def _result(self, score: Score, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return an entry of ``tool_routing_results``."""
        entry = score.tool
        found = 0.0 if score.score is None else score.score
        number = int(found) if found == int(found) else found
        extra = {} if entry.handler is None else _extra_fields(score)
        result: dict[str, Any] = {"score": number, **extra, **parameters}
        if score.score is None:
            result["justification"] = score.error or score.note or "Default fallback"
        return {"tool": self._routed(entry), "result": result, "score": number}

    def _sole_result(
        self, entry: ToolEntry, query: str, parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the entry for the only tool, which needs no score."""
        known: dict[str, Any] = {
            "score": 100,
            "justification": SOLE_TOOL_REASON,
            "search_query": query,
        }
        routed = self._routed(with_search_query(entry), entry)
        return {"tool": routed, "result": {**known, **parameters}, "score": 100}

    def _routed(self, entry: ToolEntry, given: ToolEntry | None = None) -> RoutedTool:
        """Convert a tool to NLWeb's attributes.

        Args:
            entry: The tool to run.
            given: The tool in the registry, if it differs.
        """
        return RoutedTool(
            name=entry.name,
            path=entry.path,
            method=entry.method,
            arguments=entry.arguments,
            examples=entry.examples,
            schema_type=entry.type,
            prompt=entry.prompt or "",
            return_structure=(given or entry).return_struc,
            handler_class=self._handler_class(given or entry),
            entry=entry,
            routing=self,
        )

    def _handler_class(self, entry: ToolEntry) -> str | None:
        """Return the path that NLWeb's dispatcher imports for a tool.

        Raises:
            ImportError: The tool cannot run. A `HandlerError` unless a package is missing.
        """
        registry, allowed = self.selector.registry, self.policy.allowed_handlers
        if registered_handler(registry, entry) is None:
            if entry.name in (SEARCH, self.policy.fallback) and not entry.handler:
                # NLWeb runs these without a handler.
                return None
            if entry.handler and not allowed:
                # Nothing is imported here; NLWeb decides what it imports.
                return entry.handler
        found = find_handler(
            registry, entry, allowed_handlers=allowed, allowed_hosts=self.allowed_hosts
        )
        module = (entry.handler or "").rpartition(".")[0]
        if (
            inspect.isclass(found)
            and module in sys.modules
            and registered_handler(registry, entry) is None
        ):
            return entry.handler
        return RUNNER


def _check_options(options: RoutingOptions) -> None:
    check_known(options, RoutingOptions.__optional_keys__)
    given = dict(options)
    for name in ("decontextualization_timeout", "handler_timeout"):
        check_number(name, given.get(name), above=0, none=True)
    check_number("cache", given.get("cache"), least=0, most=math.inf, none=True)
    check_type("limiter", given.get("limiter"), CallLimiter, "a CallLimiter", none=True)
    declared = given.get("type_hierarchy")
    check_mapping("type_hierarchy", declared, none=True)
    for name, above in cast("Mapping[str, Any]", declared or {}).items():
        check_strings(above, f"type_hierarchy[{name!r}]")


_reader = ReplyReader()


def _extra_fields(score: Score) -> dict[str, Any]:
    """Return members of a reply that the structure of its tool does not name.

    NLWeb's own handlers read such members, for example ``item_url``.
    """
    if score.reply is None:
        return {}
    known: Mapping[str, Any] = score.tool.schema["properties"]
    fields = _reader.read(score.reply).parameters
    return {name: value for name, value in fields.items() if name not in known}
