"""A handler with NLWeb's interface, and its processing of the selected tool.

It follows NLWeb as of August 2025: the names, the order of operations, and the bugs.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

from toolweave._core import ToolEntry

Message = dict[str, Any]

STRUCTURE = {"score": "integer between 0 and 100"}


def tool(name: str, **more: Any) -> ToolEntry:
    """Return a tool whose prompt contains its name, for scorers to recognize."""
    structure = {**STRUCTURE, **more.pop("asks", {})}
    prompt = more.pop("prompt", f"tool={name} query={{request.query}}")
    return ToolEntry(name, prompt=prompt, return_struc=structure, **more)


SEARCH = tool("search", asks={"search_query": "what to search for"})
DETAILS = tool(
    "details",
    type="Recipe",
    handler="nlweb_site.Details",
    asks={"item_name": "the name of the item"},
)
COMPARE = tool("compare", handler="nlweb_site.Details", asks={"item1_name": "the first item"})


class State:
    """The state of a query in `core.state`."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.done: list[str] = []
        self.decontextualized = asyncio.Event()

    def start_precheck_step(self, name: str) -> None:
        self.started.append(name)

    async def precheck_step_done(self, name: str) -> None:
        await asyncio.sleep(0)
        self.done.append(name)

    async def wait_for_decontextualization(self) -> None:
        await self.decontextualized.wait()

    def is_decontextualization_done(self) -> bool:
        return self.decontextualized.is_set()


class Handler:
    """A double of NLWeb's `baseHandler`."""

    def __init__(self, query: str = "spicy noodles", **more: Any) -> None:
        self.query = query
        self.decontextualized_query: str | None = ""
        self.prev_queries: list[str] = []
        self.item_type: str | None = "{http://nlweb.ai/base}Recipe"
        self.site: str | list[str] = "seriouseats"
        self.generate_mode = "none"
        self.query_params: dict[str, Any] = {}
        self.last_answers: list[Any] = []
        self.final_ranked_answers: list[Any] = []
        self.final_retrieved_items = ["soup", "salad"]
        self.retrieved_items = ["soup", "salad", "stew"]
        self.tool_routing_results: list[dict[str, Any]] = []
        self.abort_fast_track_event = asyncio.Event()
        self.state = State()
        self.state.decontextualized.set()
        self.messages: list[Message] = []
        self.searched: list[list[str]] = []
        for name, value in more.items():
            setattr(self, name, value)

    async def send_message(self, message: Message) -> None:
        await asyncio.sleep(0)
        self.messages.append(message)

    async def get_ranked_answers(self) -> None:
        """Run the search."""
        self.searched.append(list(self.final_retrieved_items))

    async def route_query_based_on_tools(self) -> None:
        """Run the selected tool as NLWeb does: clear earlier results, then import the handler."""
        if not self.tool_routing_results:
            await self.get_ranked_answers()
            return
        best = self.tool_routing_results[0]
        chosen, params = best["tool"], best["result"]
        if not chosen.handler_class:
            await self.get_ranked_answers()
            return
        try:
            if chosen.name != "search":
                self.final_retrieved_items = []
                self.retrieved_items = []
            module, name = chosen.handler_class.rsplit(".", 1)
            await getattr(importlib.import_module(module), name)(params, self).do()
        except Exception:  # noqa: BLE001 - as NLWeb does
            await self.get_ranked_answers()


class Details:
    """A handler of NLWeb's."""

    def __init__(self, params: dict[str, Any], handler: Handler) -> None:
        self.params = params
        self.handler = handler

    async def do(self) -> None:
        await self.handler.send_message({"message_type": "item_details", "params": self.params})


class Scores:
    """A scorer with a fixed reply, or an exception to raise, for each tool."""

    def __init__(self, **replies: Any) -> None:
        self.replies = replies
        self.prompts: list[str] = []

    async def __call__(self, prompt: str, schema: dict[str, Any]) -> Any:  # noqa: ARG002
        self.prompts.append(prompt)
        name = prompt.partition("tool=")[2].split()[0]
        reply = self.replies.get(name, 0)
        if isinstance(reply, Exception):
            raise reply
        return {"score": reply} if isinstance(reply, (int, float)) else reply
