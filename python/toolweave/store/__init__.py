"""Storage of chats in a database, complete and in order even if processes crash while writing.

A `MessageStore` keeps messages, an append-only event log, runs with their owners, calls that were
started, and pending inputs, in SQLite or PostgreSQL. Sequence numbers have no gaps in a chat, even
with concurrent writers; loaded histories are valid input for a provider. `StoreConversations` keeps
the conversations of scenes in the same database. See docs/explanation/store.md.

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

from .._extras import require, require_installed

require("sqlalchemy", "store")
require_installed("alembic", "store")

from .._public import claim_exports  # noqa: E402
from ._conversations import StoreConversations  # noqa: E402 - after the check of its dependencies
from ._records import (  # noqa: E402
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
from ._store import MessageStore  # noqa: E402
from ._watching import Watch  # noqa: E402

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

claim_exports(globals())
