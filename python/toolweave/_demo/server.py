"""The server of the playground: chats, page and responder.

Needs the extra `demo`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import tempfile
import webbrowser
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from .._extras import require_installed
from ..exceptions import ToolweaveError

for _module in ("aiosqlite", "alembic", "httpx", "sse_starlette", "uvicorn"):
    require_installed(_module, "demo")

import uvicorn  # noqa: E402 - after the check that reports a missing extra

from ..store import MessageStore  # noqa: E402
from ..web import Page, Suggestion, ask_in_chat, chat_app  # noqa: E402
from .responder import Playground, Settings  # noqa: E402
from .scenarios import pace, scenarios  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from ..protocols import ChatModel

GRACEFUL_SHUTDOWN = 2
"""Seconds that open streams have to end when the server shuts down."""

LIVE = ("call", "stations", "failure", "timeout", "approval", "question", "deferred")
"""Scenarios whose prompts also work with a live model, since they depend on the tools."""

LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")

MAX_EXAMPLES = 6
"""Maximum number of suggested examples of the user's tools."""


class ServerError(ToolweaveError, RuntimeError):
    """The playground cannot be served."""


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
            responder = Playground(ask_in_chat, settings, model)
            page = Page(
                title="toolweave",
                suggestions=suggestions(settings, model),
                extra_settings={"about": _about(settings, model)},
            )
            # A local server is only reached by local names.
            hosts = LOOPBACK if settings.host in LOOPBACK else None
            app = chat_app(store, responder, page=page, allowed_hosts=hosts)
            config = uvicorn.Config(
                app, log_level="warning", lifespan="on", timeout_graceful_shutdown=GRACEFUL_SHUTDOWN
            )
            server = uvicorn.Server(config)
            task = asyncio.get_running_loop().create_task(server.serve([listener]))
            # Some calls of the scenarios fail on purpose, which the page shows.
            logger = logging.getLogger("toolweave")
            level = logger.level
            logger.setLevel(logging.ERROR)
            try:
                await _wait_until_started(server, task)
                yield RunningServer(_address(settings.host, listener), store, task)
            finally:
                server.should_exit = True
                await asyncio.wait([task])
                logger.setLevel(level)
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


def suggestions(settings: Settings, model: ChatModel | None) -> Sequence[Suggestion]:
    """Return the suggestions of the page: examples of the user's tools, then scenarios."""
    own: list[Suggestion] = []
    if settings.registry is not None:
        item_type = settings.question_type
        tools = settings.registry.tools_for(item_type)
        own = [
            Suggestion(label=f"{tool.name} of {item_type}", text=tool.examples[0])
            for tool in tools
            if tool.examples
        ][:MAX_EXAMPLES]
    if model is None:
        known = [each for each in scenarios() if not (own and each.kind == "selection")]
        return [*own, *(Suggestion(label=each.title, text=each.prompt) for each in known)]
    if settings.registry is not None:
        # Only the user's tools can be called.
        return own
    known = [each for each in scenarios() if each.name in LIVE]
    return [Suggestion(label=each.label, text=each.prompt) for each in known]


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
