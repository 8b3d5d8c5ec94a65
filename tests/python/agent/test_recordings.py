"""Agents on replies of real models, delta by delta as their servers sent them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import toolweave as tw
from coroutine_tests import collect, of_kind, on_a_loop
from parser_replies import joined
from toolweave._demo.recordings import RECORDED_ON, Recording, recordings
from toolweave._demo.toolbox import ToolBox
from toolweave.agent import Agent
from toolweave.executor import ToolProgress, ToolStarted
from toolweave.natural import NaturalToolUse
from toolweave.testing import ScriptedModel
from toolweave.tools import Toolset

CONTRACTS = [tool.contract for tool in ToolBox(RECORDED_ON).tools]
RECORDINGS = [pytest.param(each, id=each.name) for each in recordings()]


def tools() -> Toolset:
    return Toolset(ToolBox(RECORDED_ON).tools)


def script(recording: Recording) -> list[Any]:
    return [*recording.deltas, tw.FinishUpdate(recording.finish_reason)]


def parsed_events(recording: Recording) -> list[tw.Event]:
    """Return the events that a parser finds in the whole reply."""
    truncated = recording.finish_reason == "length"
    return list(tw.parse("".join(recording.deltas), CONTRACTS, truncated=truncated))


@on_a_loop
@pytest.mark.parametrize("recording", RECORDINGS)
async def test_the_model_gets_a_result_for_every_call_of_a_real_reply(
    recording: Recording,
) -> None:
    model = ScriptedModel(script(recording), "I see.")
    result = await Agent(model, tools()).run(recording.prompt)
    found = parsed_events(recording)
    calls = [e for e in found if isinstance(e, (tw.ToolCall, tw.InvalidToolCall))]
    text = "".join(event.text for event in found if isinstance(event, tw.TextDelta))
    aggregates = [m for m in result.messages if isinstance(m, tw.ToolAggregateMessage)]
    assert bool(aggregates) == bool(calls)
    assert len(model.requests) == 1 + bool(calls)
    if not calls:
        assert result.text == text.strip()
        return
    assert [c.raw for each in aggregates for c in each.tool_calls] == [c.raw for c in calls]
    results = [result for each in aggregates for result in each.tool_results]
    for call, result_of_it in zip(calls, results, strict=True):
        assert result_of_it.is_error or isinstance(call, tw.ToolCall)
    results_message = model.requests[1].messages[-1]
    assert isinstance(results_message, tw.TextMessage)
    assert results_message.role is tw.Role.USER
    assert results_message.text.count("<tool_response ") == len(calls)
    answer_text = "".join(m.text for m in result.messages[1:-1] if isinstance(m, tw.TextMessage))
    # White space between calls is no message.
    assert answer_text.split() == text.split()


@on_a_loop
@pytest.mark.parametrize("recording", RECORDINGS)
async def test_a_real_reply_streams_its_parsed_events_while_calls_run(
    recording: Recording,
) -> None:
    natural = NaturalToolUse(
        ScriptedModel(script(recording)), tools(), id_factory=lambda index: f"call_{index}"
    )
    events = await collect(natural.stream(recording.prompt))
    running = (ToolStarted, ToolProgress, tw.ToolResult, tw.ToolAggregateMessage)
    kinds = (*running, tw.UsageMessage, tw.FinishUpdate)
    written = [event for event in events if not isinstance(event, kinds)]
    assert joined(written) == joined(parsed_events(recording))
    ran = {event.tool_call_id for event in of_kind(ToolStarted, events)}
    assert ran == {event.id for event in of_kind(tw.ToolCall, events)}


def test_a_recorded_loop_is_cut_short() -> None:
    """The replies of a model that repeats itself, one call at a time."""
    (recording,) = [each for each in recordings() if each.name == "loop"]
    calls = [event.raw for event in parsed_events(recording) if isinstance(event, tw.ToolCall)]
    assert len(calls) > 6
    agent = Agent(ScriptedModel(*calls), tools(), max_iterations=len(calls))
    result = asyncio.run(agent.run(recording.prompt))
    assert (result.stop_reason, result.iterations) == ("loop", 5)
