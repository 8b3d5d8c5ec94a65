"""The protocol of stores of conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ._memory import MemoryConversations

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


_METHODS = ("load", "save", "delete", "lock")


def store_of(given: ConversationStore | None) -> ConversationStore:
    """Return the store of conversations; in memory if none is given.

    Raises:
        TypeError: The store lacks a method.
    """
    if given is None:
        return MemoryConversations()
    lacking = [name for name in _METHODS if not callable(getattr(given, name, None))]
    if lacking:
        raise TypeError(
            f"conversations must have the methods {', '.join(_METHODS)}, "
            f"got {type(given).__name__} without {lacking[0]}"
        )
    return given
