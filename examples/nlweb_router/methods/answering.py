"""The base class of the handlers: parameters, lookups and answers."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from catalogue import Catalogue, Item, open_catalogue

T = TypeVar("T")
MAX_TEXT = 300
"""Maximum length of a parameter; longer ones are truncated."""


class Request(Protocol):
    """The part of NLWeb's request that the handlers need."""

    @property
    def query(self) -> str:
        """The user's question."""
        ...

    @property
    def item_type(self) -> str:
        """Type of the question, such as ``Recipe``."""
        ...

    async def send_message(self, message: dict[str, Any]) -> object:
        """Send a message to the user."""
        ...


class Method(ABC):
    """A handler; subclasses implement `do`.

    Args:
        params: The parameters that the model filled in.
        handler: The request.
    """

    def __init__(self, params: object, handler: Request) -> None:
        self.params: dict[str, Any] = params if isinstance(params, dict) else {}
        self.handler = handler
        self.catalogue: Catalogue = open_catalogue()

    @abstractmethod
    async def do(self) -> None:
        """Answer the request."""

    @property
    def item_type(self) -> str:
        """Type of the request; ``Thing`` by default."""
        asked: object = getattr(self.handler, "item_type", None)
        return asked if isinstance(asked, str) and asked else "Thing"

    def text(self, name: str) -> str:
        """Return a parameter as text; empty if there is none."""
        return _text(self.params.get(name))

    def texts(self, name: str) -> list[str]:
        """Return a parameter as a list of texts, without empty ones."""
        given = self.params.get(name)
        entries = [_text(entry) for entry in (given if isinstance(given, list) else [given])]
        return [entry for entry in entries if entry]

    async def look(self, function: Callable[..., T], *args: object) -> T:
        """Run a lookup in a thread, so that other requests are served meanwhile."""
        return await asyncio.to_thread(function, *args)

    async def answer(self, message_type: str, text: str, **facts: Any) -> None:
        """Send an answer, as text and as facts."""
        await self.handler.send_message({"message_type": message_type, "text": text, **facts})

    async def nothing(self, text: str, *, near: list[str] | None = None) -> None:
        """Report that there are no results, with similar names."""
        hint = f" The nearest: {', '.join(near)}." if near else ""
        await self.answer("no_results", text + hint, near=near or [])

    async def item(self, name: str) -> Item | None:
        """Return the item with a name; report if there is none."""
        if not name:
            await self.nothing("Which one? No name was given.")
            return None
        item = await self.look(self.catalogue.find, name, self.item_type)
        if item is None:
            near = await self.look(self.catalogue.near, name, self.item_type)
            await self.nothing(f"There is no {kind_of(self.item_type)} called {name!r}.", near=near)
        return item


def kind_of(item_type: str) -> str:
    """Return a noun for the items of a type."""
    return next((kind for kind in ("recipe", "movie") if item_type.lower().endswith(kind)), "item")


def line_of(item: Item) -> str:
    """Return an item as a line of text."""
    facts = item.facts
    if item.kind == "Movie":
        return f"{item.title} ({facts['year']}, {facts['director']}, {facts['runtime']} min)"
    return f"{item.title} ({facts['cuisine']}, {facts['minutes']} min, {facts['calories']} kcal)"


def _text(value: object) -> str:
    if isinstance(value, str):
        return " ".join(value[:MAX_TEXT].split())
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)[:MAX_TEXT]
    return ""
