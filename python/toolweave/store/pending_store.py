"""The part of a store that knows what is awaited."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from .._core import Validator
from ..exceptions import ChatNotFoundError, StoreError
from ..executor.deferred import Resolution
from ..executor.results import to_json_value
from ..kinds import Outcome
from . import pending
from .base import StoreBase
from .records import PendingInput
from .writing import append

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sqlalchemy.ext.asyncio import AsyncConnection

    from .. import ToolCall
    from .records import PendingKind, StoredPendingInput
    from .writing import LockedChat


class PendingStore(StoreBase):
    """Results, approvals and answers that come later, from whatever process."""

    async def add_pending(
        self,
        chat_id: str,
        key: str | None = None,
        *,
        kind: PendingKind,
        call: ToolCall,
        run_id: str | None = None,
        question: str | None = None,
        schema: Mapping[str, Any] | None = None,
        note: str | None = None,
    ) -> str:
        """Says that somebody is waited for.

        Args:
            chat_id: The chat.
            key: What to resolve, unique in the chat; None for one that nobody can guess.
            kind: ``approval``, ``question`` or ``deferred``. The first two end with their run.
            call: The call, or the one whose tool asks.
            run_id: The run that waits.
            question: What the tool wants to know.
            schema: The JSON Schema of the answer.
            note: Anything about it.

        Returns:
            The key.

        Raises:
            ChatNotFoundError: There is no such chat.
            SchemaError: The schema is wrong.
            StoreError: The key is taken.
            ValueError: The kind is none of these.
        """
        if schema is not None:
            Validator(schema)
        key = uuid.uuid4().hex if key is None else key
        draft = self._draft(
            chat_id, pending=[PendingInput(key, kind, call, run_id, question, schema, note)]
        )

        async def work(connection: AsyncConnection, locked: LockedChat, now: int) -> None:
            if await pending.key_exists(connection, self._database, chat_id, key):
                raise StoreError(f"the key {key!r} is taken in the chat {chat_id!r}")
            await append(connection, self._database, locked, draft, now)

        await self._transact(chat_id, work)
        return key

    async def resolve(
        self, key: str, value: object, *, chat_id: str, is_error: bool = False
    ) -> Outcome:
        """Says what is awaited. Any process may; only the first result counts.

        Args:
            key: What is awaited.
            value: JSON values, or what `to_json_value` can make into them.
            chat_id: The chat.
            is_error: Whether the result says that the call failed.

        Raises:
            MessageError: The result is too long.
            ResultError: The result cannot be written as JSON.
            StoreError: The schema of the answer is damaged; it is awaited still, and only that
                nobody will answer (`is_error`) can be taken.
            ValidationError: The answer to a question does not fit its schema; it is awaited still.
        """
        resolution = Resolution(to_json_value(value), is_error)

        async def work(connection: AsyncConnection, _: LockedChat, now: int) -> Outcome:
            return await pending.resolve(
                connection, self._database, chat_id, key, resolution, self._limit, now
            )

        try:
            return await self._transact(chat_id, work)
        except ChatNotFoundError:
            return Outcome.NOT_FOUND

    async def resolution(self, key: str, *, chat_id: str) -> Resolution | None:
        """What has come for a key, if it has; an error where that cannot be read any more."""
        return await self._database.read(
            lambda connection: pending.resolution(connection, self._database, chat_id, key)
        )

    async def pending(self, chat_id: str) -> list[StoredPendingInput]:
        """What is awaited in a chat, the oldest first."""
        return await self._database.read(
            lambda connection: pending.list_pending(connection, self._database, chat_id)
        )
