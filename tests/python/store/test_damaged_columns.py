"""Any column of any row may be damaged: that row is named, and all others are read as before."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text as sql

from effort import effort
from stored_runs import (
    BOOK,
    BOOKED,
    FETCH,
    OWNER,
    begin,
    perform_writes,
    reply,
    results_of,
    with_store,
)
from toolweave import (
    ErrorCode,
    Outcome,
    StoreError,
    ToolAggregateMessage,
    ToolCall,
    ToolCallMessage,
)
from toolweave.executor._deferred import METADATA, Resolution
from toolweave.store import Chat, MessageStore, PendingInput, StoredPendingInput
from toolweave.store._tables import Tables

EXPIRED = 10.0**9
SECRET = "s3cr3t"
VALUES = [
    "",
    "{",
    "7",
    "null",
    "[]",
    "{}",
    f'{{"id": "{SECRET}',
    '{"id": 1, "name": 2, "arguments": 3}',
    '{"role":"tool","messageKind":"tool_result","toolResults":[]}',
    "[" * 100_000,
    b"\x80",
    b"{}",
    -1,
    2**62,
    -(2**62),
    1.5,
]
SCHEMA = {"type": "object", "properties": {"seats": {"type": "integer"}}}
KEYS = ("approval", "question", "deferred", "answered", "come")
WAITING = ToolCall("call_2", "wait", {"for": "it"})
COME = ToolCall("call_3", "wait", {"for": "that"})
UNREPORTED = ToolCall("call_4", "pay", {"sum": 7})
LOST = ToolCall("call_5", "look", {})
TABLES = {
    table.name: (
        [column.name for column in table.primary_key.columns],
        [(column.name, column.nullable) for column in table.columns],
    )
    for table in (Tables().calls, Tables().pending)
}


async def fill(store: MessageStore) -> None:
    """Write an active run with calls in every state, and another chat."""
    await store.create_chat("other", metadata={"title": "Other"})
    await store.add_pending("other", "other", kind="approval", call=BOOK)
    await begin(store)
    # The first reply is stored completely, the second up to its first result.
    await perform_writes(store, [*reply("g1"), *reply("g2")[:5]])
    keys = {WAITING.id: "deferred", COME.id: "come"}
    deferred = ToolCallMessage(
        [WAITING, COME], id="deferred", run_id="r", metadata={METADATA: keys}
    )
    await store.write("c", messages=[deferred])
    await store.write("c", run_id="r", owner=OWNER, generation_id="g3", started=[UNREPORTED, LOST])
    asked: list[Any] = [
        PendingInput("approval", "approval", BOOK, "r", note="costs 20"),
        PendingInput("question", "question", BOOK, "r", "How many?", SCHEMA),
        PendingInput("deferred", "deferred", WAITING, "r"),
        PendingInput("answered", "question", FETCH, "r", "Which?", SCHEMA),
        PendingInput("come", "deferred", COME, "r"),
    ]
    await store.write("c", pending=asked)
    assert await store.resolve("answered", {"seats": 4}, chat_id="c") is Outcome.RESOLVED
    assert await store.resolve("come", "at last", chat_id="c") is Outcome.RESOLVED


@dataclass
class Seen:
    """All data that a store returns."""

    chats: list[Chat]
    events: list[dict[str, Any]]
    results: dict[tuple[str | None, str], Any]
    pending: dict[str, StoredPendingInput]
    resolutions: dict[str, Resolution | None]
    other_pending: list[StoredPendingInput]


async def seen(store: MessageStore) -> Seen:
    history = await store.load("c")
    page = await store.load("c", after=2, limit=2)
    assert page.stored == history.stored[2:4]
    assert [line async for line in store.export_chat("c")]
    return Seen(
        chats=await store.chats(),
        events=await store.events("c"),
        results=results_of(history.messages),
        pending={each.key: each for each in await store.pending("c")},
        resolutions={key: await store.resolution(key, chat_id="c") for key in KEYS},
        other_pending=await store.pending("other"),
    )


@dataclass
class Filled:
    """A store, and its data before and after its run was recovered."""

    loop: asyncio.AbstractEventLoop
    store: MessageStore
    file: Path
    whole: Path
    before: Seen
    after: Seen

    def restore(self) -> None:
        copy(self.whole, self.file)


@pytest.fixture(scope="module")
def filled() -> Iterator[Filled]:
    with TemporaryDirectory() as folder, closing(asyncio.new_event_loop()) as loop:
        file, whole = Path(folder) / "chats.db", Path(folder) / "whole.db"
        store = MessageStore(f"sqlite:///{file}", clock=lambda: 1000.0)

        async def start() -> tuple[Seen, Seen]:
            await store.__aenter__()
            await fill(store)
            copy(file, whole)
            before = await seen(store)
            await store.recover(now=EXPIRED)
            return before, await seen(store)

        yield Filled(loop, store, file, whole, *loop.run_until_complete(start()))
        loop.run_until_complete(store.__aexit__(None, None, None))


def copy(source: Path, target: Path) -> None:
    """Copy a database over another one; both may be open."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


def rows(file: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return all rows of the chat in both tables."""
    found: list[tuple[str, dict[str, Any]]] = []
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        for table in TABLES:
            statement = f"SELECT * FROM {table} WHERE chat_id = 'c' ORDER BY rowid"
            found += [(table, dict(row)) for row in connection.execute(statement)]
    return found


def overwrite(file: Path, table: str, row: dict[str, Any], column: str, value: object) -> None:
    where = TABLES[table][0]
    condition = " AND ".join(f"{name} = ?" for name in where)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            f"UPDATE {table} SET {column} = ? WHERE {condition}",
            [value, *(row[name] for name in where)],
        )


@settings(max_examples=effort(30))
@given(data=st.data())
def test_a_damaged_column_takes_nothing_else_with_it(filled: Filled, data: st.DataObject) -> None:
    table, row = data.draw(st.sampled_from(rows(filled.whole)), label="row")
    column, is_nullable = data.draw(st.sampled_from(TABLES[table][1]), label="column")
    value = data.draw(st.sampled_from([*VALUES, None] if is_nullable else VALUES), label="value")
    filled.restore()
    overwrite(filled.file, table, row, column, value)

    async def main() -> tuple[Seen, Seen, int]:
        damaged = await seen(filled.store)
        ended = await filled.store.recover(now=EXPIRED)
        return damaged, await seen(filled.store), len(ended)

    damaged, recovered, count = filled.loop.run_until_complete(main())
    assert count == 1
    key, call_id = row.get("key"), row["call_id"]
    for was, found in ((filled.before, damaged), (filled.after, recovered)):
        # Events that recovery writes for a damaged row take sequence numbers as well.
        assert named(found.chats) == named(was.chats)
        assert found.other_pending == was.other_pending
        assert without(found.pending, key) == without(was.pending, key)
        assert without(found.resolutions, key) == without(was.resolutions, key)
        # The rest of the damaged row may count as another call.
        unharmed = {which: each for which, each in was.results.items() if which[1] != call_id}
        assert {which: found.results.get(which) for which in unharmed} == unharmed
    assert damaged.events == filled.before.events
    assert len(recovered.events) >= len(filled.before.events)


def named(chats: list[Chat]) -> list[Chat]:
    return [replace(each, last_event=0, last_message=0) for each in chats]


def without(found: dict[str, Any], key: str | None) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != key and name in KEYS}


async def damage(store: MessageStore, table: str, column: str, where: str, value: str) -> None:
    async with store.database.engine.begin() as connection:
        statement = sql(f"UPDATE {table} SET {column} = :value WHERE {where}")
        assert (await connection.execute(statement, {"value": value})).rowcount == 1


@pytest.mark.parametrize("value", ["{", "7", f'{{"id": "{SECRET}', "[" * 100_000])
def test_a_damaged_pending_input_is_named(
    store_url: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(store: MessageStore) -> None:
        await fill(store)
        await damage(store, "pending_results", "call_json", "key = 'deferred'", value)
        found = {each.key: each for each in await store.pending("c")}
        assert list(found) == ["approval", "deferred", "question"]
        broken = found.pop("deferred")
        assert (broken.kind, broken.call.id, broken.run_id) == ("deferred", WAITING.id, "r")
        assert broken.problem is not None
        assert "'deferred'" in broken.problem
        assert "call_json" in broken.problem
        assert all(each.problem is None for each in found.values())
        assert await store.resolve("deferred", "here", chat_id="c") is Outcome.RESOLVED

    with caplog.at_level(logging.ERROR, "toolweave.store"):
        with_store(store_url, scenario, clock=lambda: 1000.0)
    [record] = caplog.records
    assert (vars(record)["chat_id"], vars(record)["key"]) == ("c", "deferred")
    assert SECRET not in f"{vars(record)} {caplog.text}"


def test_a_damaged_delivered_result_is_an_error(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await fill(store)
        for key in ("come", "answered"):
            await damage(store, "pending_results", "result_json", f"key = '{key}'", f'{{"{SECRET}')
            found = await store.resolution(key, chat_id="c")
            assert found is not None
            assert found.is_error
            assert SECRET not in str(found)
            # It was delivered: another result does not replace it.
            assert await store.resolve(key, "at last", chat_id="c") is Outcome.CONFLICT
        await store.recover(now=EXPIRED)
        history = await store.load("c")
        [result] = [
            result
            for message in history.messages
            if isinstance(message, ToolAggregateMessage)
            for result in message.tool_results
            if result.tool_call_id == COME.id
        ]
        assert result.is_error
        assert "cannot be read" in result.result
        [problem] = history.problems
        assert (problem.kind, problem.message_id) == ("unreadable", "deferred")
        assert problem.tool_call_id == COME.id
        assert "result_json" in problem.message

    with_store(store_url, scenario, clock=lambda: 1000.0)


def test_an_answer_with_a_damaged_schema_is_not_accepted_unchecked(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await fill(store)
        await damage(store, "pending_results", "schema_json", "key = 'question'", "{")
        with pytest.raises(StoreError, match="schema_json"):
            await store.resolve("question", {"seats": 4}, chat_id="c")
        assert "question" in {each.key for each in await store.pending("c")}
        outcome = await store.resolve("question", "unknown", chat_id="c", is_error=True)
        assert outcome is Outcome.RESOLVED

    with_store(store_url, scenario, clock=lambda: 1000.0)


def test_an_unreported_call_with_damaged_arguments_is_kept(
    store_url: str,
) -> None:
    async def scenario(store: MessageStore) -> None:
        await fill(store)
        where = f"call_id = '{UNREPORTED.id}'"
        await damage(store, "tool_calls", "arguments_json", where, f'{{"{SECRET}')
        await store.recover(now=EXPIRED)
        results = results_of((await store.load("c")).messages)
        paid = results["g3", UNREPORTED.id]
        assert paid.name == UNREPORTED.name
        assert paid.error_code is ErrorCode.INTERRUPTED
        assert "may have had effects" in paid.result
        assert results["g3", LOST.id].name == LOST.name

    with_store(store_url, scenario, clock=lambda: 1000.0)


def test_a_stored_result_that_cannot_be_read_is_a_problem_of_its_message(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        message = ToolCallMessage([BOOK], id="m")
        await store.write("c", messages=[message], finished=[(BOOK, BOOKED)])
        assert results_of((await store.load("c")).messages)[None, BOOK.id] == BOOKED
        await damage(store, "tool_calls", "result_json", "call_id = 'call_0'", "{")
        history = await store.load("c")
        result = results_of(history.messages)[None, BOOK.id]
        assert "may have had effects" in result.result
        kinds = {each.kind: each for each in history.problems}
        assert kinds["unreadable"].tool_call_id == BOOK.id
        assert "result_json" in kinds["unreadable"].message
        assert kinds["unreadable"].sequence_number == 1

    with_store(store_url, scenario, clock=lambda: 1000.0)


def test_a_chat_with_damaged_metadata_is_listed_among_the_others(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c", metadata={"title": "Mine"})
        await store.create_chat("d", metadata={"title": "Other"})
        await damage(store, "chats", "metadata_json", "id = 'c'", "{")
        found = {each.chat_id: each for each in await store.chats()}
        assert found["d"].metadata == {"title": "Other"}
        assert found["c"].metadata == {}
        assert found["c"].problem is not None
        assert "metadata_json" in found["c"].problem
        assert found["d"].problem is None

    with_store(store_url, scenario, clock=lambda: 1000.0)
