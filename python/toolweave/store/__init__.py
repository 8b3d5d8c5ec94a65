"""Chats in a database, whole and in order, whatever happens to the processes that write them.

A `MessageStore` keeps messages, an append-only log of what happened, runs with their owners, calls
that were begun, and what somebody is waited for, in SQLite or PostgreSQL. Numbers have no gaps in a
chat, whoever writes to it; what is loaded is a history that a provider takes. `StoreConversations`
keeps the conversations of scenes in the same database. See docs/store.md.

Example:
    >>> async def main() -> None:
    ...     async with MessageStore("sqlite://") as store:  # or "sqlite:///chats.db", ...
    ...         chat = await store.create_chat(user_id="ann")
    ...         await store.write(chat.chat_id, messages=[TextMessage("Hi!")])
    ...         history = await store.load(chat.chat_id)
    ...         assert history.messages[0].text == "Hi!"
    >>> asyncio.run(main())
"""

from __future__ import annotations

from ..extras import require

require("sqlalchemy", "store")
require("alembic", "store")

from .conversations import StoreConversations  # noqa: E402 - only with what it needs
from .records import (  # noqa: E402
    Chat,
    History,
    PendingInput,
    PurgeResult,
    RunRecord,
    StoredMessage,
    StoredPendingInput,
    StoreProblem,
    WriteResult,
)
from .store import MessageStore  # noqa: E402
from .watching import Watch  # noqa: E402

__all__ = [
    "Chat",
    "History",
    "MessageStore",
    "PendingInput",
    "PurgeResult",
    "RunRecord",
    "StoreConversations",
    "StoreProblem",
    "StoredMessage",
    "StoredPendingInput",
    "Watch",
    "WriteResult",
]
