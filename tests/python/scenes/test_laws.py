"""Laws of every run, for any output of the model and any time of cancellation."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import toolweave as tw
from calculator_scenes import Calculator, RecordingStore, call
from coroutine_tests import TEST_TIMEOUT
from toolweave import Scene, SceneManager, SceneRun, SceneStatus, SceneStep, SceneStopReason
from toolweave.costs import Price
from toolweave.testing import ScriptedModel

FATAL = {
    SceneStopReason.ERROR,
    SceneStopReason.BUDGET,
    SceneStopReason.MAX_ITERATIONS,
    SceneStopReason.RATE_LIMITED,
    SceneStopReason.UNAUTHORIZED,
}

texts = st.sampled_from(["Hello.", "  ", "", "Calculator", "<Nothing/>", "{}", "ok\n\n"])
calls = st.sampled_from(
    [
        call("Calculator"),
        call("calculator"),
        call("Weather_Report"),
        call("Calculater"),
        call("Add", '{"a": 1, "b": 2}'),
        call("Add", '{"a": 1}'),
        call("Add", "{nonsense"),
        call("Fail"),
        call("Nope"),
        call("Ask_User"),
        "<Calculator/>",
    ]
)
PLAN = json.dumps(
    {
        "answer": None,
        "steps": [
            {"id": 1, "scene": "Weather Report", "purpose": "look", "depends_on": [2]},
            {"id": 2, "scene": "Calculator", "purpose": "add", "depends_on": []},
        ],
    }
)
decisions = st.sampled_from(
    [
        PLAN,
        json.dumps({"continue": True, "reason": "more"}),
        json.dumps({"continue": False, "reason": "done"}),
        json.dumps({"answer": "Hello!", "steps": []}),
    ]
)
usages = st.builds(tw.UsageUpdate, st.integers(0, 50), st.integers(0, 50), st.integers(0, 9))
failures = st.sampled_from(
    [
        tw.ModelError("full", "openai", 429),
        ValueError("broken"),
        tw.FinishUpdate("length"),
        tw.FinishUpdate("missing"),
        tw.FinishUpdate("content_filter"),
    ]
)
replies = st.one_of(
    decisions,
    st.lists(calls, min_size=1, max_size=3),
    st.tuples(texts, calls, usages).map(list),
    st.lists(st.one_of(texts, calls, calls, decisions, usages), max_size=4),
    st.tuples(texts, failures).map(list),
)
# Most begin as they should, or little would come of them.
beginnings = st.sampled_from([[], [call("Calculator")], [call("Calculator")], [PLAN], [PLAN]])
scripts = st.tuples(beginnings, st.lists(replies, max_size=14)).map(lambda both: both[0] + both[1])
options = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["direct", "planning", "chaining", "scene"]),
        "max_iterations": st.integers(1, 3),
        "max_scenes": st.integers(1, 3),
        "answer_at_limit": st.booleans(),
        "verbose": st.booleans(),
        "streaming": st.booleans(),
        "budget": st.sampled_from([None, None, None, 0, 100]),
    }
)


# Made once: there are many runs.
TOOLS = Scene("Calculator").service(Calculator(), methods={"add": "Add", "fail": "Fail"}).toolset


def scripted_manager(script: list[Any], store: RecordingStore, **options: Any) -> SceneManager:
    manager = SceneManager(
        # A script that is over is a model that fails.
        ScriptedModel(*script, *[tw.ModelError("silence")] * 40, name="m"),
        prices={"m": Price("0.37", "1.1", per=1000)},
        conversations=store,
        **options,
    )
    manager.scene("Calculator", "Adds").tools([*TOOLS]).client_tool("Ask User")
    manager.scene("Weather Report")
    return manager.actor("Be brief.")


def scene_of(options: dict[str, Any]) -> str | None:
    return "calculator" if options["mode"] == "scene" else None


def check(steps: list[SceneStep], run: SceneRun, store: RecordingStore) -> None:
    result = run.result
    assert result is not None
    *before, last = steps
    assert last.status is SceneStatus.COMPLETED
    assert last.stop_reason is result.stop_reason
    assert last.message == result.text
    for step in before:
        assert step.status is not SceneStatus.COMPLETED
        assert step.stop_reason is None
    # Failures come right before the end, once.
    fatal = [step for step in steps if step.fatal]
    assert all(step.status is SceneStatus.ERROR for step in fatal)
    assert len(fatal) <= 1
    if result.stop_reason in FATAL - {SceneStopReason.MAX_ITERATIONS}:
        assert len(fatal) == 1
    if result.stop_reason not in FATAL:
        assert not fatal
    # Costs and tokens sum up.
    assert sum((step.cost for step in steps if step.cost is not None), Decimal(0)) == (
        result.total_cost
    )
    assert last.total_cost == result.total_cost
    assert sum(step.input_tokens for step in steps) == result.input_tokens
    assert sum(step.output_tokens for step in steps) == result.output_tokens
    totals = [step.total_cost for step in steps]
    assert totals == sorted(totals)
    # Each call has one result, and each call that was requested one step that says what came of it.
    awaited = {step.call_id for step in result.awaiting}
    for message in result.messages:
        if isinstance(message, tw.ToolAggregateMessage):
            called = [each.id for each in message.tool_calls]
            answered = [each.tool_call_id for each in message.tool_results]
            assert len(set(called)) == len(called)
            assert answered == [each for each in called if each not in awaited]
    ids = Counter(
        each.id
        for message in result.messages
        if isinstance(message, tw.ToolAggregateMessage)
        for each in message.tool_calls
    )
    assert all(count == 1 for count in ids.values())
    requested = [s.call_id for s in steps if s.status is SceneStatus.FUNCTION_REQUEST]
    finished = [
        s.call_id
        for s in steps
        if s.call_id is not None
        and (s.status is SceneStatus.FUNCTION_COMPLETED or s.status is SceneStatus.ERROR)
    ]
    assert len(set(requested)) == len(requested)
    assert len(set(finished)) == len(finished)
    assert set(requested) <= set(finished)
    # What came of it is what was kept.
    assert store.saved[-1].messages == list(result.messages)
    assert store.saved[-1].cost.amount == result.total_cost
    assert [each.interaction_id for each in store.saved[-1].pending] == [
        step.interaction_id for step in result.awaiting
    ]
    assert bool(result.awaiting) == (result.stop_reason is SceneStopReason.AWAITING_CLIENT)
    json.dumps([step.to_dict() for step in steps])


@settings(deadline=None)
@given(script=scripts, options=options)
def test_every_run_has_one_last_step_and_consistent_totals(
    script: list[Any], options: dict[str, Any]
) -> None:
    async def main() -> None:
        store = RecordingStore()
        manager = scripted_manager(script, store, **options)
        async with manager.open("Go.", scene=scene_of(options)) as run:
            steps = [step async for step in run]
        check(steps, run, store)
        event(f"{options['mode']}: {run.result.stop_reason}")  # type: ignore[union-attr]

    asyncio.run(asyncio.wait_for(main(), TEST_TIMEOUT))


@settings(deadline=None)
@given(script=scripts, options=options, turns=st.integers(1, 60))
def test_a_run_stopped_at_any_time_has_one_last_step(
    script: list[Any], options: dict[str, Any], turns: int
) -> None:
    async def main() -> None:
        store = RecordingStore()
        run = scripted_manager(script, store, **options).open("Go.", scene=scene_of(options))
        steps: list[SceneStep] = []

        async def read() -> None:
            steps.extend([step async for step in run])

        reading = asyncio.ensure_future(read())
        for _ in range(turns):
            await asyncio.sleep(0)
        await run.cancel()
        await reading
        assert run.result is not None
        event(str(run.result.stop_reason))
        if store.saved:
            check(steps, run, store)
        else:
            assert [step.status for step in steps][-1:] == [SceneStatus.COMPLETED]
            assert run.result.stop_reason is SceneStopReason.CANCELLED

    asyncio.run(asyncio.wait_for(main(), TEST_TIMEOUT))


@settings(deadline=None)
@given(script=scripts, options=options, count=st.integers(0, 6))
def test_leaving_a_stream_at_any_step_stops_everything(
    script: list[Any], options: dict[str, Any], count: int
) -> None:
    async def main() -> None:
        stream = scripted_manager(script, RecordingStore(), **options).stream(
            "Go.", scene=scene_of(options)
        )
        seen = 0
        async for _ in stream:
            seen += 1
            if seen > count:
                break
        await stream.aclose()
        # On Python 3.10 and 3.11 `wait_for` has a task of its own.
        assert len(asyncio.all_tasks()) <= 2

    asyncio.run(asyncio.wait_for(main(), TEST_TIMEOUT))


@pytest.mark.parametrize("mode", ["direct", "planning", "chaining"])
def test_conversations_continue_after_any_run(mode: str) -> None:
    async def main() -> None:
        store = RecordingStore()
        script: list[Any] = [
            tw.ModelError("down"),
            [call("Nope")],
            [call("Nope")],
            "not a plan",
            "not a plan",
            call("Calculator"),
        ]
        manager = scripted_manager(script, store, mode=mode)
        for number in range(6):
            result = await manager.run(f"Question {number}", conversation="c")
            assert result.messages[-len(result.new_messages)].text == f"Question {number}"

    asyncio.run(asyncio.wait_for(main(), TEST_TIMEOUT))
