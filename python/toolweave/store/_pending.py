"""Operations of a store on pending inputs."""

from __future__ import annotations

import logging
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from sqlalchemy import Row, select, update

from .._aio.single_flight import ResultCache
from .._core import ToolCall, Validator
from ..exceptions import ChatNotFoundError, SchemaError, StoreError
from ..executor._deferred import Resolution
from ..executor._results import off_loop, to_json_value
from ..kinds import Outcome
from ._base import StoreBase
from ._damage import (
    DamagedError,
    object_of,
    optional_text,
    pending_call,
    stored_resolution,
    text_of,
)
from ._records import PendingInput, PendingKind, StoredPendingInput, to_datetime
from ._values import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Select

    from ._writing import LockedChat

_log = logging.getLogger("toolweave.store")


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
        awaited = PendingInput(key, kind, call, run_id, question, schema, note)
        draft = await self._draft(chat_id, pending=[awaited])

        async def work(locked: LockedChat) -> None:
            known = await locked.connection.execute(self._by_key(chat_id, key))
            if known.first() is not None:
                raise StoreError(f"the key {key!r} is already used in the chat {chat_id!r}")
            await locked.append(draft)

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
        resolution = Resolution(await off_loop(to_json_value, value), is_error)
        pending = self._tables.pending

        async def work(locked: LockedChat) -> Outcome:
            row = (await locked.connection.execute(self._by_key(chat_id, key))).first()
            if row is None or row.status == "closed":
                return Outcome.NOT_FOUND
            if row.result_json is not None:
                found, problem = stored_resolution(row)
                is_same = problem is None and _same(found, resolution)
                return Outcome.DUPLICATE if is_same else Outcome.CONFLICT
            if row.schema_json is not None and not is_error:
                await off_loop(_validator(row).validate, resolution.value)
            fields = {"value": resolution.value, "isError": is_error}
            written = await off_loop(partial(to_json, what="a result", limit=self._limit), fields)
            await locked.connection.execute(
                update(pending)
                .where(pending.c.chat_id == chat_id, pending.c.key == key)
                .values(
                    status="resolved",
                    result_json=written,
                    resolved_utc=locked.now,
                )
            )
            return Outcome.RESOLVED

        try:
            return await self._transact(chat_id, work)
        except ChatNotFoundError:
            return Outcome.NOT_FOUND

    async def resolution(self, key: str, *, chat_id: str) -> Resolution | None:
        """Return the result delivered for a key, if any; an error result if it is damaged."""
        row = (await self._database.query(self._by_key(chat_id, key))).first()
        return None if row is None or row.result_json is None else stored_resolution(row)[0]

    async def pending(self, chat_id: str) -> list[StoredPendingInput]:
        """Return the pending inputs of a chat, oldest first."""
        table = self._tables.pending
        statement = (
            select(table)
            .where(
                table.c.chat_id == chat_id,
                # An input with a damaged status counts as pending.
                table.c.status.not_in(["resolved", "closed"]),
                table.c.result_json.is_(None),
            )
            .order_by(table.c.created_utc, table.c.key)
        )
        return [_pending_input(row) for row in await self._database.query(statement)]

    def _by_key(self, chat_id: str, key: str) -> Select[Any]:
        table = self._tables.pending
        return select(table).where(table.c.chat_id == chat_id, table.c.key == key)


def _validator(row: Row[Any]) -> Validator:
    """Return the validator of an answer.

    Raises:
        StoreError: The schema cannot be read, so that only an error can be delivered.
    """
    try:
        return Validator(object_of(row.schema_json, "schema_json"))
    except (DamagedError, SchemaError) as error:
        is_damaged = isinstance(error, DamagedError)
        reason = str(error) if is_damaged else "schema_json is not a JSON Schema"
        text = f"answers to the question {row.key!r} of the chat {row.chat_id!r} cannot be checked"
        raise StoreError(f"{text}: {reason}") from error


def _same(one: Resolution, other: Resolution) -> bool:
    # Compared as JSON: in Python 1 and True are equal.
    return one.is_error == other.is_error and ResultCache.key(
        "", {"value": one.value}
    ) == ResultCache.key("", {"value": other.value})


def _pending_input(row: Row[Any]) -> StoredPendingInput:
    """Convert a row; a damaged one, with its readable columns and a description of the damage."""
    problems: list[str] = []
    kind: PendingKind = row.kind if row.kind in get_args(PendingKind) else "unreadable"
    if kind == "unreadable":
        problems.append("kind is unknown")
    try:
        call = pending_call(row)
    except DamagedError as error:
        problems.append(str(error))
        call = ToolCall(text_of(row.call_id), "", {})
    schema: dict[str, Any] | None = None
    if row.schema_json is not None:
        try:
            schema = object_of(row.schema_json, "schema_json")
        except DamagedError as error:
            problems.append(str(error))
    problem: str | None = None
    if problems:
        damage = "; ".join(problems)
        problem = f"the row of the key {row.key!r} is damaged: {damage}"
        extra = {"chat_id": row.chat_id, "key": row.key, "error": damage}
        _log.error("a pending input cannot be read", extra=extra)
    return StoredPendingInput(
        key=text_of(row.key),
        kind=kind,
        call=call,
        run_id=optional_text(row.run_id),
        question=optional_text(row.question),
        schema=schema,
        note=optional_text(row.note),
        chat_id=row.chat_id,
        created=to_datetime(row.created_utc),
        problem=problem,
    )
