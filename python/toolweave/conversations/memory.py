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
class _Kept:
    conversation: Conversation
    until: float


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
        self._most = max_conversations
        self._clock = clock
        # In the order of their last use.
        self._kept: dict[str, _Kept] = {}
        self._locks: dict[str, _Lock] = {}

    def __repr__(self) -> str:
        return f"MemoryConversations({len(self._kept)} of {self._most})"

    @property
    def kept(self) -> int:
        """How many conversations there are, those included that are too old and not yet gone."""
        return len(self._kept)

    async def load(self, key: str) -> Conversation | None:
        """A copy of the conversation as it was saved last; None if there is none (any more)."""
        kept = self._kept.pop(key, None)
        if kept is None or kept.until <= self._clock():
            return None
        self._kept[key] = kept
        return kept.conversation.copy()

    async def save(self, conversation: Conversation) -> None:
        """Keeps a copy of the conversation in place of the one with its key."""
        now = self._clock()
        self._kept.pop(conversation.key, None)
        self._kept[conversation.key] = _Kept(conversation.copy(), now + self._ttl)
        # One comes and up to two go, so that old ones do not stay until there are too many.
        for key in list(itertools.islice(self._kept, 2)):
            if self._kept[key].until <= now or len(self._kept) > self._most:
                del self._kept[key]

    async def delete(self, key: str) -> bool:
        """Forgets a conversation.

        Returns:
            Whether there was one.
        """
        kept = self._kept.pop(key, None)
        return kept is not None and kept.until > self._clock()

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
