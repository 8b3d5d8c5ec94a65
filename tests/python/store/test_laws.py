"""Invariants of chats under concurrent use: no gaps in numbers, no losses, order is preserved."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from effort import effort
from stored_runs import TEST_TIMEOUT, text, with_store
from toolweave import (
    ChatBusyError,
    Message,
    RunLostError,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallMessage,
    ToolResult,
    to_anthropic,
    to_openai,
)
from toolweave.store import MessageStore, RunRecord, WriteResult

T = TypeVar("T")

CHATS = ("a", "b")
LEASE = 30.0

WRITER = """
import asyncio, sys
from toolweave import TextMessage
from toolweave.store import MessageStore

async def main():
    url, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    async with MessageStore(url) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(count):
            event = {"kind": "text", "messageId": name, "delta": str(number)}
            message = TextMessage(name, id=f"{name}.{number}")
            await store.write("c", events=[event, event], messages=[message])

asyncio.run(main())
"""


@dataclass
class Model:
    """The expected state of a chat."""

    events: list[str] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)
    run: str | None = None
    owner: int = 0
    until: float = 0.0

    def recover(self) -> None:
        """Expect the end of an expired run: its open text is closed first."""
        self.events += ["", "finished"]
        self.run = None


class Chats(RuleBasedStateMachine):
    """Two stores on one database, compared with a model in memory."""

    url = ""
    lost = Bundle("lost")

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.time = 1000.0
        self.count = 0
        self.stores = [MessageStore(self.url, clock=lambda: self.time) for _ in range(2)]
        for store in self.stores:
            self.run(store.__aenter__())
        self.chats = {chat_id: Model() for chat_id in CHATS}
        for chat_id in CHATS:
            self.run(self.stores[0].create_chat(chat_id))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, TEST_TIMEOUT))

    def teardown(self) -> None:
        if hasattr(self, "stores"):
            for chat_id in CHATS:
                self.run(self.stores[0].delete_chat(chat_id))
            for store in self.stores:
                self.run(store.__aexit__(None, None, None))
            self.loop.close()

    def new(self) -> str:
        self.count += 1
        return f"{self.count}"

    def check_written(self, chat: Model, written: WriteResult, texts: list[str]) -> None:
        """Check the positions of written events and messages, and add them to the model."""
        first = len(chat.events) + 1
        numbers = [event["sequenceNumber"] for event in written.events]
        assert numbers == list(range(first, first + len(texts)))
        chat.events += texts
        for each in written.messages:
            assert isinstance(each.message, TextMessage)
            chat.messages[each.message_id] = each.message.text
            assert list(chat.messages)[each.sequence_number - 1] == each.message_id

    @rule(chat_id=st.sampled_from(CHATS), at=st.integers(0, 1), many=st.integers(0, 3))
    def write_events(self, chat_id: str, at: int, many: int) -> None:
        texts = [self.new() for _ in range(many)]
        write = self.stores[at].write(chat_id, events=[text(each) for each in texts])
        self.check_written(self.chats[chat_id], self.run(write), texts)

    @rule(
        chat_id=st.sampled_from(CHATS),
        at=st.integers(0, 1),
        ids=st.lists(st.sampled_from(["m1", "m2", "m3", None]), max_size=3),
    )
    def write_messages(self, chat_id: str, at: int, ids: list[str | None]) -> None:
        messages: list[Message] = [TextMessage(self.new(), id=each) for each in ids]
        write = self.stores[at].write(chat_id, messages=messages)
        self.check_written(self.chats[chat_id], self.run(write), [])

    @rule(chat_id=st.sampled_from(CHATS), at=st.integers(0, 1))
    def start_run(self, chat_id: str, at: int) -> None:
        chat, run_id, delta = self.chats[chat_id], f"r{self.new()}", self.new()
        start = self.stores[at].start_run(
            chat_id, run_id, owner=f"o{at}", lease=LEASE, events=[text(delta)]
        )
        if chat.run is not None and chat.until >= self.time:
            with pytest.raises(ChatBusyError):
                self.run(start)
            return
        if chat.run is not None:
            chat.recover()
        self.check_written(chat, self.run(start).written, [delta])
        chat.run, chat.owner, chat.until = run_id, at, self.time + LEASE

    @rule(chat_id=st.sampled_from(CHATS), at=st.integers(0, 1))
    def write_as_run(self, chat_id: str, at: int) -> None:
        chat, delta = self.chats[chat_id], self.new()
        write = self.stores[at].write(
            chat_id, run_id=chat.run or "none", owner=f"o{at}", events=[text(delta)]
        )
        if chat.run is None or chat.owner != at:
            with pytest.raises(RunLostError):
                self.run(write)
        else:
            self.check_written(chat, self.run(write), [delta])

    @rule(chat_id=st.sampled_from(CHATS), at=st.integers(0, 1))
    def finish_run(self, chat_id: str, at: int) -> None:
        chat, delta = self.chats[chat_id], self.new()
        finish = self.stores[at].finish_run(
            chat.run or "none", f"o{at}", "completed", events=[text(delta)]
        )
        if chat.run is None or chat.owner != at:
            with pytest.raises(RunLostError):
                self.run(finish)
        else:
            self.check_written(chat, self.run(finish), [delta])
            chat.run = None

    @rule(chat_id=st.sampled_from(CHATS), at=st.integers(0, 1))
    def renew(self, chat_id: str, at: int) -> None:
        chat = self.chats[chat_id]
        is_mine = chat.run is not None and chat.owner == at
        assert self.run(self.stores[at].renew(chat.run or "none", f"o{at}", LEASE)) == is_mine
        if is_mine:
            chat.until = self.time + LEASE

    @rule(seconds=st.sampled_from([1.0, 20.0, 31.0]))
    def time_goes_on(self, seconds: float) -> None:
        self.time += seconds

    @rule()
    def both_recover(self) -> None:
        async def both() -> list[list[RunRecord]]:
            return list(await asyncio.gather(*(store.recover() for store in self.stores)))

        ended = [run.run_id for found in self.run(both()) for run in found]
        over = [
            chat for chat in self.chats.values() if chat.run is not None and chat.until < self.time
        ]
        assert sorted(ended) == sorted(str(chat.run) for chat in over)
        for chat in over:
            chat.recover()

    @rule(target=lost, chat_id=st.sampled_from(CHATS), at=st.integers(0, 1))
    def delete(self, chat_id: str, at: int) -> tuple[str, str | None, int]:
        chat = self.chats[chat_id]
        assert self.run(self.stores[at].delete_chat(chat_id))
        self.run(self.stores[1 - at].create_chat(chat_id))
        self.chats[chat_id] = Model()
        return chat_id, chat.run, chat.owner

    @rule(gone=consumes(lost))
    def write_as_run_of_a_deleted_chat(self, gone: tuple[str, str | None, int]) -> None:
        chat_id, run_id, owner = gone
        with pytest.raises(RunLostError):
            self.run(
                self.stores[owner].write(
                    chat_id, run_id=run_id or "none", owner=f"o{owner}", events=[text("late")]
                )
            )

    @rule(chat_id=st.sampled_from(CHATS), done=st.sampled_from(["", "started", "finished"]))
    def call(self, chat_id: str, done: str) -> None:
        """Write a call, which the invariant checks by its result."""
        name = self.new()
        call = ToolCall("call_0", name, {})
        generation = f"g{name}"
        result = ToolResult("call_0", name, "done")
        message = ToolCallMessage([call], id=f"{generation}.calls", generation_id=generation)
        self.run(
            self.stores[0].write(
                chat_id,
                generation_id=generation,
                messages=[message],
                started=[call] if done else [],
                finished=[(call, result)] if done == "finished" else [],
            )
        )
        self.chats[chat_id].messages[f"{generation}.calls"] = {
            "": "Tool '{}' was interrupted before it started.",
            "started": "Tool '{}' was interrupted before it finished; it may have had effects.",
            "finished": "done",
        }[done].format(name)

    @invariant()
    def both_stores_see_what_was_written(self) -> None:
        for chat_id, chat in getattr(self, "chats", {}).items():
            for store in self.stores:
                events = self.run(store.events(chat_id, limit=None))
                texts = [event.get("delta", event.get("status")) for event in events]
                assert texts == chat.events
                numbers = [event["sequenceNumber"] for event in events]
                assert numbers == list(range(1, len(events) + 1))
                history = self.run(store.load(chat_id))
                seen = {each.message_id: _text_of(each.message) for each in history.stored}
                assert list(seen.items()) == list(chat.messages.items())
                numbers = [each.sequence_number for each in history.stored]
                assert numbers == list(range(1, len(numbers) + 1))
                to_openai(history.messages, dangling="raise")
                to_anthropic(history.messages, dangling="raise")
                active = self.run(store.active_run(chat_id))
                assert (None if active is None else active.run_id) == chat.run


def _text_of(message: Message) -> str:
    if isinstance(message, ToolAggregateMessage):
        return message.tool_results[0].result
    assert isinstance(message, TextMessage)
    return message.text


def test_stores_agree_with_a_plain_model(store_url: str) -> None:
    machine = type("Chats", (Chats,), {"url": store_url})
    few = settings(max_examples=effort(6), stateful_step_count=25)
    run_state_machine_as_test(machine, settings=few)


def test_processes_that_write_at_once_leave_no_gap(store_url: str) -> None:
    writers, count = effort(4, at_least=2), 25

    async def prepare(store: MessageStore) -> None:
        await store.create_chat("c")

    with_store(store_url, prepare)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, store_url, f"w{number}", str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(writers)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=TEST_TIMEOUT)
    assert [process.returncode for process in processes] == [0] * writers

    async def scenario(store: MessageStore) -> None:
        events = await store.events("c", limit=None)
        total = writers * count
        assert [event["sequenceNumber"] for event in events] == list(range(1, 2 * total + 1))
        # Each transaction is contiguous, and those of a writer are in order.
        for one, other in zip(events[::2], events[1::2], strict=True):
            assert (one["messageId"], one["delta"]) == (other["messageId"], other["delta"])
        for number in range(writers):
            own = [e["delta"] for e in events[::2] if e["messageId"] == f"w{number}"]
            assert own == [str(each) for each in range(count)]
        stored = (await store.load("c")).stored
        assert [each.sequence_number for each in stored] == list(range(1, total + 1))

    with_store(store_url, scenario)


def test_tasks_that_write_at_once_leave_no_gap_though_some_are_cancelled(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")

        async def write(number: int) -> None:
            await store.write("c", events=[text(str(number))] * 2)

        tasks = [asyncio.create_task(write(number)) for number in range(60)]
        for step, task in enumerate(tasks[::3]):
            for _ in range(step % 7):
                await asyncio.sleep(0)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        events = await store.events("c")
        assert [event["sequenceNumber"] for event in events] == list(range(1, len(events) + 1))
        counts = {n: sum(e["delta"] == str(n) for e in events) for n in range(60)}
        assert set(counts.values()) <= {0, 2}
        assert all(counts[n] == 2 for n in range(60) if n % 3)

    with_store(store_url, scenario)


def test_a_store_in_memory_keeps_what_cancelled_tasks_wrote(tmp_path: Path) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        for steps in range(12):
            task = asyncio.create_task(store.write("c", events=[text(str(steps))]))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        assert await store.chat("c") is not None
        await store.write("c", events=[text("end")])
        assert (await store.events("c"))[-1]["delta"] == "end"

    with_store("sqlite://", scenario)
    assert list(tmp_path.iterdir()) == []
