"""A store of conversations in the memory of this process."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from .._checks import check_callable, check_count, check_number

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from ._conversation import Conversation


class MemoryConversations:
    """A store in the memory of this process, with an expiry time and a maximum size.

    A store works on one event loop.

    Args:
        ttl: The time in seconds for which a conversation is kept after it was saved; None for no
            expiry.
        max_conversations: Maximum number of conversations. Beyond that, the least recently loaded
            or saved ones are removed first.
        clock: Function that returns the time in seconds, from any origin; it must be monotonic.

    Raises:
        ValueError: A number is out of range.
    """

    def __init__(
        self,
        *,
        ttl: float | None = 3600.0,
        max_conversations: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_number("ttl", ttl, above=0, most=math.inf, none=True)
        check_count("max_conversations", max_conversations, 1)
        check_callable("clock", clock, "a function without arguments")
        self._ttl = float("inf") if ttl is None else ttl
        self._max_conversations = max_conversations
        self._clock = clock
        # Conversations, each with the time at which it expires, in the order of their last use.
        self._entries: dict[str, tuple[Conversation, float]] = {}
        # Locks of the keys in use: a lock is dropped with its last task.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __repr__(self) -> str:
        return f"MemoryConversations({len(self._entries)} of {self._max_conversations})"

    @property
    def count(self) -> int:
        """Number of conversations, including expired ones that have not been removed yet."""
        return len(self._entries)

    async def load(self, key: str) -> Conversation | None:
        """Return a copy of the conversation as last saved; None if it is missing or expired."""
        conversation, expires_at = self._entries.pop(key, (None, 0.0))
        if conversation is None or expires_at <= self._clock():
            return None
        self._entries[key] = conversation, expires_at
        return conversation.copy()

    async def save(self, conversation: Conversation) -> None:
        """Store a copy of the conversation, replacing the one with its key."""
        now = self._clock()
        self._entries.pop(conversation.key, None)
        self._entries[conversation.key] = conversation.copy(), now + self._ttl
        # Up to two are removed per addition, so that expired ones go before the limit is reached.
        for key in list(itertools.islice(self._entries, 2)):
            _, expires_at = self._entries[key]
            if expires_at <= now or len(self._entries) > self._max_conversations:
                del self._entries[key]

    async def delete(self, key: str) -> bool:
        """Delete a conversation.

        Returns:
            True if the conversation existed.
        """
        conversation, expires_at = self._entries.pop(key, (None, 0.0))
        return conversation is not None and expires_at > self._clock()

    @asynccontextmanager
    async def lock(self, key: str) -> AsyncGenerator[None, None]:
        """Return a lock to hold while a conversation is loaded, continued and saved."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            yield
