"""The stored conversation of a run."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from .._aio.loops import running_loop
from .._aio.tasks import cancel_within, wait_until_done
from ..conversations import Conversation
from ..costs import Cost

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from .._messages import Message
    from ..conversations import ConversationStore

_SAVING = 5.0
"""Maximum time to save a conversation after its run was cancelled, in seconds."""


class StoredConversation:
    """A conversation in a store, which one run at a time continues.

    Args:
        store: The store.
        key: The key of the conversation.
        user: The user of the run; other users cannot continue their conversation.
    """

    def __init__(self, store: ConversationStore, key: str, user: str | None = None) -> None:
        self._store = store
        self._key = key
        self._user = user
        self._conversation = Conversation(key)
        self._is_loaded = False

    def cost_in(self, currency: str) -> Cost:
        """Return the cost of the conversation as loaded; none if it is in another currency."""
        cost = self._conversation.cost
        return cost if cost.currency == currency else Cost(currency=currency)

    @asynccontextmanager
    async def lock(self, cancelled: asyncio.Event) -> AsyncGenerator[bool, None]:
        """Return a lock that is True while it is held, or False if the run was cancelled first.

        One task enters and leaves the lock of the store, as some stores require.
        """
        acquired, release = asyncio.Event(), asyncio.Event()

        async def hold() -> None:
            async with self._store.lock(self._key):
                acquired.set()
                await release.wait()

        loop = running_loop()
        holder = loop.create_task(hold())
        waits = [loop.create_task(event.wait()) for event in (acquired, cancelled)]
        try:
            await asyncio.wait((holder, *waits), return_when=asyncio.FIRST_COMPLETED)
            if holder.done():
                # The store has failed.
                holder.result()
            yield acquired.is_set() and not cancelled.is_set()
        finally:
            for wait in waits:
                wait.cancel()
            release.set()
            if acquired.is_set():
                cancellation = await wait_until_done(holder)
                if cancellation is not None:
                    raise cancellation
            else:
                await cancel_within(holder, _SAVING)

    async def load(self) -> list[Message] | None:
        """Return the stored messages; None if the conversation is missing.

        Raises:
            PermissionError: The conversation belongs to another user.
        """
        found = await self._store.load(self._key)
        self._is_loaded = True
        if found is None:
            self._conversation.user = self._user
            return None
        if found.user is not None and found.user != self._user:
            self._is_loaded = False
            raise PermissionError(f"conversation {self._key!r} belongs to another user")
        self._conversation = found
        return list(found.messages)

    async def save(
        self, messages: Sequence[Message], spent: Cost, summary: str | None = None
    ) -> None:
        """Store the conversation, even if the caller is cancelled meanwhile.

        Args:
            messages: All messages.
            spent: The cost of the run.
            summary: The summary of removed messages that the run has made, if any.

        Raises:
            Exception: Any exception of the store; TimeoutError if it does not return.
        """
        if not self._is_loaded:
            return
        conversation = self._conversation
        conversation.messages = list(messages)
        previous = conversation.cost
        if previous.currency == spent.currency:
            conversation.cost = previous + spent
        elif not previous.amount:
            conversation.cost = replace(previous, currency=spent.currency) + spent
        conversation.summary = summary or conversation.summary
        saving = running_loop().create_task(self._save(conversation))
        cancellation = await wait_until_done(saving)
        if cancellation is not None:
            raise cancellation
        saving.result()

    async def _save(self, conversation: Conversation) -> None:
        await asyncio.wait_for(self._store.save(conversation), _SAVING)
