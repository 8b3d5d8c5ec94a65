"""Environment of tools: context variables, threads, other loops, other executors."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

import pytest
import uvloop

from executor_events import call, codes, events_of, kinds, only, texts
from toolweave import ToolAggregateMessage, ToolCall, ToolResult
from toolweave.executor import ToolEvent, ToolExecutor, ToolProgress, ToolStarted
from toolweave.tools import Tool, ToolContext, Toolset, tool
from virtual_time import VirtualTimeLoop, run

user: ContextVar[str] = ContextVar("user", default="nobody")


def _sees_and_sets(name: str) -> str:
    seen = user.get()
    user.set(name)
    return seen


@tool
async def on_the_loop(name: str) -> str:
    return _sees_and_sets(name)


@tool
def in_a_thread(name: str) -> str:
    return _sees_and_sets(name)


@tool(pool="inline")
def inline(name: str) -> str:
    return _sees_and_sets(name)


@tool
async def as_a_generator(name: str) -> AsyncIterator[str]:
    yield _sees_and_sets(name)


EVERYWHERE: list[Tool[..., Any]] = [on_the_loop, in_a_thread, inline, as_a_generator]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("each", EVERYWHERE, ids=lambda each: each.name)
def test_a_tool_inherits_context_variables_and_its_changes_stay_local(
    each: Tool[..., Any], count: int
) -> None:
    async def main() -> None:
        user.set("ada")
        executor = ToolExecutor([each])
        aggregate = await executor.execute([call(each.name, {"name": "eve"})] * count)
        assert texts(aggregate) == ["ada"] * count
        assert user.get() == "ada"

    run(main(), asyncio.new_event_loop())


def test_blocking_tools_run_concurrently_off_the_loop() -> None:
    barrier = threading.Barrier(3, timeout=5)

    @tool
    def meet() -> int:
        barrier.wait()
        return threading.get_ident()

    async def main() -> None:
        aggregate = await ToolExecutor([meet]).execute([call("meet")] * 3)
        threads = {result.value for result in aggregate.tool_results}
        assert len(threads) == 3
        assert threading.get_ident() not in threads

    run(main(), asyncio.new_event_loop())


@tool
def double(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_blocking_tools_run_in_the_given_pool(pool: Callable[[int], Any]) -> None:
    with pool(1) as workers:
        for executor in (
            ToolExecutor([double], pool=workers),
            ToolExecutor([double.replace(pool=workers)]),
        ):
            aggregate = run(
                executor.execute([call("double", {"number": number}) for number in (1, 2)]),
                asyncio.new_event_loop(),
            )
            assert texts(aggregate) == ["2", "4"]


def test_a_sync_function_that_returns_an_awaitable_is_awaited() -> None:
    async def work(number: int) -> int:
        await asyncio.sleep(0)
        return number

    schema = {"type": "object", "properties": {"number": {"type": "integer"}}}
    hidden = Tool.from_schema("hidden", schema, lambda **given: functools.partial(work, **given)())
    aggregate = run(
        ToolExecutor([hidden]).execute([call("hidden", {"number": 3})]), asyncio.new_event_loop()
    )
    assert texts(aggregate) == ["3"]


def test_progress_may_come_from_any_thread_and_comes_before_the_result() -> None:
    @tool
    def count(context: ToolContext) -> str:
        for number in range(50):
            context.progress(number)
        return "done"

    @tool
    async def spread(context: ToolContext) -> str:
        def report() -> None:
            context.progress(threading.get_ident())

        await asyncio.get_running_loop().run_in_executor(None, report)
        return "done"

    async def main() -> list[ToolEvent]:
        return await events_of(ToolExecutor([count, spread]), [call("count"), call("spread")])

    events = run(main(), asyncio.new_event_loop())
    of_count = [event for event in only(events, ToolProgress) if event.tool_call_id == "count"]
    assert [event.value for event in of_count] == list(range(50))
    assert kinds(events).count("ToolProgress spread") == 1
    assert kinds(events).index("ToolResult count") > kinds(events).index("ToolProgress count")


def test_progress_after_the_result_is_dropped() -> None:
    late: list[ToolContext] = []

    @tool
    async def report_late(context: ToolContext) -> str:
        late.append(context)
        return "done"

    async def main() -> list[ToolEvent]:
        events: list[ToolEvent] = []
        async for event in ToolExecutor([report_late]).stream([call("report_late")]):
            events.append(event)
            if isinstance(event, ToolResult):
                assert late[0].cancelled
                late[0].progress("late")
        return events

    assert kinds(run(main())) == [
        "ToolStarted report_late",
        "ToolResult report_late",
        "ToolAggregateMessage",
    ]


def test_a_context_has_the_call_and_the_metadata() -> None:
    @tool
    async def look(context: ToolContext) -> list[Any]:
        return [context.call_id, context.attempt, context.cancelled, dict(context.metadata)]

    executor = ToolExecutor([look], metadata={"tenant": 7})
    [result] = run(executor.execute([call("look", call_id="c1")])).tool_results
    assert result.value == ["c1", 1, False, {"tenant": 7}]


def test_added_and_removed_tools_apply_from_the_next_reply_on() -> None:
    @tool
    async def extra() -> str:
        return "extra"

    @tool
    async def grow() -> str:
        if "extra" not in toolset:
            toolset.add(extra)
            toolset.remove("double")
        return "grown"

    toolset = Toolset([grow, double.replace(pool="inline")])
    executor = ToolExecutor(toolset)
    calls = [call("grow"), call("extra"), call("double", {"number": 1})]
    assert codes(run(executor.execute(calls))) == [None, "unknown_tool", None]
    assert codes(run(executor.execute(calls))) == [None, None, "unknown_tool"]
    assert [contract.name for contract in executor.contracts] == ["grow", "extra"]


def test_a_reply_keeps_the_tools_of_its_start() -> None:
    async def main() -> ToolAggregateMessage | None:
        toolset = Toolset([on_the_loop])
        async with ToolExecutor(toolset).open() as running:
            toolset.remove("on_the_loop")
            running.submit(call("on_the_loop", {"name": "eve"}))
            running.close()
            await running.wait()
        return running.aggregate

    aggregate = run(main())
    assert aggregate is not None
    assert codes(aggregate) == [None]


class RaisingObserver:
    """Observer that records all events and always raises."""

    def __init__(self) -> None:
        self.received: list[str] = []

    def on_started(self, call: ToolCall) -> None:
        self.received.append(f"started {call.id}")
        raise ValueError

    async def on_progress(self, call: ToolCall, value: Any) -> None:
        self.received.append(f"progress {call.id} {value}")
        raise asyncio.CancelledError

    async def on_result(self, call: Any, result: ToolResult) -> None:
        self.received.append(f"result {call.id} {result.error_code}")
        raise ValueError


def test_observers_receive_every_call_and_do_not_change_results() -> None:
    observer = RaisingObserver()
    calls = [call("as_a_generator", {"name": "eve"}), call("nothing")]

    async def main(executor: ToolExecutor) -> ToolAggregateMessage:
        return await executor.execute(calls)

    executor = ToolExecutor(EVERYWHERE, observer=observer)
    watched = run(main(executor), asyncio.new_event_loop())
    alone = run(main(ToolExecutor(EVERYWHERE)), asyncio.new_event_loop())
    assert watched == alone.__replace__(
        tool_results=[
            result.__replace__(duration=other.duration)
            for result, other in zip(alone.tool_results, watched.tool_results, strict=True)
        ]
    )
    assert observer.received == [
        "result nothing unknown_tool",
        "started as_a_generator",
        "progress as_a_generator nobody",
        "result as_a_generator None",
    ]


def test_an_observer_that_never_ends_delays_the_run_only_briefly() -> None:
    class Slow:
        async def on_started(self, _: ToolCall) -> None:
            await asyncio.sleep(1000)

    async def main() -> None:
        executor = ToolExecutor([on_the_loop], observer=Slow(), cancel_grace=2)
        async for event in executor.stream([call("on_the_loop", {"name": "eve"})]):
            assert asyncio.get_running_loop().time() == 0, event
        assert asyncio.get_running_loop().time() == 2

    run(main())


@tool
async def ask_others(executors: int, context: ToolContext) -> list[str]:
    if executors == 0:
        return ["leaf"]
    nested = ToolExecutor([ask_others], max_concurrency=1)
    aggregate = await nested.execute([call("ask_others", {"executors": executors - 1})] * 2)
    return [context.call_id, *texts(aggregate)]


def test_a_tool_may_use_an_executor_itself() -> None:
    executor = ToolExecutor([ask_others], max_concurrency=1)
    [text] = texts(run(executor.execute([call("ask_others", {"executors": 2})])))
    assert text.count("leaf") == 4


LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}
if sys.version_info >= (3, 12):

    def _eager() -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        loop.set_task_factory(asyncio.eager_task_factory)
        return loop

    LOOPS["eager"] = _eager


@tool(timeout=0.02)
async def hang() -> None:
    await asyncio.Event().wait()


@tool(after="on_the_loop")
async def last(context: ToolContext) -> Any:
    return await context.call("in_a_thread", {"name": "eve"})


@pytest.mark.parametrize("new_loop", LOOPS.values(), ids=LOOPS)
def test_one_executor_serves_one_loop_after_another(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    executor = ToolExecutor([*EVERYWHERE, hang, last], max_concurrency=2)
    calls = [*(call(each.name, {"name": "eve"}) for each in EVERYWHERE), call("hang"), call("last")]
    for _ in range(3):
        events = run(events_of(executor, calls), new_loop())
        aggregate = events[-1]
        assert isinstance(aggregate, ToolAggregateMessage)
        assert codes(aggregate) == [None, None, None, None, "timeout", None]
        assert len(only(events, ToolStarted)) == 6
        alone = run(executor.execute(calls[:1]), new_loop())
        assert texts(alone) == ["nobody"]


@pytest.mark.parametrize("new_loop", LOOPS.values(), ids=LOOPS)
def test_loops_in_threads_use_separate_executors(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    def work(_: int) -> list[str]:
        executor = ToolExecutor(EVERYWHERE, max_concurrency=3)
        calls = [call(each.name, {"name": "eve"}) for each in EVERYWHERE] * 10
        return texts(run(executor.execute(calls), new_loop()))

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, range(8))) == [["nobody"] * 40] * 8


def test_calls_queued_on_a_closed_loop_do_not_block_the_next_one() -> None:
    executor = ToolExecutor([hang.replace(timeout=None), on_the_loop], max_concurrency=1)

    async def leave() -> None:
        running = executor.open()
        running.submit(call("hang"))
        running.submit(call("hang"))
        await asyncio.sleep(0.01)

    gone = VirtualTimeLoop()
    gone.run_until_complete(leave())
    left = asyncio.all_tasks(gone)
    assert texts(run(executor.execute([call("on_the_loop", {"name": "eve"})]))) == ["nobody"]
    for task in left:
        task.cancel()
    gone.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    gone.close()
