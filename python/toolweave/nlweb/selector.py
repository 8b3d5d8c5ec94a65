"""The class that takes the place of NLWeb's own."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from ..exceptions import RegistryError
from .handler import attribute, query_of
from .installation import QUERY_PARAMS
from .messages import send
from .routing import SEARCH, Routing, RoutingResult

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..selection import SelectionPolicy
    from ..selection.scorers import AnyScorer
    from ..selection.sources import ToolSource
    from .handler import NLWebHandler
    from .routing import RoutingOptions

_log = logging.getLogger("toolweave.nlweb")


class ToolSelector:
    """Chooses the tool for a query, in the place of NLWeb's ``core.router.ToolSelector``.

    Args:
        handler: NLWeb's handler of the query.
    """

    STEP_NAME = "ToolSelector"
    """What the step is called that the handler's state is told is done."""

    routing: ClassVar[Routing] = Routing()
    """Which tools it chooses from, and how."""

    def __init__(self, handler: NLWebHandler) -> None:
        self.handler = handler
        """NLWeb's handler of the query."""
        start = attribute(handler.state, "start_precheck_step")
        if callable(start):
            start(self.STEP_NAME)

    async def do(self) -> None:
        """Chooses the tool and tells the handler.

        Whatever goes wrong is logged, and then it is search. Only where the caller is cancelled,
        that is raised; calls to the model are cancelled then. The state is told that the step is
        done in any case.
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
        except Exception as error:  # noqa: BLE001 - the switch is the application's
            _log.error("whether tools are selected cannot be told", exc_info=error)
            return True

    async def _route(self) -> None:
        handler, began = self.handler, time.monotonic()
        routed = self._route_without_model()
        if routed is None:
            await self._wait_for_decontextualization()
            routed = await self._route_with_model()
        if routed.tool is not None and routed.tool != SEARCH:
            _call(attribute(handler, "abort_fast_track_event"), "set")
        # Not declared above: NLWeb's own handlers have it, and we are the ones to set it.
        cast("Any", handler).tool_routing_results = routed.results
        await self._announce(routed, time.monotonic() - began)

    def _route_without_model(self) -> RoutingResult | None:
        """What is done without asking; None where a tool is to be selected."""
        try:
            return self.routing.route_all_sites(self.handler)
        except Exception as error:  # noqa: BLE001 - the switch is the application's
            _log.error("whether all sites are asked cannot be told", exc_info=error)
            return None

    async def _route_with_model(self) -> RoutingResult:
        handler = self.handler
        token = QUERY_PARAMS.set(attribute(handler, "query_params"))
        try:
            return await self.routing.route(handler)
        except Exception as error:  # noqa: BLE001 - the query is answered all the same
            _log.error("no tool could be selected, so it is search", exc_info=error)
            return RoutingResult(query_of(handler), [])
        finally:
            QUERY_PARAMS.reset(token)

    async def _wait_for_decontextualization(self) -> None:
        """Waits for the query that stands for itself, but not for ever."""
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
        except Exception as error:  # noqa: BLE001 - the query itself is there
            _log.warning("the decontextualized query did not come", exc_info=error)

    async def _announce(self, routed: RoutingResult, seconds: float) -> None:
        """Tells the user which tool it is: since November only who asked for such messages."""
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
            # Else it would be one of the user, and empty where it is kept for one reply of JSON.
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
    """Makes a class of its own that takes the place of NLWeb's.

    Args:
        registry: The tools; None for the ``tools.xml`` of the NLWeb that this runs in.
        scorer: Who scores them; None for NLWeb's own model.
        policy: How one is chosen; None for NLWeb's way: one call a tool, about all tools. Where it
            says which handlers are allowed, those are loaded before a tool is chosen, and a tool
            whose handler cannot be had is not; without, NLWeb imports them as it always did.
        **options: See `RoutingOptions`.

    Raises:
        TypeError: The registry, the scorer or the policy is none, or there is no such option.
        ValueError: A time is not above 0.
    """
    routing = Routing(registry, scorer, policy, **options)
    return type("ToolSelector", (ToolSelector,), {"routing": routing, "__module__": __name__})


def configure(
    registry: ToolSource | None = None,
    scorer: AnyScorer | None = None,
    policy: SelectionPolicy | None = None,
    **options: Unpack[RoutingOptions],
) -> None:
    """Sets what `ToolSelector` itself works with, from the next query on; see `make_selector`.

    What is not given is NLWeb's own, whatever was set before.

    Raises:
        TypeError: The registry, the scorer or the policy is none, or there is no such option.
        ValueError: A time is not above 0.
    """
    ToolSelector.routing = Routing(registry, scorer, policy, **options)


def init() -> None:
    """Loads the tools now rather than at the first query, as ``core.router.init()`` does.

    Where they cannot be loaded, the log says why, and it is tried again at the next query.
    """
    try:
        _ = ToolSelector.routing.selector
    except RegistryError as error:
        _log.error("there are no tools: %s", error)


def _call(target: object, name: str, *args: object) -> object:
    """What a method returns, where there is one."""
    method: object = getattr(target, name, None)
    return method(*args) if callable(method) else None


async def _await_if_needed(value: object) -> None:
    if inspect.isawaitable(value):
        await cast("Awaitable[object]", value)
