"""The application that schemathesis calls, on a server of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.requests import Request

from toolweave import Agent, Deferred, Message
from toolweave.store import MessageStore
from toolweave.web import AgentResponder, Page, WebLimits, chat_app

LIMITS = WebLimits(batch=0.005, shutdown_grace=0.0, requests=None, runs_per_user=256)
TOKEN = "a-long-random-value"


async def ask_colleague(question: str) -> Deferred:
    """Return a deferred result."""
    return Deferred(note=question)


async def model(messages: Sequence[Message]) -> AsyncIterator[str]:
    """Ask a colleague once, and answer."""
    if len(messages) <= 2:
        yield '<ask_colleague>{"question": "Is there tea?"}</ask_colleague>'
    else:
        yield "There will be."


def user_of(request: Request) -> str | None:
    """Return the user of a session."""
    return "ann" if request.cookies.get("session") == TOKEN else None


@contextmanager
def conforming_server(folder: Path, *, with_users: bool = False) -> Iterator[str]:
    """Serve an agent in a thread, and yield the URL."""
    options: dict[str, Any] = {}
    if with_users:
        scheme = {"type": "apiKey", "in": "cookie", "name": "session"}
        options = {"authenticate": user_of, "security_schemes": {"session": scheme}}
    store = MessageStore(f"sqlite:///{(folder / 'chats.db').as_posix()}", poll=0.02)
    responder = AgentResponder(Agent(model, [ask_colleague]))
    app = chat_app(store, responder, limits=LIMITS, page=Page(title="Tea"), **options)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
