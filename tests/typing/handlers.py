"""Types of handlers and of NLWeb's selector: read by mypy and pyright, never run."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from typing_extensions import assert_type

from toolweave import Selection, SelectionPolicy, ToolRegistry
from toolweave._core import ToolEntry
from toolweave.handlers import HandlerRun, load_handler, run_handler
from toolweave.nlweb import ToolSelector, configure, make_selector


class State:
    async def precheck_step_done(self, name: str) -> None: ...


class Handler:
    """A handler with NLWeb's interface, which declares no more types than this."""

    def __init__(self) -> None:
        self.query = "noodles"
        self.state = State()
        self.abort_fast_track_event = asyncio.Event()

    async def send_message(self, message: dict[str, Any]) -> None: ...


async def handlers(
    registry: ToolRegistry, entry: ToolEntry, selection: Selection, client: httpx.AsyncClient
) -> None:
    load_handler("shop.handlers.Details", ["shop.handlers"])
    run = await run_handler(
        registry,
        entry,
        {"item_name": "Pad Thai"},
        Handler(),
        allowed_handlers=["shop"],
        allowed_hosts=("example.org",),
        timeout=5,
        client=client,
        fallback=None,
        on_start=lambda started: started.name,
    )
    assert_type(run, HandlerRun)
    assert_type(run.tool, ToolEntry)
    assert_type(run.error, Exception | None)
    assert_type(await run_handler(registry, selection), HandlerRun)
    assert_type(await selection.run(Handler(), allowed_handlers=["shop"], timeout=5), HandlerRun)

    await run_handler(registry, "details")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await selection.run(Handler(), patience=5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await run_handler(registry, entry, timeout="5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def scorer(prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"score": len(prompt) + len(schema)}


async def in_nlweb(registry: ToolRegistry) -> None:
    configure()
    configure(registry, scorer, SelectionPolicy(strategy="each"), handler_timeout=30.0)
    selector = make_selector(registry, enabled=lambda: True)
    assert_type(selector, type[ToolSelector])
    assert_type(await selector(Handler()).do(), None)

    selector(17)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    configure(patience=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
