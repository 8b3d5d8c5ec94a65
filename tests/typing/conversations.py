"""Conversations as a type checker sees them: read by mypy and pyright, never run."""

from __future__ import annotations

from typing_extensions import assert_type

from toolweave import Conversation, ConversationStore, Cost, MemoryConversations, TextMessage
from toolweave.conversations import Interaction


async def keeping() -> None:
    store: ConversationStore = MemoryConversations(ttl=None, max_conversations=5)
    async with store.lock("k"):
        loaded = await store.load("k")
        assert_type(loaded, Conversation | None)
        conversation = loaded or Conversation("k", [TextMessage("Hi!")])
        assert_type(conversation.cost, Cost)
        assert_type(conversation.pending, list[Interaction])
        conversation.metadata["seen"] = True
        await store.save(conversation)
    assert_type(await store.delete("k"), bool)
    assert_type(Conversation.from_dict(conversation.to_dict()), Conversation)

    await store.save({"key": "k"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    MemoryConversations(60)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
