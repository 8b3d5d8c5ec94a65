"""What NLWeb's dispatcher runs for tools whose handlers it cannot import by itself."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ..handlers import run_handler
from .handler import attribute
from .routing import RoutedTool

if TYPE_CHECKING:
    from .handler import NLWebHandler


class ToolRunner:
    """Runs the tool that a query was routed to, built and done as NLWeb's own handlers are.

    For handlers that are registered in Python, for functions, and for tools that are endpoints.
    What an endpoint answers is sent on: NLWeb expects handlers to send, not to return.

    Args:
        params: What the model said, its score included.
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
        """Runs it.

        Returns:
            What its handler returned, or the endpoint answered.

        Raises:
            Exception: As `run_handler` does, without a fallback: NLWeb has its own.
        """
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
        if self._tool.is_endpoint:
            for message in messages(run.value):
                sent = self._handler.send_message(message)
                if inspect.isawaitable(sent):
                    await cast("Awaitable[object]", sent)
        return run.value


def messages(answer: object) -> list[dict[str, Any]]:
    """The messages of NLWeb's that an endpoint's answer stands for.

    Example:
        >>> messages({"results": [{"name": "soup"}]})
        [{'message_type': 'result_batch', 'results': [{'name': 'soup'}]}]
        >>> messages([{"message_type": "remember", "text": "soup"}, {"message_type": "complete"}])
        [{'message_type': 'remember', 'text': 'soup'}]
    """
    found: list[dict[str, Any]] = []
    for each in cast("list[object]", answer) if isinstance(answer, list) else [answer]:
        if isinstance(each, str) and each.strip():
            found.append({"message_type": "intermediate_message", "content": each})
        elif isinstance(each, dict):
            said = cast("dict[str, Any]", each)
            # That it is complete, this NLWeb says itself.
            if isinstance(said.get("message_type"), str):
                if said["message_type"] != "complete":
                    found.append(said)
            elif isinstance(said.get("results"), list):
                found.append({"message_type": "result_batch", "results": said["results"]})
    return found
