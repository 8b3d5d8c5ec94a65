"""The protocol of stores of conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from ._conversation import Conversation


class ConversationStore(Protocol):
    """A store of conversations by key.

    Loaded and saved conversations belong to the caller: changing them does not change the store.
    """

    async def load(self, key: str) -> Conversation | None:
        """Return the conversation as last saved; None if it is missing or expired."""
        ...

    async def save(self, conversation: Conversation) -> None:
        """Store the conversation, replacing the one with its key."""
        ...

    async def delete(self, key: str) -> bool:
        """Delete a conversation.

        Returns:
            True if the conversation existed.
        """
        ...

    def lock(self, key: str) -> AbstractAsyncContextManager[None]:
        """Return a lock to hold while a conversation is loaded, continued and saved.

        Waiting tasks acquire the lock in order of arrival. It also works for a key without a
        conversation, and is not reentrant.
        """
        ...
