"""Writing to chats.

Every writer, in any process, updates the row of the chat first, so other writers wait until the
transaction ends. Sequence numbers have no gaps: a failed transaction rolls its numbers back.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from .._core import ToolResultMessage
from .._slices import in_slices
from ..exceptions import ChatNotFoundError, RunLostError
from ..executor._failure import REFERENCES, references_of
from ._database import TRANSACTION, Database, TransactionRef, in_batches, insert_rows
from ._records import StoredMessage, StreamEvent, WriteResult, to_datetime
from ._values import safe_text, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

    from .._core import ToolCall, ToolResult
    from ._drafts import Draft
    from ._records import PendingInput
    from ._tables import Tables


@dataclass
class LockedChat:
    """A transaction on a chat whose row is locked."""

    connection: AsyncConnection
    """Connection of the transaction."""
    tables: Tables
    """Tables of the store."""
    chat_id: str
    """Id of the chat."""
    now: int
    """Time of the write, in milliseconds since 1970."""
    last_event: int
    """Sequence number of the last event that is written, without reserved ones."""
    last_message: int
    """Sequence number of the last message."""
    revision: int
    """Revision of the chat after the transaction."""

    async def reserve_event_numbers(self, events: int) -> None:
        """Reserve sequence numbers for events that were not known when the chat was locked."""
        await self._update(last_event=self.last_event + events)

    async def check_owner(self, run_id: str, owner: str) -> None:
        """Raise unless a run of the chat belongs to its owner.

        Raises:
            RunLostError: The run does not belong to the owner, or has ended.
        """
        runs = self.tables.runs
        statement = select(runs.c.owner, runs.c.status).where(runs.c.id == run_id)
        row = (await self.connection.execute(statement)).first()
        if row is None:
            raise RunLostError(f"the run {run_id!r} does not exist any more", run_id)
        if row.status != "running":
            raise RunLostError(f"the run {run_id!r} has ended", run_id)
        if row.owner != owner:
            raise RunLostError(f"the run {run_id!r} belongs to another owner now", run_id)

    async def append(
        self, draft: Draft, run_id: str | None = None, generation_id: str | None = None
    ) -> WriteResult:
        """Write to the chat, in which sequence numbers for the events are reserved."""
        written: list[StreamEvent] = []
        rows: list[dict[str, Any]] = []
        async for fields, text in in_slices(draft.events):
            self.last_event += 1
            written.append(with_position(fields, self.chat_id, self.last_event, self.now))
            rows.append(
                {
                    "chat_id": self.chat_id,
                    "sequence_number": self.last_event,
                    "kind": fields["kind"],
                    "timestamp_utc": self.now,
                    "run_id": fields.get("runId", run_id),
                    "event_json": text,
                }
            )
        await insert_rows(self.connection, self.tables.events, rows)
        stored = await self._append_messages(draft, run_id, generation_id) if draft.messages else ()
        if draft.started or draft.finished:
            calls = _CallRows(self, run_id, generation_id)
            await calls.start(draft.started)
            for call, result in draft.finished:
                await calls.finish(call, result)
        for message in draft.detached:
            calls = _CallRows(
                self, message.run_id or run_id, message.generation_id or generation_id
            )
            by_id = {call.id: call for call in message.tool_calls}
            for result in message.tool_results:
                await calls.finish(by_id[result.tool_call_id], result)
        pending = [self._pending_row(each, run_id) for each in draft.pending]
        await insert_rows(self.connection, self.tables.pending, pending)
        return WriteResult(tuple(written), stored, self.revision)

    async def _append_messages(
        self, draft: Draft, run_id: str | None, generation_id: str | None
    ) -> tuple[StoredMessage, ...]:
        messages = self.tables.messages
        ids = [message.id for message, _ in draft.messages if message.id is not None]
        in_chat = messages.c.chat_id == self.chat_id
        numbers: dict[str, int] = {}
        for some in in_batches(ids):
            known = select(messages.c.id, messages.c.sequence_number)
            found = await self.connection.execute(known.where(in_chat, messages.c.id.in_(some)))
            numbers.update((row.id, row.sequence_number) for row in found)
        first_new = self.last_message + 1
        rows: dict[str, dict[str, Any]] = {}
        stored: list[StoredMessage] = []
        async for (message, text), message_id in in_slices(zip(draft.messages, ids, strict=True)):
            if message_id not in numbers:
                self.last_message += 1
                numbers[message_id] = self.last_message
            row: dict[str, Any] = {
                "id": message_id,
                "chat_id": self.chat_id,
                "role": str(message.role),
                "kind": str(message.kind),
                "timestamp_utc": self.now,
                "sequence_number": numbers[message_id],
                "message_json": text,
                "run_id": message.run_id or run_id,
                "generation_id": message.generation_id or generation_id,
            }
            rows[message_id] = row  # the last message with an id wins
            stored.append(
                StoredMessage(
                    message_id,
                    row["sequence_number"],
                    to_datetime(self.now),
                    message,
                    row["run_id"],
                    row["generation_id"],
                )
            )
        new = [row for row in rows.values() if row["sequence_number"] >= first_new]
        if new:
            await insert_rows(self.connection, messages, new)
            await self._update(last_message=self.last_message)
        for row in rows.values():
            if row["sequence_number"] < first_new:
                await self.connection.execute(
                    update(messages).where(in_chat, messages.c.id == row["id"]).values(row)
                )
        return tuple(stored)

    def _pending_row(self, awaited: PendingInput, run_id: str | None) -> dict[str, Any]:
        call, schema = awaited.call, awaited.schema
        fields = {"id": call.id, "name": call.name, "arguments": call.arguments}
        return {
            "chat_id": self.chat_id,
            "key": awaited.key,
            "kind": awaited.kind,
            "status": "awaited",
            "run_id": awaited.run_id or run_id,
            "call_id": call.id,
            "call_json": to_json(fields, "a call"),
            "question": awaited.question,
            "schema_json": None if schema is None else to_json(dict(schema), "a schema"),
            "note": awaited.note,
            "created_utc": self.now,
        }

    async def _update(self, **values: int) -> None:
        chats = self.tables.chats
        await self.connection.execute(
            update(chats).where(chats.c.id == self.chat_id).values(values)
        )


async def lock(
    connection: AsyncConnection, database: Database, chat_id: str, now: int, *, events: int = 0
) -> LockedChat:
    """Lock the row of a chat, and notify watches when the transaction commits.

    Args:
        connection: A transaction in which nothing has been done yet.
        database: The database.
        chat_id: Id of the chat.
        now: The time.
        events: Number of sequence numbers to reserve for events.

    Raises:
        ChatNotFoundError: The chat does not exist.
    """
    chats = database.tables.chats
    wanted: list[ColumnElement[Any]] = [chats.c.last_event, chats.c.last_message, chats.c.revision]
    if database.is_postgresql:
        # Delivered when the transaction commits.
        payload = func.concat(chats.c.revision, " ", chats.c.id)
        wanted += [func.pg_notify(database.channel, payload), func.txid_current().label("number")]
    statement = (
        update(chats)
        .where(chats.c.id == chat_id)
        .values(
            last_event=chats.c.last_event + events, revision=chats.c.revision + 1, updated_utc=now
        )
        .returning(*wanted)
    )
    row = (await connection.execute(statement)).first()
    if row is None:
        raise ChatNotFoundError(f"the chat {chat_id!r} does not exist", chat_id)
    if database.is_postgresql:
        connection.info[TRANSACTION] = TransactionRef(row.number, chat_id, row.revision)
    last_event = row.last_event - events
    return LockedChat(
        connection, database.tables, chat_id, now, last_event, row.last_message, row.revision
    )


class _CallRows:
    """The rows of the calls of a reply, in any run; or of a run, if the reply is unknown.

    Args:
        chat: The chat.
        run_id: Id of the run.
        generation_id: Id of the reply.
    """

    def __init__(self, chat: LockedChat, run_id: str | None, generation_id: str | None) -> None:
        self._chat = chat
        self._table = calls = chat.tables.calls
        self._ids = {"chat_id": chat.chat_id, "run_id": run_id, "generation_id": generation_id}
        # A comparison with None is written as IS NULL.
        of_run = calls.c.run_id == run_id
        of_reply = of_run if generation_id is None else calls.c.generation_id == generation_id
        self._where = (calls.c.chat_id == chat.chat_id, of_reply)

    async def start(self, started: tuple[ToolCall, ...]) -> None:
        """Add the calls whose tool is about to be entered, each with the number of its attempt."""
        columns = self._table.c
        attempts: dict[str, int] = {}
        for some in in_batches(started):
            found = await self._chat.connection.execute(
                select(columns.call_id, func.max(columns.attempt).label("attempt"))
                .where(*self._where, columns.call_id.in_([call.id for call in some]))
                .group_by(columns.call_id)
            )
            attempts.update((row.call_id, row.attempt) for row in found)
        rows: list[dict[str, Any]] = []
        async for call in in_slices(started):
            call_id = safe_text(call.id)
            attempts[call_id] = attempts.get(call_id, 0) + 1
            rows.append(self._row(call, attempts[call_id]))
        await insert_rows(self._chat.connection, self._table, rows)

    async def finish(self, call: ToolCall, result: ToolResult) -> None:
        """Store the result of a call, unless it already has one."""
        references = references_of([result])
        metadata = {REFERENCES: references} if references else None
        done = {
            "status": "done",
            "finished_utc": self._chat.now,
            "result_json": ToolResultMessage([result], metadata=metadata).to_json(),
        }
        columns, connection = self._table.c, self._chat.connection
        where = [*self._where, columns.call_id == call.id]
        changed = await connection.execute(
            update(self._table).where(*where, columns.status == "running").values(done)
        )
        if changed.rowcount:
            return
        # A call that already has a result keeps it, such as a late one that two runs have received.
        if (await connection.execute(select(columns.id).where(*where).limit(1))).first() is None:
            # The tool was never entered: the call was denied, or was invalid.
            await connection.execute(insert(self._table), [{**self._row(call, 1), **done}])

    def _row(self, call: ToolCall, attempt: int) -> dict[str, Any]:
        return {
            **self._ids,
            "id": uuid.uuid4().hex,
            "call_id": call.id,
            "name": call.name,
            "arguments_json": to_json(call.arguments, "the arguments of a call"),
            "status": "running",
            "attempt": attempt,
            "started_utc": self._chat.now,
        }


def with_position(
    fields: Mapping[str, Any], chat_id: str, number: int, timestamp: int
) -> StreamEvent:
    """Return an event with its chat, sequence number and timestamp."""
    return {
        "kind": fields["kind"],
        "chatId": chat_id,
        "sequenceNumber": number,
        "timestampUtc": timestamp,
        **fields,
    }
