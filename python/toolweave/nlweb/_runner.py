"""Runner for tools whose handlers NLWeb's dispatcher cannot import itself."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..handlers import run_handler
from ._handler import attribute
from ._messages import answers, error_message, is_newer, send
from ._routing import RoutedTool

if TYPE_CHECKING:
    from ._handler import NLWebHandler

_log = logging.getLogger("toolweave.nlweb")


class ToolRunner:
    """Runner of the tool that a query was routed to, with the interface of NLWeb's handlers.

    It runs handlers that are registered in Python, functions, and tools that are endpoints, and
    sends their return values to the user. NLWeb itself ignores the return values of handlers.

    Args:
        params: The parameters and the score from the model.
        handler: NLWeb's handler of the query.

    Raises:
        LookupError: The query was not routed by this package.
    """

    def __init__(self, params: Mapping[str, Any], handler: NLWebHandler) -> None:
        routed: Sequence[Mapping[str, object]] = attribute(handler, "tool_routing_results") or ()
        tool = routed[0]["tool"] if routed else None
        if not isinstance(tool, RoutedTool):
            raise LookupError(
                "the query was not routed by toolweave.nlweb, so there is no tool to run"
            )
        self._tool = tool
        self._handler = handler
        properties: Mapping[str, object] = tool.entry.parameters.get("properties") or {}
        self._parameters = {
            name: value
            for name, value in params.items()
            if name in properties or name not in ("score", "justification")
        }

    async def do(self) -> Any:
        """Run the tool, and send its return value to the user.

        If it fails or times out, the user is sent an error and the reason is logged. NLWeb's own
        fallback would be a search over items that it has already discarded.

        Returns:
            The return value of the handler or the reply of the endpoint; None if it failed.
        """
        name = self._tool.name
        try:
            value = await self._run()
            messages = answers(value, newer=is_newer(self._handler))
        except TimeoutError as error:
            _log.error("the tool %s did not finish in time", name, exc_info=error)
            await send(self._handler, error_message(f"The tool {name!r} did not finish in time."))
            return None
        except Exception as error:  # noqa: BLE001 - handlers of the application may raise anything
            # The exception may contain details that users must not see.
            _log.error("the tool %s failed", name, exc_info=error)
            await send(self._handler, error_message(f"The tool {name!r} failed."))
            return None
        for message in messages:
            await send(self._handler, message)
        return value

    async def _run(self) -> Any:
        routing, entry = self._tool.routing, self._tool.entry
        run = await run_handler(
            routing.selector.registry,
            entry,
            self._parameters,
            self._handler,
            allowed_handlers=routing.policy.allowed_handlers,
            allowed_hosts=routing.allowed_hosts,
            timeout=routing.handler_timeout,
            fallback=None,
        )
        return run.value
