"""Handlers that the registry beside this file names."""

from __future__ import annotations

from typing import Any


class Details:
    """A handler with NLWeb's interface: it sends its messages to the handler of the query."""

    def __init__(self, params: dict[str, Any], handler: Any) -> None:
        self.params, self.handler = params, handler

    async def do(self) -> None:
        await self.handler.send_message(
            {"message_type": "item_details", "item": self.params["item_name"]}
        )


async def substitute(ingredient: str) -> str:
    return {"eggs": "apple sauce"}[ingredient]


def order(params: dict[str, Any], handler: Any) -> dict[str, Any]:
    return {"site": handler.site, "type": handler.item_type, "ordered": params["dish"]}
