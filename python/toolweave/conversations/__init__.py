"""Conversations: what is kept from one request to the next, and where.

    >>> async def main():
    ...     store = MemoryConversations(ttl=3600.0)
    ...     async with store.lock("ann-1"):
    ...         conversation = await store.load("ann-1") or Conversation("ann-1")
    ...         conversation.messages.append(TextMessage("Hi!"))
    ...         await store.save(conversation)
    ...     return await store.load("ann-1")
    >>> asyncio.run(main()).messages[0].text
    'Hi!'

A `Conversation` is plain data, and JSON on demand. A `ConversationStore` is anything that loads,
saves and deletes them by key, and has a lock for each key: whoever reads and writes a conversation
holds it, so that of two requests at once neither loses what the other has said.
`MemoryConversations` keeps them in this process.
"""

from __future__ import annotations

from .conversation import Conversation, Interaction
from .memory import MemoryConversations
from .store import ConversationStore

__all__ = ["Conversation", "ConversationStore", "Interaction", "MemoryConversations"]
