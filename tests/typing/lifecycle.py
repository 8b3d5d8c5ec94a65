"""Types of stream events: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import assert_type

from toolweave import Agent, Journal, Message, SceneManager, Selection, StreamEventMapper
from toolweave.lifecycle import RawText, StreamEvent, StreamReducer, TurnEvent


def show(event: StreamEvent) -> str:
    if event["kind"] == "text" or event["kind"] == "reasoning":
        return event["messageId"] + event["delta"]
    if event["kind"] == "tools_call_update":
        return event["toolCallUpdates"][0].get("functionArgs", "")
    if event["kind"] == "tools_call":
        call = event["toolCalls"][0]
        return call["invalid"]["message"] if "invalid" in call else call["name"]
    if event["kind"] == "tool_result":
        return event["result"] if event["done"] else event["toolCallId"]
    if event["kind"] == "run":
        return event.get("stopReason", event["status"])
    if event["kind"] == "error":
        return event["message"]
    return event.get("chatId", "")


async def map_events(
    agent: Agent, manager: SceneManager, journal: Journal, selection: Selection
) -> None:
    mapper = StreamEventMapper("chat", "run", from_agent="helper", max_progress_chars=100)
    events: list[StreamEvent] = mapper.run_started()
    async with agent.open("Hi!", run_id="run", journal=journal) as run:
        assert_type(run.generation_id, str | None)
        assert_type(run.finished_messages, tuple[Message, ...])
        assert_type(run.changed_messages, tuple[Message, ...])
        async for event in run:
            turn_event: TurnEvent = event
            events += mapper.map(turn_event, generation_id=run.generation_id)
    async with manager.open("Hi!", run_id="run", journal=journal) as scenes:
        assert_type(scenes.finished_messages, tuple[Message, ...])
        async for step in scenes:
            events += mapper.map(step, generation_id=scenes.generation_id)
    events += mapper.map(RawText("<Add>"))
    events += mapper.map(selection)
    events += mapper.run_finished("completed")
    assert_type(mapper.map_messages(run.messages), list[StreamEvent])
    reducer = StreamReducer()
    for event_ in events:
        reducer.push(event_)

    texts: Sequence[str] = ["Hi!"]
    mapper.map_messages(texts)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mapper.map("Hi!")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
