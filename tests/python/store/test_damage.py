"""Damaged rows: each is named, and all others are read as before."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text as sql

from chat_servers import (
    all_events,
    finished,
    lines,
    new_chat,
    numbers,
    on_a_server,
    say,
    serve_agent,
)
from effort import effort
from stored_runs import begin, text, with_store
from toolweave import Agent, Message
from toolweave.store import MessageStore

SECRET = "s3cr3t"
DAMAGES = [
    "",
    "{",
    "7",
    "null",
    "[]",
    "{}",
    '{"kind": 5}',
    '{"kind": "text"}',
    f'{{"kind": "{SECRET}',
    '{"kind": "text", "messageId": "m", "delta": 5}',
    "[" * 100_000,
]


async def damage(store: MessageStore, chat_id: str, number: int, value: str) -> None:
    async with store.database.engine.begin() as connection:
        statement = sql(
            "UPDATE events SET event_json = :value WHERE chat_id = :chat AND sequence_number = :at"
        )
        await connection.execute(statement, {"value": value, "chat": chat_id, "at": number})


@settings(max_examples=effort(10))
@given(st.dictionaries(st.integers(1, 6), st.sampled_from(DAMAGES)))
def test_a_damaged_event_takes_nothing_with_it(damages: dict[int, str]) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.write("c", events=[text(str(number)) for number in range(1, 7)])
        before = await store.events("c")
        for number, value in damages.items():
            await damage(store, "c", number, value)
        after = await store.events("c")
        assert numbers(after) == numbers(before)
        for was, event in zip(before, after, strict=True):
            if was["sequenceNumber"] in damages:
                assert event["kind"] == "unreadable"
                assert event["timestampUtc"] == was["timestampUtc"]
            else:
                assert event == was

    with_store("sqlite://", scenario)


def test_the_log_names_the_row_and_nothing_that_was_in_it(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.write("c", events=[text("a"), text("b")])
        await damage(store, "c", 2, f'{{"kind": "{SECRET}')
        await store.events("c")

    with caplog.at_level(logging.ERROR, "toolweave.store"):
        with_store(store_url, scenario)
    [record] = caplog.records
    assert record.getMessage() == "an event cannot be read"
    assert (vars(record)["chat_id"], vars(record)["sequence_number"]) == ("c", 2)
    assert SECRET not in f"{vars(record)} {caplog.text}"


def test_bytes_that_are_no_text_damage_their_row_alone() -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.write("c", events=[text("a"), text("b"), text("c")])
        async with store.database.engine.begin() as connection:
            for number, value in ((1, "CAST(X'80' AS TEXT)"), (2, "X'7b7d'")):
                await connection.exec_driver_sql(
                    f"UPDATE events SET event_json = {value} WHERE sequence_number = {number}"
                )
        kinds = [event["kind"] for event in await store.events("c")]
        assert kinds == ["unreadable", "unreadable", "text"]

    with_store("sqlite://", scenario)


def test_a_run_with_damaged_events_is_recovered(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await begin(store, lease=0.0)
        await store.write("c", run_id="r", owner="server-1", events=[text("Hel"), text("lo")])
        await damage(store, "c", 3, "{")
        [run] = await store.recover(now=1e12)
        assert run.status == "finished"
        assert "unreadable" not in {each.message.kind for each in (await store.load("c")).stored}

    with_store(store_url, scenario)


async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
    return "Yes."


@on_a_server
async def test_streams_continue_after_damaged_and_lost_rows(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'chats.db'}"
    async with serve_agent(tmp_path, Agent(model)) as client, MessageStore(url) as elsewhere:
        chat = await new_chat(client)
        chat_id = chat.rpartition("/")[2]
        runs: list[str] = []
        for word in ("One?", "Two?"):
            sent = await say(client, chat, word)
            await finished(client, chat, sent["runId"])
            runs.append(sent["runId"])
        whole = await all_events(client, chat)
        [end] = [
            each["sequenceNumber"]
            for each in whole
            if each.get("runId") == runs[0] and each.get("status") == "finished"
        ]
        for number in (1, 2, end):
            await damage(elsewhere, chat_id, number, "{")
        events = await all_events(client, chat)
        assert numbers(events) == numbers(whole)
        assert [each["kind"] for each in events].count("unreadable") == 3
        for form in ("ai-sdk", "ag-ui"):
            # Streams the first run only.
            address = f"{chat}/events?format={form}"
            async with client.stream("GET", address) as response:
                ids = [line.id async for line in lines(response) if line.id is not None]
            assert max(ids, default=0) <= end
        async with elsewhere.database.engine.begin() as connection:
            for number in (3, len(whole)):
                await connection.exec_driver_sql(
                    f"DELETE FROM events WHERE sequence_number = {number}"
                )
        # As an `EventSource` does: until a 204 ends the stream.
        at = 0
        while again := await asyncio.wait_for(all_events(client, chat, at), 5):
            assert numbers(again)[-1] > at
            at = numbers(again)[-1]
        assert at == len(whole)
