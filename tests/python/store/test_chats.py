"""Chats: creation, listing, export, deletion and purging."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta, timezone
from typing import Any

from stored_runs import BOOK, BOOKED, OWNER, begin, perform_writes, reply, text, with_store
from toolweave import Conversation
from toolweave.store import MessageStore, PurgeResult, StoreConversations


def test_times_are_exact_to_the_millisecond_and_know_their_zone(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        chat = await store.create_chat("c")
        wanted = datetime(2026, 11, 22, 10, 0, 0, 123_000, tzinfo=timezone.utc)
        assert chat.created == wanted
        assert chat.created.tzinfo is timezone.utc
        assert await store.chat("c") == chat

    start = datetime(2026, 11, 22, 10, 0, 0, 123_000, tzinfo=timezone.utc).timestamp()
    with_store(store_url, scenario, clock=lambda: start)


def test_chats_are_listed_page_by_page_the_newest_first(store_url: str) -> None:
    now = 1000.0

    async def scenario(store: MessageStore) -> None:
        nonlocal now
        for number in range(7):
            await store.create_chat(f"c{number}", user_id="ann" if number % 2 else "bob")
            now += number % 3  # some have the same time
        assert [chat.chat_id for chat in await store.chats(user_id="bob")] == [
            "c6",
            "c4",
            "c2",
            "c0",
        ]
        seen: list[str] = []
        before = None
        while page := await store.chats(limit=2, before=before):
            seen += [chat.chat_id for chat in page]
            before = page[-1].chat_id
        assert sorted(seen) == [f"c{number}" for number in range(7)]
        assert seen == [chat.chat_id for chat in await store.chats()]
        assert await store.chats(before="nothing") == []

    with_store(store_url, scenario, clock=lambda: now)


def test_an_export_has_everything_of_a_chat_and_of_no_other(store_url: str) -> None:
    async def exported(store: MessageStore, chat_id: str) -> list[dict[str, Any]]:
        return [json.loads(line) async for line in store.export_chat(chat_id)]

    async def scenario(store: MessageStore) -> None:
        await begin(store)
        await perform_writes(store, reply("g"))
        await store.add_pending("c", "k", kind="deferred", call=BOOK)
        await store.finish_run("r", OWNER, "completed")
        await store.write("c", events=[text("x")] * 1200)
        await store.create_chat("other")
        await store.write("other", events=[text("other")])
        lines = await exported(store, "c")
        assert [line["type"] for line in lines[:5]] == ["chat", *["message"] * 4]
        kinds = {kind: [e for e in lines if e["type"] == kind] for kind in ("event", "tool_call")}
        assert [e["sequence_number"] for e in kinds["event"]] == list(
            range(1, len(kinds["event"]) + 1)
        )
        assert len(kinds["event"]) > 1200
        [booking] = [each for each in kinds["tool_call"] if each["name"] == "book"]
        assert booking["arguments"] == BOOK.arguments
        assert booking["result"]["toolResults"][0]["result"] == BOOKED.result
        assert [line["type"] for line in lines[-4:]] == [
            "run",
            "tool_call",
            "tool_call",
            "pending_result",
        ]
        assert await exported(store, "nothing") == []

    with_store(store_url, scenario)


def test_nothing_of_a_deleted_chat_is_left(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await begin(store)
        await perform_writes(store, reply("g"))
        await store.add_pending("c", "k", kind="deferred", call=BOOK)
        await store.create_chat("other")
        await StoreConversations(store).save(Conversation("c"))
        assert await store.delete_chat("c")
        assert not await store.delete_chat("c")
        tables = store.database.tables.metadata.sorted_tables
        async with store.database.engine.connect() as connection:
            counts = {
                table.name: len((await connection.execute(table.select())).all())
                for table in tables
            }
        assert counts == {**dict.fromkeys(counts, 0), "chats": 1}

    with_store(store_url, scenario)


def test_chats_without_recent_writes_are_purged(store_url: str) -> None:
    now = 1000.0

    async def scenario(store: MessageStore) -> None:
        nonlocal now
        kept = StoreConversations(store)
        for chat_id in ("old", "touched", "running"):
            await store.create_chat(chat_id)
        await kept.save(Conversation("alone"))
        await store.start_run("running", "r", owner="me")
        now += 3600
        await store.write("touched", events=[text("a")])
        await kept.save(Conversation("new"))
        assert await store.purge(timedelta(hours=2)) == PurgeResult(0, 0)
        assert await store.purge(1800) == PurgeResult(1, 1)
        assert {chat.chat_id for chat in await store.chats()} == {"touched", "running"}
        assert await kept.load("alone") is None
        assert await kept.load("new") is not None

    with_store(store_url, scenario, clock=lambda: now)


def test_chats_with_the_same_id_are_created_once(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        created = await asyncio.gather(
            *(store.create_chat("c", user_id=str(n), exist_ok=True) for n in range(5))
        )
        assert len({chat.user_id for chat in created}) == 1

    with_store(store_url, scenario)
