"""Conversations: the data kept between requests, and its stores.

    >>> async def main():
    ...     store = MemoryConversations(ttl=3600.0)
    ...     async with store.lock("ann-1"):
    ...         conversation = await store.load("ann-1") or Conversation("ann-1")
    ...         conversation.messages.append(TextMessage("Hi!"))
    ...         await store.save(conversation)
    ...     return await store.load("ann-1")
    >>> asyncio.run(main()).messages[0].text
    'Hi!'

A `Conversation` is plain data that can be converted to JSON. A `ConversationStore` is any object
that loads, saves and deletes conversations by key, and has a lock for each key. Hold the lock
between loading and saving, so that concurrent requests do not overwrite each other's messages.
`MemoryConversations` stores conversations in this process.
"""

from __future__ import annotations

from .._public import claim_exports
from ._conversation import Conversation, Interaction
from ._memory import MemoryConversations
from ._store import ConversationStore

__all__ = ["Conversation", "ConversationStore", "Interaction", "MemoryConversations"]

claim_exports(globals())
