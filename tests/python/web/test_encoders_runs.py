"""Runs of agents, encoded like on the server: clients accept whatever a model writes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from encoded_runs import chunks, encode
from parser_replies import NAMES, TOOLS, replies, split_at
from protocol_grammars import AgUiStream, UiMessageStream
from toolweave import Agent
from toolweave.lifecycle import StreamEvent, StreamEventMapper
from toolweave.testing import ScriptedModel
from toolweave.tools import Toolset
from toolweave.web.encoders import AgUiEncoder, AiSdkEncoder, AiSdkVersion


def echo(**arguments: Any) -> Any:
    return arguments


ECHOES = Toolset(TOOLS, handlers=dict.fromkeys(NAMES, echo))


async def run_events(script: Sequence[Any]) -> tuple[list[StreamEvent], tuple[tw.Message, ...]]:
    """Return the events of a run, and the messages that it has added."""
    mapper = StreamEventMapper("chat", "run")
    agent = Agent(ScriptedModel(*script), ECHOES, max_iterations=len(script))
    events = mapper.run_started()
    async with agent.open("Hi!") as run:
        async for event in run:
            events += mapper.map(event, generation_id=run.generation_id)
        messages = run.messages[1:]
    return [*events, *mapper.run_finished()], messages


@pytest.mark.parametrize("version", [5, 6, 7])
@given(
    first=replies,
    second=replies,
    cut=st.lists(st.integers(0, 500), max_size=8),
    lost=st.integers(0, 200),
)
def test_clients_end_with_the_messages_of_the_run(
    first: str, second: str, cut: list[int], lost: int, version: AiSdkVersion
) -> None:
    script = [split_at(first, cut), split_at(second, cut), "Done."]
    events, messages = asyncio.run(run_events(script))
    ui, ag_ui = UiMessageStream(version), AgUiStream()
    ui.check(encode(AiSdkEncoder(version=version), events))
    payloads = encode(AgUiEncoder(history=[]), events)
    ag_ui.check(payloads)
    texts = {m.id: m.text for m in messages if isinstance(m, tw.TextMessage)}
    thoughts = {m.id: m.text for m in messages if isinstance(m, tw.ReasoningMessage)}
    assert {id_: text.strip() for id_, text in ui.texts.items()} == {
        id_: text.strip() for id_, text in (texts | thoughts).items()
    }
    assert ag_ui.texts == ui.texts
    results = {
        f"{message.generation_id}.{result.tool_call_id}": result.result
        for message in messages
        if isinstance(message, tw.ToolAggregateMessage)
        for result in message.tool_results
    }
    shown = {id_: c.get("output", c.get("errorText")) for id_, c in ui.results.items()}
    assert shown == results
    assert {id_: event["content"] for id_, event in ag_ui.results.items()} == results
    snapshots = [e["messages"] for e in chunks(payloads) if e["type"] == "MESSAGES_SNAPSHOT"]
    for snapshot in snapshots:
        assert {m["toolCallId"]: m["content"] for m in snapshot if m["role"] == "tool"} == results
    # The connection may be lost at any event.
    UiMessageStream(version).check(encode(AiSdkEncoder(version=version), events[:lost]))
    AgUiStream().check(encode(AgUiEncoder(history=[]), events[:lost]))
