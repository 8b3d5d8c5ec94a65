"""From a handler's query to what NLWeb's dispatcher goes on with."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from ..handlers import find_handler
from ..handlers.loading import several
from ..handlers.target import registered
from ..selection import SelectionPolicy, ToolSelector
from ..selection.scorers import as_scorer
from .handler import item_type_of, placeholders, query_of, site_of
from .installation import InstalledModel, is_enabled, load_registry

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._core import ToolEntry
    from ..selection import Score, Selection
    from ..selection.scorer import Scorer
    from ..selection.scorers import AnyScorer
    from ..selection.sources import ToolSource
    from .handler import NLWebHandler

EACH = SelectionPolicy(strategy="each", prefilter=None, single_shortcut=True)
"""As NLWeb selects: one call a tool, about all tools."""

SEARCH = "search"
"""The tool that NLWeb itself is: it needs no handler, and aborts nothing."""

RUNNER = "toolweave.nlweb.ToolRunner"
"""What NLWeb's dispatcher imports for a tool whose handler it could not import itself."""

_log = logging.getLogger("toolweave.nlweb")


@dataclass(frozen=True)
class RoutedTool:
    """A tool with the attributes that NLWeb's own class for them has."""

    name: str
    path: str
    method: str
    arguments: Mapping[str, str]
    examples: Sequence[str]
    schema_type: str
    prompt: str
    return_structure: Any
    handler_class: str | None
    """The dotted path that NLWeb's dispatcher imports; None for what search does."""
    entry: ToolEntry = field(repr=False)
    """The tool."""
    routing: Routing = field(repr=False, compare=False)
    """Where it is from."""

    @property
    def is_endpoint(self) -> bool:
        """Whether it runs elsewhere."""
        known = registered(self.routing.selector.registry, self.entry)
        return known is None and not self.entry.handler and self.entry.method.lower() == "url"


@dataclass(frozen=True)
class Routed:
    """What became of a query."""

    query: str
    """The query that the tool was chosen for."""
    results: list[dict[str, Any]]
    """What is put into ``handler.tool_routing_results``, the best first."""

    @property
    def tool(self) -> str | None:
        """The name of the tool."""
        return self.results[0]["tool"].name if self.results else None


class RoutingOptions(TypedDict, total=False):
    """What can be set besides the tools, the scorer and the policy."""

    enabled: bool | Callable[[], bool] | None
    """Whether tools are selected at all; None for NLWeb's own switch."""
    decontextualization_timeout: float
    """How long the decontextualized query is waited for, in seconds; 10."""
    allowed_hosts: Sequence[str]
    """Hosts that tools with ``method="url"`` may ask, as ``host`` or ``host:port``; none."""
    handler_timeout: float | None
    """How long handlers may take that this package runs, in seconds; as long as they like."""


class Routing:
    """The tools, who scores them, and how handlers are found.

    Args:
        registry: The tools; None for NLWeb's own ``tools.xml``.
        scorer: Who scores them; None for NLWeb's own model.
        policy: How one is chosen; None for NLWeb's way.
        **options: See `RoutingOptions`.

    Raises:
        TypeError: The registry, the scorer or the policy is none, or there is no such option.
        ValueError: A time is not above 0.
    """

    def __init__(
        self,
        registry: ToolSource | None = None,
        scorer: AnyScorer | None = None,
        policy: SelectionPolicy | None = None,
        **options: Unpack[RoutingOptions],
    ) -> None:
        _check_policy(policy)
        _check_options(options)
        self.policy = EACH if policy is None else policy
        self.decontextualization_timeout = options.get("decontextualization_timeout", 10.0)
        self.allowed_hosts = several(options.get("allowed_hosts", ()), "allowed_hosts")
        self.handler_timeout = options.get("handler_timeout")
        enabled = options.get("enabled")
        self._enabled: bool | Callable[[], bool] = is_enabled if enabled is None else enabled
        self._scorer: Scorer = InstalledModel() if scorer is None else as_scorer(scorer)
        self._selector: ToolSelector | None = None
        if registry is not None:
            self._selector = ToolSelector(registry, self._scorer, self.policy)

    @property
    def selector(self) -> ToolSelector:
        """What selects. Where NLWeb's own tools are taken, they are loaded at first need.

        Raises:
            RegistryError: They cannot be; it is tried again the next time.
        """
        if self._selector is None:
            self._selector = ToolSelector(load_registry(), self._scorer, self.policy)
        return self._selector

    @property
    def enabled(self) -> bool:
        """Whether tools are selected at all."""
        return self._enabled() if callable(self._enabled) else self._enabled

    async def route(self, handler: NLWebHandler) -> Routed:
        """Finds the tool for what a handler is asked.

        Raises:
            RegistryError: There are no tools to be had.
            ValueError: There is nobody to score them.
        """
        selector = self.selector
        query, item_type, site = query_of(handler), item_type_of(handler), site_of(handler)
        asked_for = {
            name
            for entry in selector.registry.tools_for(item_type, site)
            for name in entry.placeholders
        }
        selection = await selector.select(
            query, item_type=item_type, site=site, context=placeholders(handler, asked_for)
        )
        return Routed(query, self._results(selection))

    def _results(self, selection: Selection) -> list[dict[str, Any]]:
        try:
            return [
                self._result(score, selection if score.tool is selection.tool else None)
                for score in selection.top
                if score.tool is selection.tool or self._can_run(score.tool)
            ]
        except ImportError as error:
            # Now, since NLWeb's dispatcher would throw away what search needs before it notices.
            _log.warning(
                "the tool that was chosen cannot run, so it is search",
                exc_info=error,
                extra={"tool": selection.tool and selection.tool.name},
            )
        return [
            self._result(score, None)
            for score in selection.ranking
            if score.tool.name == self.policy.fallback
            and score.tool is not selection.tool
            and self._can_run(score.tool)
        ]

    def _can_run(self, entry: ToolEntry) -> bool:
        try:
            self._handler_class(entry)
        except ImportError:
            return False
        return True

    def _result(self, score: Score, selection: Selection | None) -> dict[str, Any]:
        """An entry of ``tool_routing_results``."""
        entry = score.tool
        parameters = score.parameters if selection is None else selection.parameters
        found = 0.0 if score.score is None else score.score
        number = int(found) if found == int(found) else found
        result: dict[str, Any] = {"score": number, **parameters}
        if score.score is None:
            result["justification"] = score.error or score.note or "Default fallback"
        tool = RoutedTool(
            name=entry.name,
            path=entry.path,
            method=entry.method,
            arguments=entry.arguments,
            examples=entry.examples,
            schema_type=entry.type,
            prompt=entry.prompt or "",
            return_structure=entry.return_struc,
            handler_class=self._handler_class(entry),
            entry=entry,
            routing=self,
        )
        return {"tool": tool, "result": result, "score": number}

    def _handler_class(self, entry: ToolEntry) -> str | None:
        """What NLWeb's dispatcher is to import for a tool.

        Raises:
            ImportError: The tool cannot run; a `HandlerError` unless a package is missing.
        """
        registry, allowed = self.selector.registry, self.policy.allowed_handlers
        if registered(registry, entry) is None:
            if entry.name in (SEARCH, self.policy.fallback) and not entry.handler:
                # What NLWeb does without any handler.
                return None
            if entry.handler and not allowed:
                # Nothing is imported here; what NLWeb imports is NLWeb's to decide.
                return entry.handler
        found = find_handler(
            registry, entry, allowed_handlers=allowed, allowed_hosts=self.allowed_hosts
        )
        module = (entry.handler or "").rpartition(".")[0]
        if inspect.isclass(found) and module in sys.modules and registered(registry, entry) is None:
            return entry.handler
        return RUNNER


def _check_policy(policy: object) -> None:
    if policy is not None and not isinstance(policy, SelectionPolicy):
        raise TypeError(f"policy must be a SelectionPolicy, not {type(policy).__name__}")


def _check_options(options: RoutingOptions) -> None:
    known = RoutingOptions.__optional_keys__
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"there is no option {name!r}; there are {', '.join(sorted(known))}")
        if not name.endswith("_timeout") or value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{name} must be seconds, not {value!r}")
        if not value > 0:
            raise ValueError(f"{name} must be seconds above 0, not {value!r}")
