"""Types of conversations: read by mypy and pyright, never run."""

from __future__ import annotations

from typing_extensions import assert_type

from toolweave import (
    ChatModel,
    Conversation,
    ConversationStore,
    Cost,
    MemoryConversations,
    ModelError,
    Summarizer,
    TextMessage,
)
from toolweave.conversations import Interaction
from toolweave.costs import Usage
from toolweave.summary import ShortenedConversation


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


async def shortening(model: ChatModel) -> None:
    summarizer = Summarizer(model, max_messages=None, max_tokens=4_000, keep=2)
    assert_type(summarizer.is_due(["Hi!"]), bool)
    shortened = await summarizer.shorten([TextMessage("Hi!")])
    assert_type(shortened, ShortenedConversation | None)
    if shortened is not None:
        assert_type(shortened.usage, Usage | None)
        assert_type(shortened.error, ModelError | None)

    Summarizer("gpt")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
