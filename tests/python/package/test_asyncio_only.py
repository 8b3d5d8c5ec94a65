"""Without an asyncio event loop, as under trio, every entry point raises and says so."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from toolweave import Agent, SceneManager, ToolCall, ToolEntry, ToolExecutor, ToolRegistry
from toolweave.client import AsyncChatClient
from toolweave.handlers import run_handler
from toolweave.integrations.mcp import connect_stdio
from toolweave.limits import RateLimit, RateLimiter
from toolweave.models import complete
from toolweave.models.http import HttpModel
from toolweave.selection import ToolSelector
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def entered(manager: Any) -> None:
    async with manager:
        pass


async def first(events: Any) -> None:
    async for _ in events:
        return


def scenes() -> SceneManager:
    return SceneManager(ScriptedModel("Hi.")).scene("Maths", "Works with numbers").tool(add).manager


async def waits() -> None:
    limiter = RateLimiter(RateLimit(1, per=60), max_wait=100)
    await limiter.acquire()
    await limiter.acquire()


CALLS: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {
    "agent": lambda: Agent(ScriptedModel("Hi."), [add]).run("Hi!"),
    "agent stream": lambda: first(Agent(ScriptedModel("Hi."), [add]).stream("Hi!")),
    "client": lambda: entered(AsyncChatClient("http://localhost")),
    "complete": lambda: complete(ScriptedModel("Hi."), "Hi!"),
    "executor": lambda: ToolExecutor([add]).execute([ToolCall("c", "add", {"a": 1, "b": 2})]),
    "handler": lambda: run_handler(ToolRegistry(), ToolEntry("f")),
    "http model": lambda: first(HttpModel("http://localhost", "m").stream([])),
    "limiter": waits,
    "mcp": lambda: entered(connect_stdio("true")),
    "scenes": lambda: scenes().run("Hi!"),
    "selector": lambda: ToolSelector(ToolRegistry()).select("Hi!"),
    "store": lambda: entered(MessageStore("sqlite://")),
}


def run_by_hand(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Run the first step of a coroutine, as any event loop does."""
    try:
        coroutine.send(None)
    finally:
        coroutine.close()


@pytest.mark.parametrize("name", CALLS)
def test_the_first_step_without_asyncio_says_so(name: str) -> None:
    with pytest.raises(RuntimeError, match="toolweave runs on asyncio only"):
        run_by_hand(CALLS[name]())


def test_a_library_that_says_who_it_is_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    sniffio = types.SimpleNamespace(
        current_async_library=lambda: "trio", AsyncLibraryNotFoundError=RuntimeError
    )
    monkeypatch.setitem(sys.modules, "sniffio", sniffio)
    with pytest.raises(RuntimeError, match="asyncio only, and this is trio: use"):
        run_by_hand(CALLS["executor"]())
