"""Writing to chats.

Every writer, in any process, updates the row of the chat first, so other writers wait until the
transaction ends. Sequence numbers have no gaps: a failed transaction rolls its numbers back.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import func, insert, select, update

from .._core import (
    MessageBase,
    ToolAggregateMessage,
    ToolCall,
    ToolResult,
    ToolResultMessage,
    check_stream_event,
)
from .._slices import in_slices
from ..exceptions import ChatNotFoundError, MessageError, RunLostError
from ..executor._failure import REFERENCES, references_of
from ._checks import check_size, checked_id, optional_id, to_json
from ._columns import safe_text
from ._database import TRANSACTION, Database, TransactionRef
from ._records import PendingInput, StoredMessage, StreamEvent, WriteResult, to_datetime
from ._rows import in_batches, insert_rows
from ._truncation import truncate_message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

    from .._messages import Message

PENDING_KINDS = ("approval", "question", "deferred")
"""Kinds of pending inputs."""

COLUMN_FIELDS = ("chatId", "sequenceNumber", "timestampUtc")
"""Fields of an event that are stored in columns instead of its JSON."""


@dataclass(frozen=True)
class Draft:
    """The contents of a write, checked and serialized before the chat is locked."""

    events: tuple[tuple[Mapping[str, Any], str], ...] = ()
    """Events, without the fields stored in columns, and their JSON."""
    messages: tuple[tuple[Message, str], ...] = ()
    """Messages, all of them with an id, and their JSON."""
    started: tuple[ToolCall, ...] = ()
    """Calls whose tool is about to be entered."""
    finished: tuple[tuple[ToolCall, ToolResult], ...] = ()
    """Finished calls with their results."""
    pending: tuple[PendingInput, ...] = ()
    """Inputs that the chat now waits for."""
    detached: tuple[ToolAggregateMessage, ...] = ()
    """Original messages whose results are stored only with their calls."""

    @property
    def only_events(self) -> bool:
        """True if the draft contains only events."""
        return not (self.messages or self.started or self.finished or self.pending)


@dataclass
class LockedChat:
    """A chat whose row is locked, with its last sequence numbers."""

    chat_id: str
    last_event: int
    last_message: int
    revision: int


def make_draft(
    chat_id: str,
    limit: int,
    *,
    events: Iterable[Mapping[str, Any]] = (),
    messages: Iterable[Message] = (),
    started: Iterable[ToolCall] = (),
    finished: Iterable[tuple[ToolCall, ToolResult]] = (),
    pending: Iterable[PendingInput] = (),
) -> Draft:
    """Check and serialize the contents of a write.

    Raises:
        MessageError: An event or message is invalid, too long, or of another chat.
        TypeError: An argument has the wrong type.
    """
    detached: list[ToolAggregateMessage] = []
    return Draft(
        tuple(_event(chat_id, each, limit) for each in events),
        tuple(_message(chat_id, each, limit, detached) for each in messages),
        tuple(_call(each) for each in started),
        tuple((_call(call), _result(result)) for call, result in finished),
        tuple(_pending_input(each) for each in pending),
        tuple(detached),
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
            last_event=chats.c.last_event + events,
            revision=chats.c.revision + 1,
            updated_utc=now,
        )
        .returning(*wanted)
    )
    row = (await connection.execute(statement)).first()
    if row is None:
        raise ChatNotFoundError(f"the chat {chat_id!r} does not exist", chat_id)
    if database.is_postgresql:
        connection.info[TRANSACTION] = TransactionRef(row.number, chat_id, row.revision)
    return LockedChat(chat_id, row.last_event - events, row.last_message, row.revision)


async def reserve_event_numbers(
    connection: AsyncConnection, database: Database, locked: LockedChat, events: int
) -> None:
    """Reserve sequence numbers for events that were not known when the chat was locked."""
    chats = database.tables.chats
    await connection.execute(
        update(chats)
        .where(chats.c.id == locked.chat_id)
        .values(last_event=locked.last_event + events)
    )


async def check_owner(
    connection: AsyncConnection, database: Database, run_id: str, owner: str
) -> None:
    """Raise unless a run belongs to its owner; the row of its chat must be locked.

    Raises:
        RunLostError: The run does not belong to the owner, or has ended.
    """
    runs = database.tables.runs
    statement = select(runs.c.owner, runs.c.status).where(runs.c.id == run_id)
    row = (await connection.execute(statement)).first()
    if row is None:
        raise RunLostError(f"the run {run_id!r} does not exist any more", run_id)
    if row.status != "running":
        raise RunLostError(f"the run {run_id!r} has ended", run_id)
    if row.owner != owner:
        raise RunLostError(f"the run {run_id!r} belongs to another owner now", run_id)


async def append(
    connection: AsyncConnection,
    database: Database,
    locked: LockedChat,
    draft: Draft,
    now: int,
    *,
    run_id: str | None = None,
    generation_id: str | None = None,
) -> WriteResult:
    """Write to a locked chat, in which sequence numbers for the events are reserved."""
    tables = database.tables
    written: list[StreamEvent] = []
    rows: list[dict[str, Any]] = []
    async for fields, text in in_slices(draft.events):
        locked.last_event += 1
        written.append(with_position(fields, locked.chat_id, locked.last_event, now))
        rows.append(
            {
                "chat_id": locked.chat_id,
                "sequence_number": locked.last_event,
                "kind": fields["kind"],
                "timestamp_utc": now,
                "run_id": fields.get("runId", run_id),
                "event_json": text,
            }
        )
    if rows:
        await insert_rows(connection, tables.events, rows)
    stored = await _append_messages(connection, database, locked, draft, now, run_id, generation_id)
    scope = (locked.chat_id, run_id, generation_id)
    if draft.started:
        await _start(connection, database, scope, draft.started, now)
    for call, result in draft.finished:
        await _finish(connection, database, scope, call, result, now)
    for message in draft.detached:
        of_message = (
            locked.chat_id,
            message.run_id or run_id,
            message.generation_id or generation_id,
        )
        calls = {call.id: call for call in message.tool_calls}
        for result in message.tool_results:
            call = calls[result.tool_call_id]
            await _finish(connection, database, of_message, call, result, now)
    if draft.pending:
        pending = [_pending_row(locked.chat_id, each, run_id, now) for each in draft.pending]
        await insert_rows(connection, tables.pending, pending)
    return WriteResult(tuple(written), stored, locked.revision)


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


async def _append_messages(
    connection: AsyncConnection,
    database: Database,
    locked: LockedChat,
    draft: Draft,
    now: int,
    run_id: str | None,
    generation_id: str | None,
) -> tuple[StoredMessage, ...]:
    if not draft.messages:
        return ()
    messages, chats = database.tables.messages, database.tables.chats
    ids = [message.id for message, _ in draft.messages if message.id is not None]
    in_chat = messages.c.chat_id == locked.chat_id
    numbers: dict[str, int] = {}
    for some in in_batches(ids):
        found = await connection.execute(
            select(messages.c.id, messages.c.sequence_number).where(
                in_chat, messages.c.id.in_(some)
            )
        )
        numbers.update((row.id, row.sequence_number) for row in found)
    first_new = locked.last_message + 1
    rows: dict[str, dict[str, Any]] = {}
    stored: list[StoredMessage] = []
    async for (message, text), message_id in in_slices(zip(draft.messages, ids, strict=True)):
        if message_id not in numbers:
            locked.last_message += 1
            numbers[message_id] = locked.last_message
        row: dict[str, Any] = {
            "id": message_id,
            "chat_id": locked.chat_id,
            "role": str(message.role),
            "kind": str(message.kind),
            "timestamp_utc": now,
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
                to_datetime(now),
                message,
                row["run_id"],
                row["generation_id"],
            )
        )
    new = [row for row in rows.values() if row["sequence_number"] >= first_new]
    if new:
        await insert_rows(connection, messages, new)
        await connection.execute(
            update(chats)
            .where(chats.c.id == locked.chat_id)
            .values(last_message=locked.last_message)
        )
    for row in rows.values():
        if row["sequence_number"] < first_new:
            await connection.execute(
                update(messages).where(in_chat, messages.c.id == row["id"]).values(row)
            )
    return tuple(stored)


async def _start(
    connection: AsyncConnection,
    database: Database,
    scope: tuple[str, str | None, str | None],
    started: tuple[ToolCall, ...],
    now: int,
) -> None:
    calls = database.tables.calls
    attempts: dict[str, int] = {}
    for some in in_batches(started):
        found = await connection.execute(
            select(calls.c.call_id, func.max(calls.c.attempt).label("attempt"))
            .where(*_in_scope(database, scope), calls.c.call_id.in_([call.id for call in some]))
            .group_by(calls.c.call_id)
        )
        attempts.update((row.call_id, row.attempt) for row in found)
    rows: list[dict[str, Any]] = []
    async for call in in_slices(started):
        call_id = safe_text(call.id)
        attempts[call_id] = attempts.get(call_id, 0) + 1
        rows.append(_call_row(scope, call, attempts[call_id], now))
    await insert_rows(connection, calls, rows)


async def _finish(
    connection: AsyncConnection,
    database: Database,
    scope: tuple[str, str | None, str | None],
    call: ToolCall,
    result: ToolResult,
    now: int,
) -> None:
    calls = database.tables.calls
    text = result_to_json(result)
    done = {"status": "done", "finished_utc": now, "result_json": text}
    where = [*_in_scope(database, scope), calls.c.call_id == call.id]
    changed = await connection.execute(
        update(calls).where(*where, calls.c.status == "running").values(done)
    )
    if changed.rowcount:
        return
    # A call that already has a result keeps it, such as a late one that two runs have received.
    if (await connection.execute(select(calls.c.id).where(*where).limit(1))).first() is None:
        # The tool was never entered: the call was denied, or was invalid.
        row = {**_call_row(scope, call, 1, now), **done}
        await connection.execute(insert(calls), [row])


def _in_scope(
    database: Database, scope: tuple[str, str | None, str | None]
) -> list[ColumnElement[bool]]:
    """Return the condition for the calls of a reply, in any run, or of a run."""
    chat_id, run_id, generation_id = scope
    calls = database.tables.calls
    if generation_id is not None:
        return [calls.c.chat_id == chat_id, calls.c.generation_id == generation_id]
    of_run = calls.c.run_id.is_(None) if run_id is None else calls.c.run_id == run_id
    return [calls.c.chat_id == chat_id, of_run]


def _call_row(
    scope: tuple[str, str | None, str | None], call: ToolCall, attempt: int, now: int
) -> dict[str, Any]:
    chat_id, run_id, generation_id = scope
    return {
        "id": uuid.uuid4().hex,
        "chat_id": chat_id,
        "run_id": run_id,
        "generation_id": generation_id,
        "call_id": call.id,
        "name": call.name,
        "arguments_json": to_json(call.arguments, "the arguments of a call", 1 << 62),
        "status": "running",
        "attempt": attempt,
        "started_utc": now,
        "finished_utc": None,
        "result_json": None,
    }


def _pending_row(
    chat_id: str, awaited: PendingInput, run_id: str | None, now: int
) -> dict[str, Any]:
    call = {
        "id": awaited.call.id,
        "name": awaited.call.name,
        "arguments": awaited.call.arguments,
    }
    schema = awaited.schema
    return {
        "chat_id": chat_id,
        "key": awaited.key,
        "kind": awaited.kind,
        "status": "awaited",
        "run_id": awaited.run_id or run_id,
        "call_id": awaited.call.id,
        "call_json": to_json(call, "a call", 1 << 62),
        "question": awaited.question,
        "schema_json": None if schema is None else to_json(dict(schema), "a schema", 1 << 62),
        "note": awaited.note,
        "result_json": None,
        "created_utc": now,
        "resolved_utc": None,
    }


def result_to_json(result: ToolResult) -> str:
    """Serialize a result as a message in the wire format."""
    references = references_of([result])
    metadata = {REFERENCES: references} if references else None
    return ToolResultMessage([result], metadata=metadata).to_json()


def _event(chat_id: str, given: object, limit: int) -> tuple[Mapping[str, Any], str]:
    if not isinstance(given, Mapping):
        raise TypeError(f"an event must be a mapping, got {type(given).__name__}")
    fields = dict(cast("Mapping[str, Any]", given))
    check_stream_event(fields)
    kind = fields["kind"]
    if fields.get("chatId", chat_id) != chat_id:
        raise MessageError(
            f"the `chatId` of an event must be {chat_id!r}, got {fields['chatId']!r}"
        )
    for name in COLUMN_FIELDS:
        fields.pop(name, None)
    optional_id(fields.get("runId"), "the `runId` of an event")
    return fields, to_json(fields, f"an event of kind {kind!r}", limit)


def _message(
    chat_id: str, message: object, limit: int, detached: list[ToolAggregateMessage]
) -> tuple[Message, str]:
    if not isinstance(message, MessageBase):
        raise TypeError(f"a message must be a message of toolweave, got {type(message).__name__}")
    message = cast("Message", message)
    if message.chat_id not in (None, chat_id):
        raise MessageError(f"the chat_id of a message must be {chat_id!r}, got {message.chat_id!r}")
    if message.id is None:
        message = message.__replace__(id=uuid.uuid4().hex)
    for name in ("id", "run_id", "generation_id"):
        optional_id(getattr(message, name), f"the {name} of a message")
    short, text = truncate_message(message, message.to_json(), limit)
    if short is not message and isinstance(message, ToolAggregateMessage):
        detached.append(message)
    return short, check_size(text, f"the message {message.id!r}", limit)


def _call(call: object) -> ToolCall:
    if not isinstance(call, ToolCall):
        raise TypeError(f"a call must be a ToolCall, got {type(call).__name__}")
    return call


def _result(result: object) -> ToolResult:
    if not isinstance(result, ToolResult):
        raise TypeError(f"a result must be a ToolResult, got {type(result).__name__}")
    return result


def _pending_input(awaited: object) -> PendingInput:
    if not isinstance(awaited, PendingInput):
        raise TypeError(f"a pending input must be a PendingInput, got {type(awaited).__name__}")
    if awaited.kind not in PENDING_KINDS:
        raise ValueError(f"kind must be one of {PENDING_KINDS}, got {awaited.kind!r}")
    checked_id(awaited.key, "a key")
    optional_id(awaited.run_id, "run_id")
    return awaited
