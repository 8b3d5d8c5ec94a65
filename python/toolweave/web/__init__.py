"""Chats over HTTP, with runs that can be started, stopped, streamed and resumed.

`chat_app` creates a Starlette application from a `MessageStore` and a `Responder`. A message of a
client starts a run, which continues even if no client reads it. The events of a run are stored
before they are published. Any process that shares the store can stream them, from any sequence
number and to any number of clients.

    >>> from toolweave.store import MessageStore
    >>> from toolweave.web import AgentResponder, chat_app
    >>> async def model(messages: Sequence[Message]) -> str:
    ...     return "Hello!"
    >>> app = chat_app(MessageStore("sqlite:///chats.db"), AgentResponder(Agent(model)))
    >>> assert "/chats/{chat_id}/events" in [route.path for route in app.routes]

Serve it with ``uvicorn module:app``. The routes are described in `docs/explanation/web.md`.
"""

from __future__ import annotations

from .. import _extras as extras

for _module in ("starlette", "sse_starlette"):
    extras.require(_module, "web")

from .._public import claim_exports  # noqa: E402
from ._app import chat_app  # noqa: E402 - after the check of what is installed
from ._approvals import ask_in_chat  # noqa: E402
from ._errors import HttpError  # noqa: E402
from ._limits import WebLimits  # noqa: E402
from ._pages import Page, Suggestion  # noqa: E402
from ._responders import AgentResponder, Responder, ResponderRun, SceneResponder, Turn  # noqa: E402
from ._security import Authenticate  # noqa: E402
from ._streams import ENCODERS  # noqa: E402
from .encoders import Encoder  # noqa: E402

__all__ = [
    "ENCODERS",
    "AgentResponder",
    "Authenticate",
    "Encoder",
    "HttpError",
    "Page",
    "Responder",
    "ResponderRun",
    "SceneResponder",
    "Suggestion",
    "Turn",
    "WebLimits",
    "ask_in_chat",
    "chat_app",
]

claim_exports(globals())
