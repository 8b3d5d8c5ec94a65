"""The class that replaces NLWeb's own selector."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from ..exceptions import RegistryError
from ._handler import attribute, query_of
from ._installation import QUERY_PARAMS
from ._messages import send
from ._routing import SEARCH, Routing, RoutingResult

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..selection import SelectionPolicy
    from ..selection._scorers import AnyScorer
    from ..selection._sources import ToolSource
    from ._handler import NLWebHandler
    from ._routing import RoutingOptions

_log = logging.getLogger("toolweave.nlweb")


class ToolSelector:
    """Selector of the tool for a query that replaces NLWeb's ``core.router.ToolSelector``.

    Args:
        handler: NLWeb's handler of the query.
    """

    STEP_NAME = "ToolSelector"
    """Name of the step that is reported to the handler's state."""

    routing: ClassVar[Routing] = Routing()
    """Tools, scorer and options."""

    def __init__(self, handler: NLWebHandler) -> None:
        self.handler = handler
        """NLWeb's handler of the query."""
        start = attribute(handler.state, "start_precheck_step")
        if callable(start):
            start(self.STEP_NAME)

    async def do(self) -> None:
        """Select the tool and update the handler.

        Errors are logged, and search is selected. Only cancellation is raised, after the calls to
        the model were cancelled. The step is always reported as done to the state.
        """
        try:
            if not self._is_skipped():
                await self._route()
        finally:
            await _await_if_needed(_call(self.handler.state, "precheck_step_done", self.STEP_NAME))

    def _is_skipped(self) -> bool:
        if attribute(self.handler, "generate_mode") in self.routing.skip_modes:
            return True
        try:
            return not self.routing.enabled
        except Exception as error:  # noqa: BLE001 - a function of the application
            _log.error("the setting that enables tool selection cannot be read", exc_info=error)
            return True

    async def _route(self) -> None:
        handler, began = self.handler, time.monotonic()
        routed = self._route_without_model()
        if routed is None:
            await self._wait_for_decontextualization()
            routed = await self._route_with_model()
        if routed.tool is not None and routed.tool != SEARCH:
            _call(attribute(handler, "abort_fast_track_event"), "set")
        # Not declared in the protocol: this selector sets it.
        cast("Any", handler).tool_routing_results = routed.results
        await self._announce(routed, time.monotonic() - began)

    def _route_without_model(self) -> RoutingResult | None:
        """Return a result that needs no model; None if a tool has to be selected."""
        try:
            return self.routing.route_all_sites(self.handler)
        except Exception as error:  # noqa: BLE001 - a setting of NLWeb
            _log.error("the setting that enables aggregation cannot be read", exc_info=error)
            return None

    async def _route_with_model(self) -> RoutingResult:
        handler = self.handler
        token = QUERY_PARAMS.set(attribute(handler, "query_params"))
        try:
            return await self.routing.route(handler)
        except Exception as error:  # noqa: BLE001 - search answers the query
            _log.error("no tool could be selected, so search is used", exc_info=error)
            return RoutingResult(query_of(handler), [])
        finally:
            QUERY_PARAMS.reset(token)

    async def _wait_for_decontextualization(self) -> None:
        """Wait for the decontextualized query, up to the timeout."""
        state, seconds = self.handler.state, self.routing.decontextualization_timeout
        try:
            if _call(state, "is_decontextualization_done"):
                return
            waiting = _call(state, "wait_for_decontextualization")
            await asyncio.wait_for(_await_if_needed(waiting), seconds)
        except (asyncio.TimeoutError, TimeoutError):
            _log.warning(
                "the decontextualized query did not come in time", extra={"timeout": seconds}
            )
        except Exception as error:  # noqa: BLE001 - the original query is used
            _log.warning("the decontextualized query did not come", exc_info=error)

    async def _announce(self, routed: RoutingResult, seconds: float) -> None:
        """Send the selected tool to the user; since November 2025 only in debug mode."""
        debug: object = attribute(self.handler, "debug_mode")
        if debug is not None and not debug:
            return
        message: dict[str, Any] = {
            "message_type": "tool_selection",
            "selected_tool": SEARCH,
            "score": 0,
            "parameters": {
                "score": 0,
                "justification": "Default fallback - no tools met threshold",
            },
            "query": routed.query,
            "time_elapsed": f"{seconds:.3f}s",
        }
        if routed.results:
            best = routed.results[0]
            message["selected_tool"] = routed.tool
            message["score"], message["parameters"] = best["score"], best["result"]
        if debug is not None:
            # Otherwise NLWeb stores it as a message of the user, and empty if it does not stream.
            message["sender_type"] = "system"
            if attribute(self.handler, "streaming") is False:
                kept = ("selected_tool", "score", "parameters", "query")
                message["content"] = {name: message[name] for name in kept}
        await send(self.handler, message)


def make_selector(
    registry: ToolSource | None = None,
    scorer: AnyScorer | None = None,
    policy: SelectionPolicy | None = None,
    **options: Unpack[RoutingOptions],
) -> type[ToolSelector]:
    """Create a class that replaces NLWeb's own selector.

    Args:
        registry: The registry; None for the ``tools.xml`` of the running NLWeb.
        scorer: The scorer; None for NLWeb's own model.
        policy: The policy; None for that of NLWeb, which makes one call for each tool. If it has
            ``allowed_handlers``, handlers are imported before a tool is selected, and tools whose
            handler cannot be imported are skipped. Otherwise NLWeb imports handlers itself.
        **options: See `RoutingOptions`.

    Raises:
        TypeError: An argument is of the wrong type, or an option is unknown.
        ValueError: A timeout is not above 0.
    """
    routing = Routing(registry, scorer, policy, **options)
    return type("ToolSelector", (ToolSelector,), {"routing": routing, "__module__": __name__})


def configure(
    registry: ToolSource | None = None,
    scorer: AnyScorer | None = None,
    policy: SelectionPolicy | None = None,
    **options: Unpack[RoutingOptions],
) -> None:
    """Configure `ToolSelector` itself, from the next query on; see `make_selector`.

    Arguments that are not given revert to NLWeb's defaults.

    Args:
        registry: The registry; None for the ``tools.xml`` of the running NLWeb.
        scorer: The scorer; None for NLWeb's own model.
        policy: The policy; None for that of NLWeb, which makes one call for each tool.
        **options: See `RoutingOptions`.

    Raises:
        TypeError: An argument is of the wrong type, or an option is unknown.
        ValueError: A timeout is not above 0.
    """
    ToolSelector.routing = Routing(registry, scorer, policy, **options)


def init() -> None:
    """Load the tools now rather than at the first query, as ``core.router.init()`` does.

    If they cannot be loaded, the reason is logged and the next query tries again.
    """
    try:
        _ = ToolSelector.routing.selector
    except RegistryError as error:
        _log.error("there are no tools: %s", error)


def _call(target: object, name: str, *args: object) -> object:
    """Call a method and return its result; None if there is no such method."""
    method: object = getattr(target, name, None)
    return method(*args) if callable(method) else None


async def _await_if_needed(value: object) -> None:
    if inspect.isawaitable(value):
        await cast("Awaitable[object]", value)
