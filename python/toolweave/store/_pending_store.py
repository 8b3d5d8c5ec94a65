"""Operations of a store on pending inputs."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from .._core import Validator
from ..exceptions import ChatNotFoundError, StoreError
from ..executor._deferred import Resolution
from ..executor._results import to_json_value
from ..kinds import Outcome
from . import _pending as pending
from ._base import StoreBase
from ._records import PendingInput
from ._writing import append

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sqlalchemy.ext.asyncio import AsyncConnection

    from .._core import ToolCall
    from ._records import PendingKind, StoredPendingInput
    from ._writing import LockedChat


class PendingStore(StoreBase):
    """Operations on pending inputs: results, approvals and answers that any process may deliver."""

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
        """Add a pending input to a chat.

        Args:
            chat_id: Id of the chat.
            key: Key to resolve, unique in the chat; None for a random one.
            kind: ``approval``, ``question`` or ``deferred``. The first two end with their run.
            call: The pending call, or the call whose tool asks a question.
            run_id: Id of the run that waits.
            question: Question of the tool.
            schema: JSON Schema of the answer.
            note: Further information.

        Returns:
            The key.

        Raises:
            ChatNotFoundError: The chat does not exist.
            SchemaError: The schema is invalid.
            StoreError: The key is already used in the chat.
            ValueError: The kind is unknown.
        """
        if schema is not None:
            Validator(schema)
        key = uuid.uuid4().hex if key is None else key
        draft = self._draft(
            chat_id, pending=[PendingInput(key, kind, call, run_id, question, schema, note)]
        )

        async def work(connection: AsyncConnection, locked: LockedChat, now: int) -> None:
            if await pending.key_exists(connection, self._database, chat_id, key):
                raise StoreError(f"the key {key!r} is already used in the chat {chat_id!r}")
            await append(connection, self._database, locked, draft, now)

        await self._transact(chat_id, work)
        return key

    async def resolve(
        self, key: str, value: object, *, chat_id: str, is_error: bool = False
    ) -> Outcome:
        """Deliver a pending input, from any process. Only the first result counts.

        Args:
            key: Key of the pending input.
            value: A JSON value, or a value that `to_json_value` converts.
            chat_id: Id of the chat.
            is_error: True if the result is an error.

        Raises:
            MessageError: The result is too long.
            ResultError: The result cannot be written as JSON.
            StoreError: The schema of the answer is damaged. The input stays pending and can only be
                resolved with an error.
            ValidationError: The answer does not match the schema of its question. The input stays
                pending.
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
        """Return the result delivered for a key, if any; an error result if it is damaged."""
        return await self._database.read(
            lambda connection: pending.resolution(connection, self._database, chat_id, key)
        )

    async def pending(self, chat_id: str) -> list[StoredPendingInput]:
        """Return the pending inputs of a chat, oldest first."""
        return await self._database.read(
            lambda connection: pending.list_pending(connection, self._database, chat_id)
        )
