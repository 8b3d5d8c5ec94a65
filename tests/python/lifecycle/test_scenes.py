"""Scene runs as stream events: their steps, texts and calls."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
from calculator_scenes import ADD, ENTER, call
from coroutine_tests import on_a_loop
from effort import effort
from event_snapshots import FINAL, calls_of, events_of_run, snapshot_of, texts_of
from run_scripts import LOCATE, calculator_manager, scene_pieces
from toolweave import SceneManager, SceneStatus, SceneStep, ToolContext
from toolweave.lifecycle import StreamEventMapper
from toolweave.scenes import Append
from toolweave.testing import ScriptedModel


@settings(max_examples=effort(60))
@given(
    script=st.lists(st.lists(scene_pieces, max_size=4), max_size=4),
    is_streaming=st.booleans(),
    mode=st.sampled_from(["direct", "chaining", "scene"]),
)
def test_events_reduce_to_the_texts_and_calls_of_the_run(
    script: list[list[Any]], is_streaming: bool, mode: Any
) -> None:
    manager = calculator_manager(
        *script, "Fine.", "Fine.", "Fine.", streaming=is_streaming, mode=mode
    )
    scene = "Calculator" if mode == "scene" else None

    async def main() -> tuple[Any, list[Any]]:
        mapper = StreamEventMapper("chat", "run")
        async with manager.open("Hi!", scene=scene, run_id="run") as run:
            mapped = await events_of_run(run, mapper)
        return run, [*mapped, *mapper.run_finished()]

    run, events = asyncio.run(main())
    snapshot = snapshot_of(events)
    assert snapshot["problems"] == []
    reason = run.result.stop_reason.value
    shown_reason = "deferred" if reason == "awaiting_client" else reason
    assert snapshot["runs"][0]["stopReason"] == shown_reason
    texts = texts_of(snapshot)
    if is_streaming:
        for message in run.finished_messages:
            if isinstance(message, tw.TextMessage) and message.role is tw.Role.ASSISTANT:
                assert texts[message.id or ""] == ("text", message.text)
    answers = "".join(text for kind, text in texts.values() if kind == "text")
    assert run.result.text.strip() in answers
    calls = {call_id: each for (_, call_id), each in calls_of(snapshot).items()}
    for executed in run.result.executed:
        shown = calls[executed.call_id]
        assert (shown["result"], shown["isError"]) == (executed.result, executed.is_error)
        assert shown["state"] in FINAL
        if "invalid" not in shown:
            assert shown["arguments"] == executed.arguments
    waiting = {step.call_id for step in run.result.awaiting}
    assert {each for each, shown in calls.items() if shown["state"] not in FINAL} == waiting


@on_a_loop
async def test_each_step_is_an_event_with_its_cost_and_pieces_of_text_are_text() -> None:
    manager = calculator_manager(
        [ENTER, tw.UsageUpdate(10, 5)],
        ["Let me see. ", ADD, tw.UsageUpdate(20, 7)],
        [tw.ReasoningDelta("Easy."), "It is ", "42."],
        streaming=True,
    )
    mapper = StreamEventMapper("chat", "run")
    steps: list[SceneStep] = []
    events: list[Any] = []
    async with manager.open("15 + 27?", run_id="run") as run:
        async for step in run:
            steps.append(step)
            events += mapper.map(step, generation_id=run.generation_id)
    step_dicts = [event["step"] for event in events if event["kind"] == "scene"]
    assert step_dicts == [s.to_dict() for s in steps if s.status is not SceneStatus.STREAMING]
    assert sum(step.get("inputTokens", 0) for step in step_dicts) >= 30
    _, answer = [m for m in run.finished_messages if m.kind == "text" and m.role == "assistant"]
    deltas = [(e["messageId"], e["delta"]) for e in events if e["kind"] == "text"]
    assert deltas[-3:] == [(answer.id, "It is "), (answer.id, "42."), (answer.id, "")]
    assert answer.id == f"{answer.generation_id}.1", "the thought before it is a message as well"


@on_a_loop
async def test_a_tool_that_fails_or_is_unknown_is_a_call_with_an_error() -> None:
    manager = calculator_manager(ENTER, [call("Fail"), call("Nope")], "So be it.")
    mapper = StreamEventMapper("chat", "run")
    async with manager.open("Hi!") as run:
        snapshot = snapshot_of(await events_of_run(run, mapper))
    shown = {each["name"]: each for each in calls_of(snapshot).values()}
    assert {name: each["state"] for name, each in shown.items()} == {
        "Fail": "error",
        "Nope": "error",
    }
    assert "it broke" in shown["Fail"]["result"]


@on_a_loop
async def test_a_client_tool_waits_and_has_its_result_in_the_next_run() -> None:
    manager = calculator_manager(ENTER, LOCATE, "You are in Oslo.")
    mapper = StreamEventMapper("chat", "one")
    async with manager.open("Where am I?", conversation="c", run_id="one") as run:
        events = [
            *mapper.run_started(),
            *await events_of_run(run, mapper),
            *mapper.run_finished(),
        ]
    [shown] = calls_of(snapshot_of(events)).values()
    assert (shown["state"], shown["arguments"]) == ("deferred", {"accuracy": 5})
    mapper = StreamEventMapper("chat", "two")
    async with manager.open(results={shown["key"]: "Oslo"}, conversation="c", run_id="two") as run:
        events += await events_of_run(run, mapper)
    snapshot = snapshot_of(events)
    [shown] = calls_of(snapshot).values()
    assert (shown["state"], shown["result"]) == ("success", "Oslo")
    assert snapshot["problems"] == []


@on_a_loop
async def test_a_question_of_a_tool_waits_for_an_answer() -> None:
    manager = SceneManager(ScriptedModel(ENTER, call("ask"), "Fine."))

    async def ask(context: ToolContext) -> str:
        return str(await context.ask("Really?"))

    manager.scene("Calculator").tool(ask)
    mapper = StreamEventMapper("chat", "run")
    events: list[Any] = []
    async with manager.open("Hi!") as run:
        async for step in run:
            events += mapper.map(step, generation_id=run.generation_id)
            if step.status is SceneStatus.AWAITING_CLIENT:
                [shown] = calls_of(snapshot_of(events)).values()
                assert (shown["state"], shown["question"]) == ("awaiting_answer", "Really?")
                manager.resolve(shown["key"], "yes")
    [shown] = calls_of(snapshot_of(events)).values()
    assert (shown["state"], shown["result"]) == ("success", "yes")


@on_a_loop
async def test_text_of_a_hook_is_a_separate_message() -> None:
    manager = calculator_manager(ENTER, "It is 42.", streaming=True)
    manager.after_scene(lambda _, __: Append("No warranty."))
    mapper = StreamEventMapper("chat", "run")
    async with manager.open("Hi!", run_id="run") as run:
        texts = texts_of(snapshot_of([*await events_of_run(run, mapper), *mapper.run_finished()]))
    assert [text for _, text in texts.values()] == ["It is 42.", "No warranty."]
    stored = {message.id for message in run.finished_messages}
    assert texts.keys() <= stored


@on_a_loop
async def test_a_failed_run_has_an_error_event_and_ends_with_it() -> None:
    manager = calculator_manager(ENTER, tw.ModelError("the socket is gone", "m", status=502))
    mapper = StreamEventMapper("chat", "run")
    async with manager.open("Hi!") as run:
        events = [*await events_of_run(run, mapper), *mapper.run_finished()]
    snapshot = snapshot_of(events)
    [error] = [each for each in snapshot["messages"] if each["kind"] == "error"]
    assert error["message"]
    [ended] = snapshot["runs"]
    assert ended["stopReason"] == "error"
    assert ended["error"]


def test_without_reply_ids_they_are_derived_from_the_run_and_a_number() -> None:
    mapper = StreamEventMapper("chat", "run")
    steps = [
        SceneStep(SceneStatus.STREAMING, message="Wait. "),
        SceneStep(SceneStatus.FUNCTION_REQUEST, function="Add", call_id="a", arguments={}),
        SceneStep(SceneStatus.FUNCTION_COMPLETED, function="Add", call_id="a", result="3"),
        SceneStep(SceneStatus.STREAMING, message="It is 3."),
        SceneStep(SceneStatus.COMPLETED),
    ]
    snapshot = snapshot_of(event for step in steps for event in mapper.map(step))
    assert texts_of(snapshot) == {"run.0.0": ("text", "Wait. "), "run.1.0": ("text", "It is 3.")}
    assert list(calls_of(snapshot)) == [("run.0.calls", "a")]
