"""The store of chats, with each kind of database."""

from __future__ import annotations

from pathlib import Path

import pytest

from stored_runs import TEST_TIMEOUT, text, with_store
from toolweave import (
    ChatBusyError,
    ChatNotFoundError,
    MessageError,
    RunLostError,
    StoreError,
    TextMessage,
    ToolCall,
)
from toolweave.store import MessageStore


def test_events_get_numbers_without_gaps_and_the_time(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        first = await store.write("c", events=[text("a"), text("b")])
        second = await store.write("c", events=[text("c")])
        assert [each["sequenceNumber"] for each in (*first.events, *second.events)] == [1, 2, 3]
        assert {each["timestampUtc"] for each in first.events} == {1_000_500}
        assert {each["chatId"] for each in first.events} == {"c"}
        assert await store.events("c") == [*first.events, *second.events]
        assert await store.events("c", after=1, limit=1) == [first.events[1]]
        assert await store.last_event("c") == 3

    with_store(store_url, scenario, clock=lambda: 1000.5)


def test_a_message_with_a_known_id_replaces_that_one_in_place(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.write("c", messages=[TextMessage("a", id="1"), TextMessage("b", id="2")])
        written = await store.write("c", messages=[TextMessage("A", id="1"), TextMessage("c")])
        assert [each.sequence_number for each in written.messages] == [1, 3]
        history = await store.load("c")
        assert [message.text for message in history.messages] == ["A", "b", "c"]  # type: ignore[union-attr]
        assert history.problems == ()
        one = await store.message("c", "1")
        assert one is not None
        assert one.message == TextMessage("A", id="1")

    with_store(store_url, scenario)


def test_one_run_at_a_time_and_only_its_owner_writes(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.start_run("c", "r1", owner="me", events=[text("a")])
        with pytest.raises(ChatBusyError) as busy:
            await store.start_run("c", "r2", owner="you")
        assert (busy.value.chat_id, busy.value.run_id) == ("c", "r1")
        await store.write("c", run_id="r1", owner="me", events=[text("b")])
        with pytest.raises(RunLostError):
            await store.write("c", run_id="r1", owner="you", events=[text("lost")])
        assert await store.renew("r1", "me")
        assert not await store.renew("r1", "you")
        await store.finish_run("r1", "me", "completed", events=[text("c")])
        for late in (
            store.write("c", run_id="r1", owner="me", events=[text("lost")]),
            store.finish_run("r1", "me", "completed"),
        ):
            with pytest.raises(RunLostError):
                await late
        assert [each["delta"] for each in await store.events("c")] == ["a", "b", "c"]
        run = await store.run("r1")
        assert run is not None
        assert (run.status, run.stop_reason) == ("finished", "completed")
        assert await store.active_run("c") is None
        await store.start_run("c", "r2", owner="you")

    with_store(store_url, scenario)


def test_an_invalid_write_changes_nothing(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        for wrong in ({"delta": "no kind"}, {"kind": "text", "delta": 1}, text("x" * 101)):
            with pytest.raises(MessageError):
                await store.write("c", events=[text("a"), wrong])
        with pytest.raises(TypeError, match="not JSON at /delta"):
            await store.write("c", events=[text("a"), {**text("a"), "delta": {1}}])
        with pytest.raises(ChatNotFoundError):
            await store.write("nowhere", events=[text("a")])
        with pytest.raises(StoreError, match="already"):
            await store.create_chat("c")
        assert await store.events("c") == []

    with_store(store_url, scenario, max_message_bytes=100)


def test_a_run_with_an_expired_lease_is_replaced(store_url: str) -> None:
    now = 1000.0

    async def scenario(store: MessageStore) -> None:
        nonlocal now
        await store.create_chat("c")
        await store.start_run("c", "r1", owner="me", lease=30)
        now += 31
        await store.start_run("c", "r2", owner="you", lease=30, events=[text("b")])
        ended, first = await store.events("c")
        assert (ended["runId"], ended["stopReason"], first["delta"]) == ("r1", "interrupted", "b")
        assert await store.recover() == []
        [run] = await store.recover(now=now + 31)
        assert (run.run_id, run.stop_reason) == ("r2", "interrupted")
        assert await store.recover(now=now + 31) == []

    with_store(store_url, scenario, clock=lambda: now)


def test_a_watch_is_notified_of_changes_in_this_process_immediately(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        async with store.watch("c") as watch:
            assert not await watch.changed(0)
            await store.write("c", events=[text("a")])
            assert await watch.changed(TEST_TIMEOUT)
            await store.start_run("c", "r", owner="me")
            assert await watch.changed(TEST_TIMEOUT)
            assert await store.request_stop("r")
            assert await watch.changed(TEST_TIMEOUT)
        assert not await store.request_stop("nothing")

    with_store(store_url, scenario, poll=1000.0)


def test_durable_writes_wait_for_the_disk(tmp_path: Path) -> None:
    async def scenario(store: MessageStore) -> None:
        async def level() -> int:
            async with store.database.engine.connect() as connection:
                found = await connection.exec_driver_sql("PRAGMA synchronous")
                return int(found.scalar_one())

        await store.create_chat("c")
        await store.write("c", events=[text("a")])
        assert await level() == 1  # NORMAL
        await store.write("c", events=[text("a")], started=[ToolCall("call_0", "book", {})])
        assert await level() == 2  # FULL
        await store.write("c", events=[text("a")])
        await store.start_run("c", "r", owner="me", events=[text("a")])
        assert await level() == 2

    with_store(f"sqlite:///{tmp_path / 'chats.db'}", scenario)
