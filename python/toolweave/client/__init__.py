"""HTTP clients for chats: start, send, follow, stop, approve, answer.

`ChatClient` blocks, `AsyncChatClient` is for asyncio; both have the same methods. `follow` yields
the events of a chat until no run is active. When the connection breaks it reconnects and resumes
after the last event; `snapshot()` returns the resulting state of the chat.

    >>> def ask(url: str, text: str) -> None:
    ...     with ChatClient(url) as client:
    ...         chat = client.start()
    ...         client.send(chat, text)
    ...         with client.follow(chat) as events:
    ...             for event in events:
    ...                 if event["kind"] == "text":
    ...                     print(event["delta"], end="")

The server is an application of `toolweave.web`; see `docs/explanation/web.md`. A refused
request, or a server that cannot be reached, raises a `ChatRequestError`.
"""

from __future__ import annotations

from .. import _extras as extras

extras.require("httpx", "client")

from .._public import claim_exports  # noqa: E402
from ._aio import AsyncChatClient, AsyncChatEvents  # noqa: E402 - after the check of the extra
from ._blocking import ChatClient, ChatEvents  # noqa: E402
from ._exchanges import AnswerOutcome, MessageReceipt  # noqa: E402

__all__ = [
    "AnswerOutcome",
    "AsyncChatClient",
    "AsyncChatEvents",
    "ChatClient",
    "ChatEvents",
    "MessageReceipt",
]

claim_exports(globals())
