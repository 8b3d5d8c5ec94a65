"""Responders: scenes, custom runs, and runs that are recovered by another process."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import Self

from chat_servers import (
    QUICK,
    TEST_TIMEOUT,
    Event,
    all_events,
    finished,
    new_chat,
    on_a_server,
    say,
    serve,
    serve_agent,
    soon,
    text_of,
    until,
)
from toolweave import Agent, Message, SceneManager, StreamReducer, TextDelta, TextMessage
from toolweave.kinds import Role
from toolweave.lifecycle import RawText, StreamEventMapper, TurnEvent
from toolweave.store import MessageStore
from toolweave.web import Responder, SceneResponder, Turn, chat_app
from toolweave.web._channels import ChatChannels
from toolweave.web._run import ChatRun
from toolweave.web._writer import RunWriter


def app_of(path: Path, responder: Responder) -> Any:
    store = MessageStore(f"sqlite:///{path / 'chats.db'}", poll=0.02)
    return chat_app(store, responder, limits=QUICK)


@on_a_server
async def test_scenes_answer_step_by_step(tmp_path: Path) -> None:
    async def model(messages: Sequence[Message]) -> str:
        text = getattr(messages[-1], "text", "")
        if '<tool_response name="add"' in text:
            return "It is 5."
        # The first message has the available scenes, or the tools of the scene.
        offered = getattr(messages[0], "text", "")
        return (
            '<add>{"a": 2, "b": 3}</add>' if "Add two" in offered else "<Calculator>{}</Calculator>"
        )

    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    manager = SceneManager(model)
    manager.scene("Calculator", "Calculates").tool(add)
    async with serve(app_of(tmp_path, SceneResponder(manager))) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "What is 2 + 3?")
        end = await finished(client, chat, accepted["runId"])
        assert end["stopReason"] == "completed"
        received = await all_events(client, chat)
        steps = [event["step"] for event in received if event["kind"] == "scene"]
        assert {"Calculator"} <= {step.get("scene") for step in steps}
        assert steps[-1]["status"] == "Completed"
        assert text_of(received).endswith("It is 5.")
        results = [event for event in received if event["kind"] == "tool_result"]
        assert [event["result"] for event in results] == ["5"]
        # The call and its result belong to the same reply.
        [call] = [event for event in received if event["kind"] == "tools_call"]
        assert call["generationId"] == results[0]["generationId"]
        history = (await client.get(f"{chat}/messages")).json()["messages"]
        kinds = [each["message"]["kind"] for each in history]
        assert kinds[0] == "text"
        assert "tools_aggregate" in kinds
        # The scenes have the history of the chat.
        accepted = await say(client, chat, "And again?")
        end = await finished(client, chat, accepted["runId"])
        assert end["stopReason"] == "completed"


class CustomRun:
    """A custom run of events."""

    generation_id = "g1"

    def __init__(self, turn: Turn, events_of: Callable[[], AsyncIterator[TurnEvent]]) -> None:
        self.turn = turn
        self.finished_messages: list[Message] = []
        self.cancelled = asyncio.Event()
        self._events = events_of

    async def __aiter__(self) -> AsyncIterator[TurnEvent]:
        async for event in self._events():
            yield event
        self.finished_messages.append(TextMessage("Hi", role=Role.ASSISTANT, id="g1.0"))

    async def cancel(self) -> None:
        self.cancelled.set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


@on_a_server
async def test_any_run_of_events_can_answer(tmp_path: Path) -> None:
    async def events_of() -> AsyncIterator[TurnEvent]:
        for piece in ("H", "i"):
            yield RawText(piece)
            yield TextDelta(piece)

    async with serve(app_of(tmp_path, lambda turn: CustomRun(turn, events_of))) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Hello!")
        end = await finished(client, chat, accepted["runId"])
        assert end["stopReason"] == "completed"
        reducer = StreamReducer()
        for event in await all_events(client, chat):
            assert reducer.push(event)
        snapshot = reducer.snapshot()
        assert [message.get("text") for message in snapshot["messages"]] == ["Hello!", "Hi"]
        assert [raw["text"] for raw in snapshot["raw"]] == ["Hi"]
        assert not snapshot["problems"]
        history = (await client.get(f"{chat}/messages")).json()["messages"]
        assert [each["message"]["text"] for each in history] == ["Hello!", "Hi"]


@on_a_server
async def test_a_run_that_does_not_stop_is_abandoned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def events_of() -> AsyncIterator[TurnEvent]:
        yield TextDelta("One")
        await asyncio.Event().wait()

    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}")
    limits = QUICK.__class__(batch=0.001, stop_grace=0.05, requests=None, shutdown_grace=0.0)
    app = chat_app(store, lambda turn: CustomRun(turn, events_of), limits=limits)
    with caplog.at_level(logging.CRITICAL):
        async with serve(app) as client:
            chat = await new_chat(client)
            accepted = await say(client, chat, "Hello!")
            await until(client, chat, "text", role="assistant")
            await client.post(f"{chat}/runs/{accepted['runId']}/stop", json={})
            end = await finished(client, chat, accepted["runId"])
            assert end["stopReason"] == "cancelled"


@on_a_server
async def test_a_stopped_run_ends_even_if_cancel_never_returns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stopped, never = asyncio.Event(), asyncio.Event()
    left = asyncio.Event()

    async def events_of() -> AsyncIterator[TurnEvent]:
        yield TextDelta("One")
        await soon(stopped)

    class Silent(CustomRun):
        async def cancel(self) -> None:
            stopped.set()
            try:
                await never.wait()
            finally:
                left.set()

    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}")
    limits = QUICK.__class__(batch=0.001, stop_grace=0.05, requests=None, shutdown_grace=0.0)
    app = chat_app(store, lambda turn: Silent(turn, events_of), limits=limits)
    with caplog.at_level(logging.CRITICAL):
        async with serve(app) as client:
            chat = await new_chat(client)
            accepted = await say(client, chat, "Hello!")
            await until(client, chat, "text", role="assistant")
            await client.post(f"{chat}/runs/{accepted['runId']}/stop", json={})
            end = await finished(client, chat, accepted["runId"])
            assert end["stopReason"] == "cancelled"
            await soon(left)


@on_a_server
async def test_a_chat_continues_even_if_a_run_never_exits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    over = asyncio.Event()

    async def events_of() -> AsyncIterator[TurnEvent]:
        yield TextDelta("One")
        await soon(over)

    class Stubborn(CustomRun):
        async def __aexit__(self, *_: object) -> None:
            while not over.is_set():
                with suppress(asyncio.CancelledError):
                    await soon(over)

    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}", poll=0.02)
    limits = QUICK.__class__(
        batch=0.001, stop_grace=0.05, lease=0.3, requests=None, shutdown_grace=0.0
    )
    app = chat_app(store, lambda turn: Stubborn(turn, events_of), limits=limits)
    with caplog.at_level(logging.CRITICAL):
        async with serve(app) as client:
            chat = await new_chat(client)
            accepted = await say(client, chat, "Hello!")
            await until(client, chat, "text", role="assistant")
            await client.post(f"{chat}/runs/{accepted['runId']}/stop", json={})
            end = await finished(client, chat, accepted["runId"])
            assert end["stopReason"] == "interrupted"
            await say(client, chat, "Hello again!")
            over.set()


@pytest.mark.parametrize("fails", ["making", "opening", "closing"])
@on_a_server
async def test_a_responder_that_fails_ends_its_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, fails: str
) -> None:
    async def events_of() -> AsyncIterator[TurnEvent]:
        yield TextDelta("One")

    class Failing(CustomRun):
        async def __aenter__(self) -> Self:
            if fails == "opening":
                raise LookupError("a secret")
            return self

        async def __aexit__(self, *_: object) -> None:
            if fails == "closing":
                raise LookupError("a secret")

    def responder(turn: Turn) -> CustomRun:
        if fails == "making":
            raise LookupError("a secret")
        return Failing(turn, events_of)

    with caplog.at_level(logging.CRITICAL):
        async with serve(app_of(tmp_path, responder)) as client:
            chat = await new_chat(client)
            for _ in range(2):
                accepted = await say(client, chat, "Hello!")
                end = await finished(client, chat, accepted["runId"])
                assert (end["stopReason"], end["error"]) == ("error", "The run has failed.")
            received: list[Event] = await all_events(client, chat)
            assert "secret" not in str(received)


@on_a_server
async def test_a_run_that_was_recovered_elsewhere_stops_and_writes_nothing_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    go, left = asyncio.Event(), asyncio.Event()

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        try:
            yield "One"
            await soon(go)
            yield "Two"
            await asyncio.Event().wait()
        finally:
            left.set()

    with caplog.at_level(logging.CRITICAL):
        async with serve_agent(tmp_path, Agent(model)) as client:
            chat = await new_chat(client)
            accepted = await say(client, chat, "Count!")
            await until(client, chat, "text", role="assistant")
            async with MessageStore(f"sqlite:///{tmp_path / 'chats.db'}") as other:
                [dead] = await other.recover(now=time.time() + 3600)
                assert dead.run_id == accepted["runId"]
            end = await finished(client, chat, accepted["runId"])
            assert end["stopReason"] == "interrupted"
            go.set()
            await soon(left)
            received = await all_events(client, chat)
            assert received[-1] == end
            assert text_of(received) == "One"


@on_a_server
async def test_detaching_a_run_does_not_detach_another(tmp_path: Path) -> None:
    def responder(_: Turn) -> CustomRun:
        raise AssertionError

    async with MessageStore(f"sqlite:///{tmp_path / 'chats.db'}") as store:
        await store.create_chat("c")
        async with ChatChannels(store, QUICK).open("c") as channel:
            runs: list[ChatRun] = []
            for name in ("old", "new"):
                record = await store.start_run("c", name, owner="me")
                runs.append(ChatRun(store, channel, responder, record, (), QUICK))
                await store.finish_run(name, "me", "interrupted")
            old, new = runs
            channel.on_change = new.poll
            old.detach()
            assert channel.on_change == new.poll
            new.detach()
            assert channel.on_change is None


@on_a_server
async def test_a_run_that_is_stopped_before_it_begins_is_abandoned_as_well(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def events_of() -> AsyncIterator[TurnEvent]:
        yield TextDelta("One")
        await asyncio.Event().wait()

    limits = QUICK.__class__(stop_grace=0.05, requests=None)
    with caplog.at_level(logging.CRITICAL):
        async with MessageStore(f"sqlite:///{tmp_path / 'chats.db'}") as store:
            await store.create_chat("c")
            record = await store.start_run("c", "r", owner="me")
            async with ChatChannels(store, limits).open("c") as channel:
                run = ChatRun(
                    store, channel, lambda turn: CustomRun(turn, events_of), record, (), limits
                )
                run.stop("cancelled")
                executing = asyncio.ensure_future(run.execute())
                done, _ = await asyncio.wait([executing], timeout=TEST_TIMEOUT)
                assert done
            assert run.stop_reason == "cancelled"


@on_a_server
async def test_flushing_after_the_end_of_a_run_writes_nothing(tmp_path: Path) -> None:
    async def events_of() -> AsyncIterator[TurnEvent]:
        yield TextDelta("Hi")

    failures: list[Exception] = []
    async with MessageStore(f"sqlite:///{tmp_path / 'chats.db'}") as store:
        await store.create_chat("c")
        record = await store.start_run("c", "r", owner="me")
        async with ChatChannels(store, QUICK).open("c") as channel:
            writer = RunWriter(
                store,
                channel,
                StreamEventMapper("c", "r"),
                record,
                QUICK,
                failures.append,
            )
            turn = Turn("c", "r", None, (), (), writer)
            await writer.consume(CustomRun(turn, events_of), (), lambda _: None)
            await writer.finish("completed", [])
            # As the timer of deltas does if it fires while the end is written.
            await writer.flush()
    assert not failures
