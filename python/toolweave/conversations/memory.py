"""Conversations in the memory of this process."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .._checks import check_callable, check_count, check_number

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from .conversation import Conversation


@dataclass
class _StoredConversation:
    conversation: Conversation
    expires_at: float


@dataclass
class _Lock:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    """How many hold it or wait for it."""


class MemoryConversations:
    """Keeps conversations in this process, for a time, and only so many.

    For one event loop.

    Args:
        ttl: For how many seconds after it was saved a conversation is kept; None for any time.
        max_conversations: How many are kept. Beyond that, those go first that were loaded or saved
            least lately.
        clock: The time in seconds, from any origin; it must not go back.

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
        # In the order of their last use.
        self._entries: dict[str, _StoredConversation] = {}
        self._locks: dict[str, _Lock] = {}

    def __repr__(self) -> str:
        return f"MemoryConversations({len(self._entries)} of {self._max_conversations})"

    @property
    def count(self) -> int:
        """How many conversations there are, those included that are too old and not yet gone."""
        return len(self._entries)

    async def load(self, key: str) -> Conversation | None:
        """A copy of the conversation as it was saved last; None if there is none (any more)."""
        entry = self._entries.pop(key, None)
        if entry is None or entry.expires_at <= self._clock():
            return None
        self._entries[key] = entry
        return entry.conversation.copy()

    async def save(self, conversation: Conversation) -> None:
        """Keeps a copy of the conversation in place of the one with its key."""
        now = self._clock()
        self._entries.pop(conversation.key, None)
        self._entries[conversation.key] = _StoredConversation(conversation.copy(), now + self._ttl)
        # One comes and up to two go, so that old ones do not stay until there are too many.
        for key in list(itertools.islice(self._entries, 2)):
            if self._entries[key].expires_at <= now or len(self._entries) > self._max_conversations:
                del self._entries[key]

    async def delete(self, key: str) -> bool:
        """Forgets a conversation.

        Returns:
            Whether there was one.
        """
        entry = self._entries.pop(key, None)
        return entry is not None and entry.expires_at > self._clock()

    @asynccontextmanager
    async def lock(self, key: str) -> AsyncGenerator[None, None]:
        """Held while a conversation is loaded, gone on with and saved."""
        entry = self._locks.setdefault(key, _Lock())
        entry.users += 1
        try:
            async with entry.lock:
                yield
        finally:
            entry.users -= 1
            if not entry.users:
                del self._locks[key]
