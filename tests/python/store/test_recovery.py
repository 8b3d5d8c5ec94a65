"""Recovery of runs whose server died: nothing is lost, and each run is ended once."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest

from stored_runs import (
    BOOK,
    BOOKED,
    FETCH,
    OWNER,
    TEST_TIMEOUT,
    answered,
    begin,
    called,
    perform_writes,
    reply,
    results_of,
    with_store,
)
from toolweave import (
    RunLostError,
    TextMessage,
    ToolAggregateMessage,
    to_anthropic,
    to_openai,
)
from toolweave._core import StreamReducer
from toolweave.store import History, MessageStore

EXPIRED = 10.0**9
"""Time at which every lease has expired, in seconds since 1970."""

WRITES = reply("g1") + reply("g2")

RECOVERER = """
import asyncio, json, sys
from toolweave.store import MessageStore

async def main():
    async with MessageStore(sys.argv[1]) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        print(json.dumps([run.run_id for run in await store.recover(now=1e10)]))

asyncio.run(main())
"""


def snapshot(events: list[dict[str, Any]]) -> dict[str, Any]:
    reducer = StreamReducer()
    for event in events:
        reducer.push(event)
    found: dict[str, Any] = reducer.snapshot()
    return found


def test_a_run_is_recovered_completely_wherever_it_broke_off(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        for count in range(len(WRITES) + 1):
            await begin(store)
            await perform_writes(store, WRITES[:count])
            await store.recover(now=EXPIRED)
            started = {c.id for each in WRITES[9:count] for c in each.get("started", ())}
            check_end(await store.events("c"), await store.load("c"), started)
            await store.delete_chat("c")

    with_store(store_url, scenario, clock=lambda: 1000.0)


def check_end(events: list[dict[str, Any]], history: History, started: set[str]) -> None:
    """Check that nothing of a run is lost or unfinished.

    Args:
        events: The events of the chat.
        history: The history of the chat.
        started: Ids of the calls of the second reply whose tool was entered.
    """
    assert [event["sequenceNumber"] for event in events] == list(range(1, len(events) + 1))
    assert [e["stopReason"] for e in events if "stopReason" in e] == ["interrupted"]
    seen = snapshot(events)
    assert seen["problems"] == []
    assert all(message["done"] for message in seen["messages"] if message["kind"] == "text")
    assert history.problems == ()
    to_openai(history.messages, dangling="raise")
    to_anthropic(history.messages, dangling="raise")
    # The page shows the same results that the model reads.
    results = results_of(history.messages)
    shown = {
        (message["generationId"], call["toolCallId"]): call["result"]
        for message in seen["messages"]
        for call in message.get("toolCalls", ())
    }
    assert shown == {key: result.result for key, result in results.items()}
    texts = [message.text for message in history.messages if isinstance(message, TextMessage)]
    assert texts == [m["text"] for m in seen["messages"] if m["kind"] == "text"]
    # Results of interrupted calls say if the tool may have had effects.
    for (generation, call_id), result in results.items():
        if generation == "g2" and result.error_code == "interrupted":
            assert ("may have had effects" in result.result) == (call_id in started)


def test_a_stored_result_is_published_by_recovery(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await begin(store)
        await perform_writes(
            store,
            [
                {"events": [called(BOOK, generation="g")]},
                {"started": [BOOK], "generation_id": "g"},
                {"finished": [(BOOK, BOOKED)], "generation_id": "g"},
            ],
        )
        [run] = await store.recover(now=EXPIRED)
        kinds = [event["kind"] for event in run.written.events]
        assert kinds == ["tool_result", "tools_aggregate", "run"]
        result = run.written.events[0]
        fields = ("messageId", "toolCallId", "result", "isError", "done", "duration")
        assert [result[name] for name in fields] == [
            "g.calls_result_call_0",
            "call_0",
            "booked",
            False,
            True,
            0.5,
        ]
        history = await store.load("c")
        assert results_of(history.messages) == {("g", "call_0"): BOOKED}

    with_store(store_url, scenario, clock=lambda: 1000.0)


def test_an_unreported_tool_call_is_recovered(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await begin(store)
        await perform_writes(store, [{"started": [BOOK, FETCH], "generation_id": "g"}])
        await store.recover(now=EXPIRED)
        history = await store.load("c")
        [_, message] = history.messages
        assert isinstance(message, ToolAggregateMessage)
        assert [call.arguments for call in message.tool_calls] == [BOOK.arguments, FETCH.arguments]
        assert all("may have had effects" in r.result for r in message.tool_results)

    with_store(store_url, scenario, clock=lambda: 1000.0)


def test_a_deferred_result_stays_pending_after_recovery(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await begin(store)
        write = {"events": [called(BOOK, generation="g")], "started": [BOOK], "generation_id": "g"}
        await perform_writes(store, [write])
        await store.add_pending("c", "k", kind="deferred", call=BOOK, run_id="r")
        await store.add_pending("c", "a", kind="approval", call=BOOK, run_id="r")
        await store.recover(now=EXPIRED)
        # The approval is not pending any more: the run that asked has ended.
        assert [each.key for each in await store.pending("c")] == ["k"]
        assert await store.resolve("a", True, chat_id="c") == "not_found"
        [_, message] = (await store.load("c")).messages
        assert isinstance(message, ToolAggregateMessage)
        assert message.tool_results == ()
        assert message.metadata == {"deferred": {"call_0": "k"}}
        assert await store.resolve("k", {"table": 4}, chat_id="c") == "resolved"
        [_, message] = (await store.load("c")).messages
        assert isinstance(message, ToolAggregateMessage)
        assert json.loads(message.tool_results[0].result) == {"table": 4}

    with_store(store_url, scenario, clock=lambda: 1000.0)


def test_an_owner_with_an_expired_lease_cannot_write(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await begin(store)
        await store.recover(now=EXPIRED)
        late = {"events": [answered(BOOKED, "g")], "finished": [(BOOK, BOOKED)]}
        with pytest.raises(RunLostError):
            await perform_writes(store, [late])
        with pytest.raises(RunLostError):
            await store.finish_run("r", OWNER, "completed")
        assert not await store.renew("r", OWNER)
        assert (await store.events("c"))[-1]["stopReason"] == "interrupted"

    with_store(store_url, scenario, clock=lambda: 1000.0)


def test_a_renewed_run_is_not_recovered(store_url: str) -> None:
    now = 1000.0

    async def scenario(store: MessageStore) -> None:
        nonlocal now
        await begin(store, lease=30)
        now += 29
        assert await store.renew("r", OWNER, 30)
        now += 29
        assert await store.recover() == []
        now += 2
        assert [run.run_id for run in await store.recover()] == ["r"]

    with_store(store_url, scenario, clock=lambda: now)


def test_two_processes_that_recover_at_once_end_a_run_once(store_url: str) -> None:
    async def prepare() -> None:
        async with MessageStore(store_url) as store:
            await begin(store)
            await perform_writes(store, WRITES[:13])

    asyncio.run(prepare())
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RECOVERER, store_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    recovered = [json.loads(process.communicate(timeout=TEST_TIMEOUT)[0]) for process in processes]
    assert sorted(recovered) == [[], [], ["r"]]

    async def scenario(store: MessageStore) -> None:
        kinds = [(e["kind"], e.get("status")) for e in await store.events("c")]
        assert kinds.count(("run", "finished")) == 1
        assert snapshot(await store.events("c"))["problems"] == []

    with_store(store_url, scenario)


def test_an_owner_renews_all_of_its_runs_at_once(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        for chat, owner in (("a", "me"), ("b", "me"), ("c", "you"), ("d", "me")):
            await store.create_chat(chat)
            await store.start_run(chat, f"run-{chat}", owner=owner, lease=1)
        await store.finish_run("run-d", "me", "completed")
        assert await store.renew_all("me", 30) == {"run-a", "run-b"}
        assert await store.renew_all("other", 30) == frozenset()
        assert [run.run_id for run in await store.recover(now=1010.0)] == ["run-c"]

    with_store(store_url, scenario, clock=lambda: 1000.0)
