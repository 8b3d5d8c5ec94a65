"""What the handlers have in common: reading parameters, looking things up, answering."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from catalogue import Catalogue, Item, open_catalogue

T = TypeVar("T")
MAX_TEXT = 300
"""The characters of a parameter that are read; models may write anything."""


class Request(Protocol):
    """What a handler needs of a request: much less than NLWeb's own class has."""

    @property
    def query(self) -> str:
        """What the user asked."""
        ...

    @property
    def item_type(self) -> str:
        """What it is about, such as ``Recipe``."""
        ...

    async def send_message(self, message: dict[str, Any]) -> object:
        """Sends a message to the user."""
        ...


class Method(ABC):
    """A handler; `do` is what it does.

    Args:
        params: What the model filled in.
        handler: The request.
    """

    def __init__(self, params: object, handler: Request) -> None:
        self.params: dict[str, Any] = params if isinstance(params, dict) else {}
        self.handler = handler
        self.catalogue: Catalogue = open_catalogue()

    @abstractmethod
    async def do(self) -> None:
        """Answers the request."""

    @property
    def item_type(self) -> str:
        """What the request is about; ``Thing`` if it does not say."""
        asked: object = getattr(self.handler, "item_type", None)
        return asked if isinstance(asked, str) and asked else "Thing"

    def text(self, name: str) -> str:
        """A parameter as text; empty if there is none."""
        return _text(self.params.get(name))

    def texts(self, name: str) -> list[str]:
        """A parameter as a list of texts, the empty ones left out."""
        given = self.params.get(name)
        entries = [_text(entry) for entry in (given if isinstance(given, list) else [given])]
        return [entry for entry in entries if entry]

    async def look(self, function: Callable[..., T], *args: object) -> T:
        """Looks something up, in a thread: others are served meanwhile."""
        return await asyncio.to_thread(function, *args)

    async def answer(self, message_type: str, text: str, **facts: Any) -> None:
        """Sends an answer, as text and as facts."""
        await self.handler.send_message({"message_type": message_type, "text": text, **facts})

    async def nothing(self, text: str, *, near: list[str] | None = None) -> None:
        """Says that there is nothing to answer with, and what there is instead."""
        hint = f" The nearest: {', '.join(near)}." if near else ""
        await self.answer("no_results", text + hint, near=near or [])

    async def item(self, name: str) -> Item | None:
        """The item of a name; says so if there is none."""
        if not name:
            await self.nothing("Which one? No name was given.")
            return None
        item = await self.look(self.catalogue.find, name, self.item_type)
        if item is None:
            near = await self.look(self.catalogue.near, name, self.item_type)
            await self.nothing(f"There is no {kind_of(self.item_type)} called {name!r}.", near=near)
        return item


def kind_of(item_type: str) -> str:
    """A word for the items of a type."""
    return next((kind for kind in ("recipe", "movie") if item_type.lower().endswith(kind)), "item")


def line_of(item: Item) -> str:
    """An item in a line."""
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
