"""Pending inputs: results, approvals and answers delivered later, also by another process."""

from __future__ import annotations

import asyncio

import pytest

from store_processes import StoreProcess
from stored_runs import BOOK, OWNER, TEST_TIMEOUT, begin, perform_writes, with_store
from toolweave import ChatNotFoundError, Outcome, SchemaError, StoreError, ToolCall, ValidationError
from toolweave.store import MessageStore, PendingInput

SCHEMA = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}


def test_another_process_resolves_a_pending_input(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        other = await asyncio.to_thread(StoreProcess, store_url)
        try:
            for kind, value in (("approval", True), ("question", {"seats": 4}), ("deferred", "ok")):
                key = await store.add_pending("c", kind=kind, call=BOOK, run_id="r")  # type: ignore[arg-type]
                async with store.watch("c") as watch:
                    assert await store.resolution(key, chat_id="c") is None
                    answer = other.does(f"resolve({key!r}, {value!r}, chat_id='c')")
                    answering = asyncio.create_task(answer)
                    while (found := await store.resolution(key, chat_id="c")) is None:
                        assert await watch.changed(TEST_TIMEOUT)
                    assert (found.value, found.is_error) == (value, False)
                    await answering
            assert await store.pending("c") == []
        finally:
            await asyncio.to_thread(other.close)

    with_store(store_url, scenario, poll=0.02)


def test_only_the_first_result_counts(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        assert await store.add_pending("c", "k", kind="deferred", call=BOOK) == "k"
        actual = [
            await store.resolve("k", value, chat_id="c", is_error=is_error)
            for value, is_error in ((1, False), (1, False), (True, False), (1, True))
        ]
        outcomes = [Outcome.RESOLVED, Outcome.DUPLICATE, Outcome.CONFLICT, Outcome.CONFLICT]
        assert actual == outcomes
        assert await store.resolve("other", 1, chat_id="c") is Outcome.NOT_FOUND
        assert await store.resolve("k", 1, chat_id="other") is Outcome.NOT_FOUND

    with_store(store_url, scenario)


def test_only_one_of_many_concurrent_results_counts(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.add_pending("c", "k", kind="deferred", call=BOOK)
        outcomes = await asyncio.gather(*(store.resolve("k", n, chat_id="c") for n in range(8)))
        assert sorted(outcomes) == ["conflict"] * 7 + ["resolved"]
        found = await store.resolution("k", chat_id="c")
        assert found is not None
        assert outcomes[found.value] == "resolved"

    with_store(store_url, scenario)


def test_an_answer_that_violates_the_schema_is_refused_and_stays_pending(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        key = await store.add_pending(
            "c", kind="question", call=BOOK, question="How many?", schema=SCHEMA, note="soon"
        )
        with pytest.raises(ValidationError, match="seats"):
            await store.resolve(key, {"seats": "four"}, chat_id="c")
        [awaited] = await store.pending("c")
        assert (awaited.key, awaited.kind, awaited.call) == (key, "question", BOOK)
        assert (awaited.question, awaited.schema, awaited.note) == ("How many?", SCHEMA, "soon")
        assert awaited.created.tzinfo is not None
        # An error is always accepted.
        assert await store.resolve(key, "no", chat_id="c", is_error=True) is Outcome.RESOLVED

    with_store(store_url, scenario)


def test_invalid_pending_inputs_are_refused(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.add_pending("c", "k", kind="deferred", call=BOOK)
        with pytest.raises(StoreError, match="'k' is already used"):
            await store.add_pending("c", "k", kind="deferred", call=BOOK)
        with pytest.raises(ValueError, match="approval"):
            await store.add_pending("c", kind="wish", call=BOOK)  # type: ignore[arg-type]
        with pytest.raises(SchemaError):
            await store.add_pending("c", kind="question", call=BOOK, schema={"type": 1})
        with pytest.raises(ChatNotFoundError):
            await store.add_pending("d", kind="deferred", call=BOOK)

    with_store(store_url, scenario)


def test_pending_inputs_of_a_write_are_pending(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await begin(store)
        asks = PendingInput("k", "approval", BOOK)
        await perform_writes(store, [{"pending": [asks], "started": [BOOK]}])
        [awaited] = await store.pending("c")
        assert awaited.run_id == "r"
        await store.finish_run("r", OWNER, "completed")
        assert await store.pending("c") == []
        assert await store.resolve("k", True, chat_id="c") is Outcome.NOT_FOUND

    with_store(store_url, scenario)


def test_a_key_belongs_to_one_chat(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        for chat_id in ("c", "d"):
            await store.create_chat(chat_id)
            call = ToolCall("call_0", chat_id, {})
            await store.add_pending(chat_id, "call_0", kind="deferred", call=call)
        await store.resolve("call_0", 1, chat_id="d")
        assert [each.call.name for each in await store.pending("c")] == ["c"]
        assert await store.resolution("call_0", chat_id="c") is None

    with_store(store_url, scenario)
