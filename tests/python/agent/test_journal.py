"""Journals of replies, agents and scenes, and the state of runs in progress."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import toolweave as tw
from calculator_scenes import ADD, ENTER, Calculator, call
from coroutine_tests import collect, of_kind, on_a_loop
from memory_journal import MemoryJournal
from toolweave import SceneManager, SceneStopReason, StopReason
from toolweave.agent import Agent, AgentResult
from toolweave.executor import Deferred, DeferredResults, PendingResult
from toolweave.natural import NaturalToolUse
from toolweave.testing import ScriptedModel

PING = "<ping/>"


def ping() -> str:
    return "pong"


def book(table: int) -> Deferred:
    return Deferred(f"booking-{table}")


BOOK = '<book>{"table": 4}</book>'


@on_a_loop
async def test_a_reply_records_its_calls() -> None:
    journal = MemoryJournal()
    use = NaturalToolUse(ScriptedModel([PING, " and ", PING]), [ping], generation_ids=lambda: "g")
    async with use.open("Hi!", journal=journal) as reply:
        assert reply.generation_id == "g"
        await reply.wait()
    assert journal.of("call_g_0") == journal.of("call_g_1") == ["started", "finished"]


@on_a_loop
async def test_a_failing_journal_stops_the_model_and_raises_its_error() -> None:
    endless = asyncio.Event()

    left: list[BaseException] = []

    async def pieces() -> Any:
        yield PING
        try:
            await endless.wait()
        except asyncio.CancelledError as error:
            left.append(error)
            raise

    model = ScriptedModel(lambda _: pieces())
    agent = Agent(model, [ping])
    seen: list[Any] = []
    async with agent.open("Hi!", journal=MemoryJournal(fails_at=0)) as run:
        with pytest.raises(OSError, match="the disk is full"):
            await asyncio.wait_for(collect(run, seen), 10)
    assert len(left) == 1
    assert of_kind(tw.ToolStarted, seen) == []
    [aggregate] = of_kind(tw.ToolAggregateMessage, list(run.messages))
    assert [str(each.error_code) for each in aggregate.tool_results] == ["interrupted"]
    assert run.finished_messages == run.messages


@on_a_loop
async def test_a_run_has_complete_replies_only_and_the_id_of_the_current_one() -> None:
    ids = iter(["one", "two"])
    agent = Agent(
        ScriptedModel(["Let me see. ", PING], "Pong it is."),
        [ping],
        generation_ids=lambda: next(ids),
    )
    history = [tw.TextMessage("Before.")]
    async with agent.open("Hi!", history=history, chat_id="c", run_id="r") as run:
        assert (run.run_id, run.generation_id) == ("r", None)
        assert [m.text for m in of_kind(tw.TextMessage, list(run.finished_messages))] == ["Hi!"]
        added: dict[str | None, int] = {}
        async for event in run:
            if not isinstance(event, AgentResult):
                added[run.generation_id] = len(run.finished_messages)
    assert added == {"one": 1, "two": 3}
    assert run.result is not None
    assert run.finished_messages == run.result.new_messages
    assert [m.id for m in run.finished_messages] == [None, "one.0", "one.calls", "two.0"]
    assert {m.run_id for m in run.finished_messages[1:]} == {"r"}
    assert run.changed_messages == ()


@on_a_loop
async def test_a_late_result_is_recorded_by_the_run_that_merges_it() -> None:
    journal = MemoryJournal()
    ids = iter(["one", "two"])
    model = ScriptedModel(["One moment. ", BOOK], "It is booked.")
    agent = Agent(model, [book], generation_ids=lambda: next(ids))
    async with agent.open("A table!", journal=journal) as paused:
        await paused.wait()
    assert paused.result is not None
    assert paused.result.stop_reason is StopReason.DEFERRED
    assert journal.of("call_one_0") == ["started", "deferred"]

    # In another process: what is awaited comes from wherever it was kept.
    awaited = journal.awaited["call_one_0"]
    deferred = DeferredResults()
    deferred.restore(PendingResult(awaited.key, awaited.call))
    other = Agent(model, [book], deferred=deferred, generation_ids=lambda: next(ids))
    other.resolve("booking-4", {"confirmed": True})
    events: list[Any] = []
    async with other.open(None, history=paused.messages, journal=journal) as run:
        async for event in run:
            if isinstance(event, tw.ToolResult):
                assert journal.of("call_one_0") == ["started", "deferred", "finished"]
            if isinstance(event, (tw.ToolResult, tw.ToolAggregateMessage)):
                assert run.generation_id == "one"
            events.append(event)
    [merged] = of_kind(tw.ToolAggregateMessage, events)
    assert run.changed_messages == (merged,)
    assert merged.id == "one.calls"
    assert [m.id for m in run.finished_messages] == ["two.0"]


def test_what_is_restored_is_awaited_once_and_under_no_key_of_another() -> None:
    deferred = DeferredResults()
    call_ = tw.ToolCall("c", "book", {"table": 4})
    entry = PendingResult("key", call_, note="ring us")
    assert deferred.get("key") is None
    deferred.restore(entry)
    deferred.resolve("key", 1)
    deferred.restore(PendingResult("key", call_))
    assert deferred.get("key") == entry
    assert deferred.result_of("key") is not None
    with pytest.raises(ValueError, match="belongs to call 'c'"):
        deferred.restore(PendingResult("key", tw.ToolCall("d", "book", {"table": 4})))


def calculator_manager(*replies: Any, **options: Any) -> SceneManager:
    manager = SceneManager(ScriptedModel(*replies), **options)
    scene = manager.scene("Calculator").service(Calculator(), methods={"add": "Add"})
    return scene.client_tool("Get Location").manager


@on_a_loop
async def test_scenes_record_their_tool_calls_and_not_scene_choices() -> None:
    journal = MemoryJournal()
    manager = calculator_manager(ENTER, ADD, "It is 42.")
    async with manager.open("15 + 27?", journal=journal, run_id="r") as run:
        assert (run.run_id, run.generation_id) == ("r", None)
        of_replies: dict[str, str | None] = {}
        async for step in run:
            of_replies[step.message or ""] = run.generation_id
            if step.status is tw.SceneStatus.RUNNING:
                assert len(run.finished_messages) >= 3
    assert [what for what, _ in journal.log] == ["started", "finished"]
    assert run.result is not None
    assert run.finished_messages == run.result.new_messages
    assert of_replies["Executing tool: Add"] != of_replies["It is 42."]
    of_answer = [m.generation_id for m in run.finished_messages if m.kind == "text"]
    assert of_replies["It is 42."] == of_answer[-1]


@on_a_loop
async def test_a_client_result_is_recorded_by_the_run_that_delivers_it() -> None:
    journal = MemoryJournal()
    manager = calculator_manager(ENTER, call("Get_Location"), "You are in Oslo.")
    async with manager.open("Where am I?", conversation="c", journal=journal) as paused:
        steps = await collect(paused)
    [[call_id, *_], *_] = [[who] for what, who in journal.log if what == "deferred"]
    waiting = steps[-2]
    assert waiting.call_id == call_id
    results = {waiting.interaction_id: "Oslo"}
    async with manager.open(results=results, conversation="c", journal=journal) as run:
        async for step in run:
            if step.status is tw.SceneStatus.FUNCTION_COMPLETED:
                assert journal.of(call_id) == ["started", "deferred", "finished"]
    assert journal.results[call_id].result == "Oslo"
    [changed] = run.changed_messages
    assert isinstance(changed, tw.ToolAggregateMessage)
    assert [each.result for each in changed.tool_results] == ["Oslo"]


@on_a_loop
async def test_a_journal_that_fails_ends_a_run_of_scenes() -> None:
    manager = calculator_manager(ENTER, ADD, "It is 42.")
    async with manager.open("15 + 27?", journal=MemoryJournal(fails_at=0)) as run:
        result = await run.wait()
    assert result.stop_reason is SceneStopReason.ERROR
    assert isinstance(result.exception, OSError)
    assert [each.is_error for each in result.executed] == [True]


def test_invalid_journals_are_refused() -> None:
    nothing: Any = object()
    model = ScriptedModel()
    for opens in (
        lambda: Agent(model).open("Hi!", journal=nothing),
        lambda: NaturalToolUse(model).open("Hi!", journal=nothing),
        lambda: calculator_manager().open("Hi!", journal=nothing),
    ):
        with pytest.raises(TypeError, match="coroutine methods started and finished"):
            opens()
