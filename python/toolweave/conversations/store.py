"""What is asked of whatever keeps conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from .conversation import Conversation


class ConversationStore(Protocol):
    """Keeps conversations by key.

    What was loaded or saved is the caller's: changing it changes nothing in the store.
    """

    async def load(self, key: str) -> Conversation | None:
        """The conversation as it was saved last; None if there is none (any more)."""
        ...

    async def save(self, conversation: Conversation) -> None:
        """Keeps the conversation in place of the one with its key."""
        ...

    async def delete(self, key: str) -> bool:
        """Forgets a conversation.

        Returns:
            Whether there was one.
        """
        ...

    def lock(self, key: str) -> AbstractAsyncContextManager[None]:
        """Held while a conversation is loaded, gone on with and saved.

        Others that want it wait in the order in which they came. It can be held for a key that has
        no conversation, and is not reentrant.
        """
        ...
