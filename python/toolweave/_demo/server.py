"""The server of the playground: chats, page and responder.

Needs the extra `demo`.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
import webbrowser
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from .._extras import require
from ..exceptions import ToolweaveError

for _module in ("sqlalchemy", "alembic", "aiosqlite", "starlette", "sse_starlette", "uvicorn"):
    require(_module, "demo")

import uvicorn  # noqa: E402 - after the check that reports a missing extra

from ..store import MessageStore  # noqa: E402
from ..web import Page, Suggestion, ask_in_chat, chat_app  # noqa: E402
from .model import pace  # noqa: E402
from .responder import Playground  # noqa: E402
from .routing import STRATEGY, type_with_most_tools  # noqa: E402
from .scenarios import scenarios  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from ..protocols import ChatModel
    from ..registry import ToolRegistry
    from ..selection._policy import Strategy

GRACEFUL_SHUTDOWN = 2
"""Seconds that open streams have to end when the server shuts down."""

LIVE = ("call", "stations", "failure", "timeout", "approval", "question", "deferred")
"""Scenarios whose prompts also work with a live model, since they depend on the tools."""

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")

MAX_EXAMPLES = 6
"""Maximum number of suggested examples of the user's tools."""


class ServerError(ToolweaveError, RuntimeError):
    """The playground cannot be served."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the server."""

    host: str = "127.0.0.1"
    """Host to listen on."""
    port: int = 0
    """Port; 0 for a free one."""
    store: str | None = None
    """URL of the database; None for a temporary one."""
    speed: float | None = 1.0
    """Multiple of the recorded pace; None for no pauses."""
    registry: ToolRegistry | None = None
    """Registry with the user's tools."""
    item_type: str | None = None
    """Type of the questions; None for the type with the most tools."""
    allowed_handlers: tuple[str, ...] = ()
    """Dotted prefixes from which handlers may be imported."""
    strategy: Strategy = STRATEGY
    """Strategy for the selection of a tool."""
    browser: bool = False
    """True to open a browser."""


@dataclass(frozen=True)
class RunningServer:
    """A running server."""

    url: str
    """URL of the server, without a trailing slash."""
    store: MessageStore
    """Store of the chats."""
    ended: asyncio.Task[None] = field(repr=False)
    """Task that ends with the server."""


async def serve(settings: Settings, model: ChatModel | None, out: TextIO) -> None:
    """Serve the playground until interrupted.

    Raises:
        ServerError: The address or the database cannot be used.
    """
    async with serving(settings, model) as server:
        out.write(f"toolweave demo: {server.url}/\n{_about(settings, model)}; Ctrl-C ends it\n")
        out.flush()
        if settings.browser and _has_browser():
            # Opening a browser may be slow.
            await asyncio.to_thread(webbrowser.open, f"{server.url}/")
        await server.ended


@asynccontextmanager
async def serving(
    settings: Settings, model: ChatModel | None
) -> AsyncGenerator[RunningServer, None]:
    """Serve the playground during a block.

    Raises:
        ServerError: The address or the database cannot be used.
    """
    with tempfile.TemporaryDirectory(prefix="toolweave-", ignore_cleanup_errors=True) as folder:
        url = settings.store or f"sqlite:///{Path(folder, 'chats.db').as_posix()}"
        try:
            store = MessageStore(url)
        except (ValueError, ToolweaveError) as err:
            raise ServerError(f"cannot open the store: {err}") from None
        listener = _listen(settings.host, settings.port)
        with listener:
            app = chat_app(
                store,
                _responder(settings, model),
                page=_page(settings, model),
                allowed_hosts=_allowed_hosts(settings.host),
            )
            config = uvicorn.Config(
                app, log_level="warning", lifespan="on", timeout_graceful_shutdown=GRACEFUL_SHUTDOWN
            )
            server = uvicorn.Server(config)
            task = asyncio.get_running_loop().create_task(server.serve([listener]))
            try:
                await _wait_until_started(server, task)
                yield RunningServer(_address(settings.host, listener), store, task)
            finally:
                server.should_exit = True
                await asyncio.wait([task])
            # The server raises Ctrl-C again when it has ended.
            task.result()


async def _wait_until_started(server: uvicorn.Server, task: asyncio.Task[None]) -> None:
    while not server.started:
        await asyncio.wait([task], timeout=0.01)
        if task.done():
            task.result()
            raise ServerError("the server did not start; see its log")


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=512)
    except OSError as err:
        raise ServerError(
            f"cannot listen at {host}, port {port}: {err.strerror or err}; "
            "--port 0 takes a free port"
        ) from None
    listener.setblocking(False)
    return listener


def _address(host: str, listener: socket.socket) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, host)  # noqa: S104
    if ":" in shown and not shown.startswith("["):
        shown = f"[{shown}]"
    return f"http://{shown}:{listener.getsockname()[1]}"


def _allowed_hosts(host: str) -> Sequence[str] | None:
    """Return the allowed host names: only local ones if the server is local."""
    return LOOPBACK if host in LOOPBACK else None


def _responder(settings: Settings, model: ChatModel | None) -> Playground:
    registry = settings.registry
    item_type = settings.item_type
    if registry is not None and item_type is None:
        item_type = type_with_most_tools(registry)
    return Playground(
        ask_in_chat,
        model=model,
        registry=registry,
        item_type=item_type or "Thing",
        allowed_handlers=settings.allowed_handlers,
        strategy=settings.strategy,
        speed=settings.speed,
    )


def _page(settings: Settings, model: ChatModel | None) -> Page:
    about = _about(settings, model)
    return Page(
        title="toolweave", suggestions=suggestions(settings, model), extra_settings={"about": about}
    )


def suggestions(settings: Settings, model: ChatModel | None) -> Sequence[Suggestion]:
    """Return the suggestions of the page: examples of the user's tools, then scenarios."""
    own: list[Suggestion] = []
    registry = settings.registry
    if registry is not None:
        item_type = settings.item_type or type_with_most_tools(registry)
        own = [
            Suggestion(label=f"{tool.name} of {item_type}", text=tool.examples[0])
            for tool in registry.tools_for(item_type)
            if tool.examples
        ][:MAX_EXAMPLES]
        if model is not None:
            # Only the user's tools can be called.
            return own
    if model is not None:
        return [
            Suggestion(label=scenario.label, text=scenario.prompt)
            for scenario in scenarios()
            if scenario.name in LIVE
        ]
    return [
        *own,
        *(
            Suggestion(label=scenario.title, text=scenario.prompt)
            for scenario in scenarios()
            if not (own and scenario.kind == "selection")
        ),
    ]


def _about(settings: Settings, model: ChatModel | None) -> str:
    if model is None:
        replies = "recorded replies of real models, for the prompts that the page suggests"
        return f"{replies}, {pace(settings.speed)}"
    return f"with the model {getattr(model, 'name', 'model')}"


def _has_browser() -> bool:
    """Return true if there is a graphical browser: a text browser would occupy the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
