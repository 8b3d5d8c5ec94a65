"""The state of a call and its event are written together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from typing_extensions import Self

from chat_servers import QUICK, TEST_TIMEOUT
from toolweave import TextDelta, ToolCall, ToolResult
from toolweave.lifecycle import StreamEventMapper, TurnEvent
from toolweave.store import MessageStore, WriteResult
from toolweave.web._channels import ChatChannels
from toolweave.web._writer import RunWriter


class SlowStore(MessageStore):
    """A store that writes when it is allowed to, and records each write."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.may_write = asyncio.Event()
        self.begun = asyncio.Event()
        self.writes: list[dict[str, Any]] = []

    async def write(self, chat_id: str, **fields: Any) -> WriteResult:
        self.writes.append(fields)
        self.begun.set()
        await self.may_write.wait()
        return await super().write(chat_id, **fields)


def test_an_event_of_a_call_is_never_stored_before_the_state_of_the_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with SlowStore(f"sqlite:///{tmp_path / 'chats.db'}") as store:
            await store.create_chat("c")
            record = await store.start_run("c", "r", owner="me")
            channels = ChatChannels(store, QUICK)
            mapper = StreamEventMapper("c", "r")
            errors: list[Exception] = []
            async with channels.open("c") as channel:
                writer = RunWriter(
                    store,
                    channel,
                    mapper,
                    record,
                    QUICK,
                    errors.append,
                )
                call, other = ToolCall("a", "look", {}), ToolCall("b", "look", {})
                for each in (call, other):
                    writer.add(mapper.map(each, generation_id="g"))
                # During this write, two calls start and finish, and the model continues.
                first = asyncio.ensure_future(writer.flush())
                await store.begun.wait()
                steps = [asyncio.ensure_future(writer.started(each)) for each in (call, other)]
                steps += [
                    asyncio.ensure_future(writer.finished(each, ToolResult(each.id, "look", "it")))
                    for each in (call, other)
                ]
                for _ in range(20):
                    await asyncio.sleep(0)
                # Longer than deltas are collected.
                await asyncio.sleep(4 * QUICK.batch)
                writer.add(mapper.map(TextDelta("And"), generation_id="h"))
                store.may_write.set()
                await asyncio.wait_for(asyncio.gather(first, *steps), TEST_TIMEOUT)
                await writer.finish("completed", mapper.run_finished("completed"))
            assert errors == []
            states: list[tuple[str, str]] = []
            for written in store.writes:
                done = {
                    event["toolCallId"]
                    for event in written["events"]
                    if event["kind"] == "tool_result"
                }
                assert done == {found.id for found, _ in written["finished"]}
                states += [("started", found.id) for found in written["started"]]
                states += [("finished", found.id) for found, _ in written["finished"]]
            assert states == [(step, each) for step in ("started", "finished") for each in "ab"]

    asyncio.run(main())


class CatchingUpRun:
    """A run that can wait until its reader has caught up."""

    generation_id = "g"
    finished_messages = ()

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.read = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[TurnEvent]:
        await self.asked.wait()
        yield ToolCall("a", "look", {})
        self.read.set()

    async def caught_up(self) -> None:
        self.asked.set()
        await self.read.wait()

    async def cancel(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...


def test_a_call_is_stored_after_all_events_before_it_were_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with SlowStore(f"sqlite:///{tmp_path / 'chats.db'}") as store:
            store.may_write.set()
            await store.create_chat("c")
            record = await store.start_run("c", "r", owner="me")
            mapper = StreamEventMapper("c", "r")
            errors: list[Exception] = []
            async with ChatChannels(store, QUICK).open("c") as channel:
                writer = RunWriter(
                    store,
                    channel,
                    mapper,
                    record,
                    QUICK,
                    errors.append,
                )
                reading = asyncio.ensure_future(writer.consume(CatchingUpRun(), (), lambda _: None))
                await asyncio.sleep(0)
                await asyncio.wait_for(writer.started(ToolCall("a", "look", {})), TEST_TIMEOUT)
                await asyncio.wait_for(reading, TEST_TIMEOUT)
                await writer.finish("completed", mapper.run_finished("completed"))
            assert errors == []
            [both] = [written for written in store.writes if written["started"]]
            assert "tools_call" in [event["kind"] for event in both["events"]]

    asyncio.run(main())
