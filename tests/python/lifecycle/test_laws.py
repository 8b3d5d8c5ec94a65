"""Laws of the stream events of any run: they reduce to the messages of the run."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

import toolweave as tw
from effort import effort
from event_snapshots import FINAL, calls_of, snapshot_of, texts_of
from run_scripts import ECHOES, agent_scripts
from toolweave.agent import Agent, AgentRun
from toolweave.lifecycle import StreamEvent, StreamEventMapper
from toolweave.testing import ScriptedModel


async def run_events(
    script: list[list[Any]], is_native: bool, end: int | None
) -> tuple[AgentRun, list[StreamEvent]]:
    """Return a run that is cancelled after so many events, and its stream events."""
    numbers = itertools.count()
    model = ScriptedModel(*script, native_tools=is_native)
    agent = Agent(model, ECHOES, generation_ids=lambda: f"g{next(numbers)}", max_iterations=4)
    mapper = StreamEventMapper("chat", "run")
    question = tw.TextMessage("Hi!", id="question")
    events = [*mapper.map_messages([question]), *mapper.run_started()]
    async with agent.open([question], chat_id="chat", run_id="run") as run:
        seen = 0
        async for each in run:
            events += mapper.map(each, generation_id=run.generation_id)
            seen += 1
            if seen == end:
                await run.cancel()
    return run, events + mapper.run_finished()


@settings(max_examples=effort(80))
@given(script=agent_scripts(), is_native=st.booleans(), end=st.none() | st.integers(0, 30))
def test_events_reduce_to_the_messages_of_the_run(
    script: list[list[Any]], is_native: bool, end: int | None
) -> None:
    run, events = asyncio.run(run_events(script, is_native, end))
    snapshot = snapshot_of(events)
    assert snapshot["problems"] == []
    assert run.result is not None
    assert snapshot["runs"] == [
        {"runId": "run", "status": "finished", "stopReason": run.result.stop_reason.value}
    ]

    # Texts and thoughts.
    run_texts = {
        message.id: (message.kind, message.text)
        for message in run.finished_messages
        if isinstance(message, (tw.TextMessage, tw.ReasoningMessage))
    }
    assert texts_of(snapshot) == run_texts

    # In one order, that of writing.
    message_ids = [message.id for message in run.finished_messages]
    shown_ids = [each["messageId"] for each in snapshot["messages"]]
    both = set(message_ids) & set(shown_ids)
    assert [each for each in shown_ids if each in both] == [
        each for each in message_ids if each in both
    ]

    # Calls, all of which have ended, unless their results come later.
    calls = calls_of(snapshot)
    made = {}
    for message in run.finished_messages:
        if isinstance(message, tw.ToolAggregateMessage):
            results = {result.tool_call_id: result for result in message.tool_results}
            for call in message.tool_calls:
                made[message.id, call.id] = (call, results.get(call.id))
    stopped = run.result.stop_reason == "cancelled"
    for key in calls.keys() - made.keys():
        # The model was stopped while it wrote these.
        assert stopped
        assert calls[key]["state"] == "interrupted"
        assert "arguments" not in calls[key]
    assert made.keys() <= calls.keys()
    for key, (call, result) in made.items():
        shown = calls[key]
        assert shown["name"] == call.name
        event(f"a call ends as {shown['state']}")
        if result is None:
            assert shown["state"] == "deferred" or stopped
            assert shown["key"]
            continue
        assert shown["state"] in FINAL
        assert (shown["result"], shown["isError"]) == (result.result, result.is_error)
        if "invalid" not in shown:
            assert shown["arguments"] == call.arguments

    used = [each["messageId"] for each in snapshot["messages"] if each["kind"] == "usage"]
    of_run = [each.id for each in run.finished_messages if isinstance(each, tw.UsageMessage)]
    assert used == of_run[: len(used)]
    assert len(used) >= len(of_run) - stopped


@settings(max_examples=effort(30))
@given(script=agent_scripts(), is_native=st.booleans())
def test_a_message_is_completed_once_and_not_extended_afterwards(
    script: list[list[Any]], is_native: bool
) -> None:
    _, events = asyncio.run(run_events(script, is_native, None))
    closed: set[str] = set()
    opened: set[str] = set()
    for each in events:
        if each["kind"] not in ("text", "reasoning"):
            continue
        assert each["messageId"] not in closed
        if each["messageId"] not in opened:
            assert each["delta"].strip() or each["kind"] == "reasoning", "a blank opens nothing"
        opened.add(each["messageId"])
        if each.get("done"):
            closed.add(each["messageId"])
    assert closed == opened
