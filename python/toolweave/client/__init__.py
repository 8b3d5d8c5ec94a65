"""Clients of chats over HTTP: start, say, follow, stop, approve, answer.

`ChatClient` blocks, `AsyncChatClient` is for asyncio; both have the same methods. `follow` gives
the events of a chat until nothing runs in it, connects again when the line breaks and goes on
exactly where it was; what the events come to is in its `snapshot()`.

    >>> def ask(url: str, text: str) -> None:
    ...     with ChatClient(url) as client:
    ...         chat = client.start()
    ...         client.send(chat, text)
    ...         with client.follow(chat) as events:
    ...             for event in events:
    ...                 if event["kind"] == "text":
    ...                     print(event["delta"], end="")

The server is one of `toolweave.web`; see `docs/web.md`. What a server refuses, and a server that
cannot be reached, is a `ChatRequestError`.
"""

from __future__ import annotations

from .. import extras

extras.require("httpx", "client")

from .aio import AsyncChatClient, AsyncChatEvents  # noqa: E402 - behind what says what to install
from .blocking import ChatClient, ChatEvents  # noqa: E402
from .exchanges import AnswerOutcome, MessageReceipt  # noqa: E402

__all__ = [
    "AnswerOutcome",
    "AsyncChatClient",
    "AsyncChatEvents",
    "ChatClient",
    "ChatEvents",
    "MessageReceipt",
]
