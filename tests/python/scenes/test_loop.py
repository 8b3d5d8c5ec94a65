"""The loop of a scene: its tools, limits, failures and cancellations."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import toolweave as tw
from calculator_scenes import (
    ADD,
    ENTER,
    RecordingStore,
    call,
    manager_of,
    model_of,
    native,
    result_of,
    statuses_of,
    steps_of,
)
from coroutine_tests import collect, on_a_loop
from toolweave import SceneManager, SceneStatus, SceneStopReason
from toolweave.conversations import Conversation
from toolweave.testing import ScriptedModel


def aggregates(result: tw.SceneResult) -> list[tw.ToolAggregateMessage]:
    return [m for m in result.messages if isinstance(m, tw.ToolAggregateMessage)]


# Tools.


@on_a_loop
async def test_tools_of_one_reply_run_concurrently_and_keep_their_order_in_history() -> None:
    started, second_is_done = asyncio.Event(), asyncio.Event()

    async def first() -> str:
        started.set()
        await second_is_done.wait()
        return "1"

    async def second() -> str:
        await started.wait()
        second_is_done.set()
        return "2"

    manager = SceneManager(ScriptedModel("<S/>", "<first/> and <second/>", "Both."))
    manager.scene("S").tool(first).tool(second)
    steps = await steps_of(manager, "Go.")
    assert [message for _, message in statuses_of(steps)] == [
        "Entering scene: S",
        "Executing tool: first",
        "and",
        "Executing tool: second",
        "Tool second executed: 2",
        "Tool first executed: 1",
        "Both.",
        "Both.",
    ]
    result = await result_of(
        SceneManager(ScriptedModel("<S/>", "<second/><first/>", "Both."))
        .scene("S")
        .tool(first)
        .tool(second)
        .manager,
        "Go.",
    )
    assert [r.name for r in aggregates(result)[1].tool_results] == ["second", "first"]


@on_a_loop
async def test_tool_errors_go_to_the_model_and_do_not_end_the_run() -> None:
    manager = manager_of(ENTER, call("Fail") + call("Nope"), "It did not work.")
    steps = await steps_of(manager, "Try!")
    assert [(s.status.value, s.function, s.message, s.fatal) for s in steps[1:-1]] == [
        ("Error", "Nope", "Tool 'Nope' not found", False),
        ("FunctionRequest", "Fail", "Executing tool: Fail", False),
        ("Error", "Fail", "Error executing tool: it broke", False),
        ("Running", None, "It did not work.", False),
    ]
    unknown, _, failed, _ = steps[1:-1]
    assert unknown.call_id
    assert failed.call_id
    assert failed.arguments == {}
    assert failed.error == "Error executing tool: it broke"
    assert steps[-1].stop_reason is SceneStopReason.COMPLETED
    read = model_of(manager).requests[2].messages[-1].text
    assert "it broke" in read
    assert "Tool 'Nope' not found. Available tools: Add, Multiply, Fail" in read


@on_a_loop
async def test_reused_call_ids_are_made_unique() -> None:
    again = tw.ToolCall("call_0", "Add", {"a": 1, "b": 1})
    replies: list[Any] = [
        [tw.ToolCall("call_0", "Calculator", {})],
        [again],
        [again.__replace__(arguments={"a": 2, "b": 2})],
        [again.__replace__(arguments={"a": 3, "b": 3})],
        "Done.",
    ]
    result = await result_of(manager_of(*replies, tool_mode="native"), "Go.")
    assert [each.result for each in result.executed] == ["2.0", "4.0", "6.0"]
    for aggregate in aggregates(result):
        ids = [each.id for each in aggregate.tool_calls]
        assert len(set(ids)) == len(ids)
        assert [each.tool_call_id for each in aggregate.tool_results] == ids


@on_a_loop
async def test_all_parts_of_a_reply_are_kept() -> None:
    pieces = [tw.ReasoningDelta("Hm."), "One. ", ADD, " Two. ", ADD, " Three."]
    result = await result_of(manager_of(ENTER, pieces, "42."), "Twice, please.")
    kinds = [m.kind.value for m in result.messages]
    assert kinds[:2] == ["text", "tools_aggregate"]
    assert kinds[2:] == ["reasoning", *["text", "tools_aggregate"] * 2, "text", "text"]
    texts = [m.text for m in result.messages if isinstance(m, tw.TextMessage)]
    assert texts[1:-1] == ["One. ", " Two. ", " Three."]
    assert [len(each.tool_calls) for each in aggregates(result)] == [1, 1, 1]
    assert len(result.executed) == 2


@on_a_loop
async def test_results_are_cached_by_arguments_if_requested() -> None:
    made: list[int] = []

    async def look_up(city: str, unit: str = "c") -> str:
        made.append(1)
        return f"8 {unit} in {city}"

    twice = call("look_up", '{"city": "Oslo", "unit": "f"}')
    again = call("look_up", '{"unit": "f", "city": "Oslo"}')
    manager = SceneManager(ScriptedModel("<S/>", twice, again, "8."), cache=True)
    manager.scene("S").tool(look_up)
    steps = await steps_of(manager, "Go.")
    assert len(made) == 1
    assert [s.status.value for s in steps].count("FunctionRequest") == 2
    assert [s.status.value for s in steps].count("FunctionCompleted") == 2


@on_a_loop
async def test_a_tool_has_its_own_timeout() -> None:
    async def slow() -> None:
        await asyncio.Event().wait()

    manager = SceneManager(ScriptedModel("<S/>", "<slow/>", "Too slow."), timeout=0.01)
    manager.scene("S").tool(slow)
    steps = await steps_of(manager, "Go.")
    assert steps[2].message is not None
    assert steps[2].message.startswith("Error executing tool: Tool 'slow' did not finish within")
    assert steps[-1].message == "Too slow."


# Limits.


@on_a_loop
async def test_the_default_limit_is_ten_iterations() -> None:
    calls = [call("Add", f'{{"a": {number}, "b": 0}}') for number in range(10)]
    manager = manager_of(ENTER, *calls)
    steps = await steps_of(manager, "Count!")
    assert statuses_of(steps)[-2:] == [
        ("Error", "Maximum tool call iterations (10) reached"),
        ("Completed", ""),
    ]
    assert steps[-2].fatal
    assert steps[-1].stop_reason is SceneStopReason.MAX_ITERATIONS
    assert sum(s.status is SceneStatus.FUNCTION_COMPLETED for s in steps) == 10


@on_a_loop
async def test_at_the_limit_a_last_answer_without_tools_can_be_requested() -> None:
    manager = manager_of(
        ENTER, ADD, "As far as I know, 42.", max_iterations=1, answer_at_limit=True
    )
    steps = await steps_of(manager, "15 + 27?")
    assert statuses_of(steps)[-3:] == [
        ("Error", "Maximum tool call iterations (1) reached"),
        ("Running", "As far as I know, 42."),
        ("Completed", "As far as I know, 42."),
    ]
    assert not steps[-3].fatal
    assert steps[-1].stop_reason is SceneStopReason.MAX_ITERATIONS
    assert "Add" not in model_of(manager).requests[-1].messages[0].text


@pytest.mark.parametrize("is_native", [False, True])
@on_a_loop
async def test_calls_in_the_answer_at_the_limit_do_not_run(is_native: bool) -> None:
    last: list[Any] = ["I add.", native("Add", a=1, b=2) if is_native else ADD]
    replies = [native("Calculator"), native("Add", a=15, b=27)] if is_native else [ENTER, ADD]
    limits = {"max_iterations": 1, "answer_at_limit": True}
    steps = await steps_of(manager_of(*replies, last, is_native=is_native, **limits), "15 + 27?")
    assert statuses_of(steps)[-3:] == [
        ("Error", "Maximum tool call iterations (1) reached"),
        ("Running", "I add."),
        ("Completed", "I add."),
    ]
    assert steps[-1].stop_reason is SceneStopReason.MAX_ITERATIONS


@on_a_loop
async def test_repeated_calls_end_a_scene_and_new_arguments_do_not() -> None:
    steps = await steps_of(manager_of(ENTER, ADD, ADD, ADD), "15 + 27?")
    assert statuses_of(steps)[-2] == ("Error", "The same tool calls gave the same results 3 times")
    assert steps[-1].stop_reason is SceneStopReason.MAX_ITERATIONS
    others = [call("Add", f'{{"a": {number}, "b": 0}}') for number in range(4)]
    assert (await result_of(manager_of(ENTER, *others, "Done."), "Count!")).text == "Done."


@on_a_loop
async def test_a_run_has_a_timeout() -> None:
    never = asyncio.Event()

    async def slow() -> None:
        await never.wait()

    manager = SceneManager(ScriptedModel("<S/>", "<slow/>"), run_timeout=0.01)
    manager.scene("S").tool(slow)
    steps = await steps_of(manager, "Go.")
    assert statuses_of(steps)[-2:] == [
        ("Error", "The run took longer than 0.01 seconds"),
        ("Completed", ""),
    ]
    assert steps[-2].fatal
    assert steps[-1].stop_reason is SceneStopReason.ERROR


# Failures.


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (tw.ModelError("x", "openai", 429), "OpenAI API error: 429 Too Many Requests"),
        (tw.ModelError("x", "anthropic", 500), "Anthropic API error: 500 Internal Server Error"),
        (tw.ModelError("overloaded", "acme", 599), "Acme API error: 599 overloaded"),
        (tw.ModelError("no route\nto host", "openai"), "OpenAI API error: no route"),
        (tw.ModelError("gone"), "Model API error: gone"),
        (KeyError("/home/ann/secret.py"), "Execution failed: 'secret.py'"),
        (ValueError(), "Execution failed: ValueError"),
    ],
)
@on_a_loop
async def test_a_failed_model_is_an_error_step_and_never_a_message(
    error: Exception, message: str
) -> None:
    store = RecordingStore()
    manager = manager_of(ENTER, ADD, ["It is p", error], conversations=store)
    steps = await steps_of(manager, "15 + 27?", conversation="c")
    assert statuses_of(steps)[-2:] == [("Error", message), ("Completed", "")]
    assert steps[-2].fatal
    assert steps[-2].error == (str(error) or message)
    assert steps[-1].stop_reason is SceneStopReason.ERROR
    (saved,) = store.saved
    assert [m.kind.value for m in saved.messages] == ["text", "tools_aggregate", "tools_aggregate"]


@on_a_loop
async def test_the_exception_is_in_the_result() -> None:
    error = tw.ModelError("gone", "openai", 503)
    result = await result_of(manager_of(error), "Hi!")
    assert result.exception is error
    assert result.error == "gone"
    assert result.stop_reason is SceneStopReason.ERROR


@on_a_loop
async def test_no_call_of_a_broken_reply_starts() -> None:
    result = await result_of(manager_of(ENTER, [ADD, tw.ModelError("gone")]), "15 + 27?")
    assert result.executed == ()


@pytest.mark.parametrize(
    ("reply", "message", "text"),
    [
        ("", "No response from LLM", ""),
        (
            ["It is", tw.FinishUpdate("length")],
            "The reply was cut off at the limit of tokens",
            "It is",
        ),
        (
            ["It is", tw.FinishUpdate("content_filter")],
            "The provider withheld the rest of the reply",
            "It is",
        ),
    ],
)
@on_a_loop
async def test_a_truncated_answer_is_a_failure(reply: Any, message: str, text: str) -> None:
    # An empty reply is asked for once more.
    steps = await steps_of(manager_of(ENTER, reply, reply), "15 + 27?")
    assert statuses_of(steps)[-2:] == [("Error", message), ("Completed", text)]
    assert steps[-1].stop_reason is SceneStopReason.ERROR


@on_a_loop
async def test_the_text_of_a_stream_without_finish_reason_is_emitted_once() -> None:
    model = ScriptedModel(ENTER, ["It is ", "42.", tw.FinishUpdate("missing")])
    manager = SceneManager(model)
    manager.scene("Calculator")
    assert statuses_of(await steps_of(manager, "15 + 27?", streaming=True))[1:] == [
        ("Streaming", "It is "),
        ("Streaming", "42."),
        ("Running", "It is 42."),
        ("Completed", "It is 42."),
    ]


@on_a_loop
async def test_an_exception_of_an_actor_is_an_error_before_the_last_step() -> None:
    manager = manager_of(ENTER)

    def broken(_: object) -> str:
        raise RuntimeError("the database is down")

    manager.scenes["Calculator"].actor(broken)
    steps = await steps_of(manager, "15 + 27?")
    assert statuses_of(steps)[-2:] == [
        ("Error", "Execution failed: the database is down"),
        ("Completed", ""),
    ]
    manager.actor(lambda _: 5)  # type: ignore[arg-type, return-value]
    assert (await result_of(manager, "?")).error == "an actor must return a string or None, got int"


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


@on_a_loop
async def test_an_unprintable_exception_is_an_error_too() -> None:
    steps = await steps_of(manager_of(UnprintableError()), "Hi!")
    assert statuses_of(steps) == [
        ("Error", "Execution failed: UnprintableError"),
        ("Completed", ""),
    ]


@on_a_loop
async def test_a_failing_store_is_an_error_after_the_answer() -> None:
    store = RecordingStore()
    store.failing = OSError("disk full")
    steps = await steps_of(manager_of("Hello!", conversations=store), "Hi!")
    assert statuses_of(steps) == [
        ("Running", "Hello!"),
        ("Error", "Execution failed: disk full"),
        ("Completed", "Hello!"),
    ]


@on_a_loop
async def test_exceptions_for_the_program_are_raised_after_the_last_step() -> None:
    def leave() -> None:
        raise SystemExit(3)

    manager = SceneManager(ScriptedModel("<S/>", "<leave/>"))
    manager.scene("S").tool(leave)
    steps: list[Any] = []
    with pytest.raises(SystemExit):
        await collect(manager.stream("Go."), steps)
    assert [s.status.value for s in steps].count("Completed") == 1
    assert steps[-1].stop_reason is SceneStopReason.ERROR


# Cancellation.


class SlowTool:
    """A tool that waits, and records how the wait ended."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.stopped = False

    async def wait(self) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped = True


def slow_manager(slow: SlowTool, store: RecordingStore | None = None) -> SceneManager:
    manager = SceneManager(ScriptedModel("<S/>", "<wait/>"), conversations=store)
    return manager.scene("S").service(slow).manager


@on_a_loop
async def test_a_cancelled_run_says_so_and_saves_its_messages() -> None:
    slow, store = SlowTool(), RecordingStore()
    async with slow_manager(slow, store).open("Go.", conversation="c") as run:
        steps = asyncio.ensure_future(collect(run))
        await slow.started.wait()
        await run.cancel()
        assert slow.stopped
        seen = await steps
    interrupted = "Tool 'wait' was interrupted before it finished; it may have had effects."
    assert statuses_of(seen)[-3:] == [
        ("FunctionRequest", "Executing tool: wait"),
        ("Error", f"Error executing tool: {interrupted}"),
        ("Completed", ""),
    ]
    assert not seen[-2].fatal
    assert seen[-1].stop_reason is SceneStopReason.CANCELLED
    (saved,) = store.saved
    (aggregate,) = [m for m in saved.messages[2:] if isinstance(m, tw.ToolAggregateMessage)]
    assert aggregate.tool_results[0].error_code is tw.ErrorCode.INTERRUPTED
    assert run.result is not None
    assert run.result.stop_reason is SceneStopReason.CANCELLED


@on_a_loop
async def test_leaving_the_stream_stops_the_tools() -> None:
    slow = SlowTool()
    stream = slow_manager(slow).stream("Go.")
    async for step in stream:
        if step.status is SceneStatus.FUNCTION_REQUEST:
            await slow.started.wait()
            break
    await stream.aclose()
    assert slow.stopped


@on_a_loop
async def test_leaving_the_stream_stops_the_model() -> None:
    left: list[str] = []

    async def pieces() -> Any:
        try:
            yield "I think"
            await asyncio.Event().wait()
        finally:
            left.append("the model")

    manager = SceneManager(ScriptedModel(pieces()), streaming=True)
    manager.scene("S")
    stream = manager.stream("Go.")
    assert (await anext(stream)).message == "I think"
    await stream.aclose()
    assert left == ["the model"]


@on_a_loop
async def test_cancelling_the_caller_of_run_stops_the_tools() -> None:
    slow = SlowTool()
    task = asyncio.ensure_future(slow_manager(slow).run("Go."))
    await slow.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert slow.stopped


@on_a_loop
async def test_a_run_cancelled_before_its_first_step_has_a_last_step() -> None:
    manager = manager_of()
    run = manager.open("Hi!")
    await run.cancel()
    (last,) = await collect(run)
    assert (last.status.value, last.stop_reason) == ("Completed", SceneStopReason.CANCELLED)
    begun = manager.open("Hi!")
    reading = asyncio.ensure_future(collect(begun))
    await asyncio.sleep(0)
    await begun.cancel()
    (last,) = await reading
    assert last.stop_reason is SceneStopReason.CANCELLED
    assert not model_of(manager).requests


@on_a_loop
async def test_a_run_has_one_reader() -> None:
    run = manager_of("Hello!").open("Hi!")
    assert (await run.wait()).text == "Hello!"
    assert (await run.wait()).text == "Hello!"
    assert native("Add").name == "Add"


@on_a_loop
async def test_a_save_in_progress_completes_when_a_run_is_cancelled() -> None:
    saving, go = asyncio.Event(), asyncio.Event()

    class Slowly(RecordingStore):
        async def save(self, conversation: Conversation) -> None:
            saving.set()
            await go.wait()
            await super().save(conversation)

    store = Slowly()
    run = manager_of("Hello!", conversations=store).open("Hi!")
    reading = asyncio.ensure_future(collect(run))
    await saving.wait()
    cancelling = asyncio.ensure_future(run.cancel())
    await asyncio.sleep(0)
    go.set()
    await cancelling
    assert (await reading)[-1].stop_reason is SceneStopReason.COMPLETED
    assert [m.text for m in store.saved[0].messages] == ["Hi!", "Hello!"]
