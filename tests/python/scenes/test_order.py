"""The order of scene steps is the order of writing."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
import virtual_time
from coroutine_tests import on_a_loop
from effort import effort
from event_snapshots import snapshot_of
from order_of_writing import (
    Piece,
    check_neighbours,
    check_results,
    note,
    of_messages,
    of_snapshot,
    order,
    script,
    written_replies,
)
from toolweave import SceneManager, SceneStatus, SceneStep
from toolweave.lifecycle import StreamEventMapper
from toolweave.testing import ScriptedModel


async def run_reply(
    pieces: list[Piece], *, streaming: bool
) -> tuple[list[SceneStep], list[Any], tw.SceneResult]:
    """Return the steps, the events and the result of a run whose second reply is this one."""
    model = ScriptedModel("<S/>", [*script(pieces, is_native=False)], "Fine.", "Fine.")
    manager = SceneManager(model, streaming=streaming)
    manager.scene("S").tool(note)
    mapper = StreamEventMapper("chat", "run")
    steps: list[SceneStep] = []
    events: list[Any] = []
    async with manager.open("Hi!", run_id="run") as run:
        async for step in run:
            steps.append(step)
            events += mapper.map(step, generation_id=run.generation_id)
    assert run.result is not None
    return steps, events + mapper.run_finished(), run.result


@settings(max_examples=effort(80))
@given(pieces=written_replies(), streaming=st.booleans())
def test_steps_messages_and_events_are_in_the_order_of_writing(
    pieces: list[Piece], streaming: bool
) -> None:
    steps, events, result = virtual_time.run(run_reply(pieces, streaming=streaming))
    has_calls = any(kind == "call" for kind, _ in pieces)
    has_text = any(kind == "text" and not text.isspace() for kind, text in pieces)
    if not has_calls and not has_text:
        return
    answer: list[Piece] = [("text", "Fine.")] if has_calls else []
    expected = [*order(pieces), *order(answer)]
    visible = [piece for piece in expected if piece[0] != "reasoning"]

    stored_messages = [m for m in result.messages if m.role is tw.Role.ASSISTANT][1:]
    assert order(of_messages(stored_messages)) == expected
    check_results(stored_messages)
    check_neighbours(stored_messages)

    seen: list[Piece] = []
    streamed: list[Piece] = []
    for step in steps:
        if step.status is SceneStatus.FUNCTION_REQUEST and step.arguments is not None:
            seen.append(("call", str(step.arguments["n"])))
            streamed.append(seen[-1])
        elif step.status is SceneStatus.RUNNING:
            seen.append(("text", step.message or ""))
        elif step.status is SceneStatus.STREAMING:
            streamed.append(("text", step.message or ""))
    assert order(seen) == visible
    assert not streaming or order(streamed) == visible

    snapshot = snapshot_of(events)
    assert snapshot["problems"] == []
    shown = [each for each in snapshot["messages"] if not _is_choice(each)]
    assert order(of_snapshot({"messages": shown})) == visible
    shown_ids = [each["messageId"] for each in shown]
    stored = [each.id for each in stored_messages if each.kind != "reasoning"]
    if has_calls:
        assert shown_ids == stored


def _is_choice(message: dict[str, Any]) -> bool:
    """Return True if the message is the model's choice of the scene."""
    return any(call["name"] == "S" for call in message.get("toolCalls", ()))


@on_a_loop
async def test_text_after_calls_leaves_the_request_unanswered() -> None:
    reply = 'Let me see. <note>{"n": 1}</note> One moment.'
    manager = SceneManager(ScriptedModel(reply, "It is noted."), max_iterations=1)
    manager.scene("S").tool(note)
    stopped = await manager.run("Note 1.", scene="S", conversation="c")
    assert stopped.stop_reason == "max_iterations"
    assert isinstance(stopped.messages[-1], tw.TextMessage)
    answered = await manager.run(scene="S", conversation="c")
    assert (answered.text, answered.error) == ("It is noted.", None)
    again = await manager.run(scene="S", conversation="c")
    assert again.error == "There is nothing to answer"
