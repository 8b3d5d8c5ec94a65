"""Cancellation leaves no running tool and no call without a result."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from executor_events import call, codes, kinds
from package_logs import package_records
from toolweave import ToolAggregateMessage, ToolCall, ToolResult
from toolweave.executor import ToolEvent, ToolExecutor, ToolStarted
from toolweave.tools import ToolContext, tool
from virtual_time import VirtualTimeLoop, now, run

log: list[str] = []


@pytest.fixture(autouse=True)
def _fresh_log() -> None:
    log.clear()


@tool
async def sleep(seconds: float = 1000) -> str:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.sleep(1)
        log.append(f"cleaned up at {now()}")
        raise
    return "slept"


@tool
async def stubborn() -> None:
    """Suppress every cancellation until the test ends it."""
    while "go" not in log:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            log.append("swallowed")


@tool
async def quick() -> str:
    return "done"


class ResultRecorder:
    """Observer that records results."""

    def __init__(self) -> None:
        self.codes: dict[str, str | None] = {}

    async def on_result(self, call: ToolCall, result: ToolResult) -> None:
        code = result.error_code
        self.codes[call.id] = None if code is None else code.value


@pytest.mark.parametrize("calls", [["sleep"], ["sleep", "quick", "sleep"]])
def test_cancelling_the_caller_cancels_and_awaits_its_tools(calls: list[str]) -> None:
    results = ResultRecorder()

    async def main() -> None:
        executor = ToolExecutor([sleep, quick], observer=results)
        task = asyncio.create_task(executor.execute([call(name) for name in calls]))
        await asyncio.sleep(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert now() == 6

    run(main())
    sleeping = calls.count("sleep")
    assert log == ["cleaned up at 6.0"] * sleeping
    assert sorted(map(str, results.codes.values())) == sorted(
        ["interrupted"] * sleeping + ["None"] * calls.count("quick")
    )


def test_a_queued_call_is_interrupted_too() -> None:
    async def main() -> ToolAggregateMessage | None:
        executor = ToolExecutor([sleep], max_concurrency=1)
        async with executor.open() as running:
            running.submit(call("sleep", call_id="first"))
            running.submit(call("sleep", call_id="second"))
            await asyncio.sleep(1)
        return running.aggregate

    aggregate = run(main())
    assert aggregate is not None
    assert codes(aggregate) == ["interrupted", "interrupted"]
    first, second = aggregate.tool_results
    assert "may have had effects" in first.result
    assert "before it started" in second.result


def test_cancelling_before_the_first_step_interrupts_every_call() -> None:
    async def main() -> None:
        running = ToolExecutor([sleep]).open()
        running.submit(call("sleep"))
        await running.cancel()
        assert running.aggregate is not None
        assert codes(running.aggregate) == ["interrupted"]

    run(main())


def test_a_tool_that_suppresses_cancellation_is_abandoned_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        executor = ToolExecutor([stubborn, sleep], cancel_grace=3.0)
        running = executor.open()
        running.submit(call("stubborn"))
        running.submit(call("sleep"))
        await asyncio.sleep(0.5)
        await running.cancel()
        assert now() == 3.5
        assert running.aggregate is not None
        assert codes(running.aggregate) == ["interrupted", "interrupted"]
        log.append("go")
        await asyncio.sleep(5)

    with caplog.at_level(logging.ERROR, "toolweave.executor"):
        run(main())
    assert log[0] == "swallowed"
    assert [record.__dict__["tool"] for record in package_records(caplog)] == ["stubborn"]


def test_a_caller_that_is_cancelled_twice_still_waits_for_its_tools() -> None:
    async def main() -> None:
        task = asyncio.create_task(ToolExecutor([sleep]).execute([call("sleep"), call("sleep")]))
        for _ in range(3):
            await asyncio.sleep(0.3)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1

    run(main())
    assert len(log) == 2


def test_a_timeout_around_the_executor_is_a_timeout() -> None:
    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(ToolExecutor([sleep]).execute([call("sleep")]), 2)

    run(main())
    assert log == ["cleaned up at 3.0"]


def test_breaking_out_of_a_stream_cancels_its_tools() -> None:
    async def main() -> None:
        async for event in ToolExecutor([sleep, quick]).stream([call("sleep"), call("quick")]):
            if isinstance(event, ToolResult):
                break
        # The generator is closed by the event loop.
        await asyncio.sleep(2)
        assert len(asyncio.all_tasks()) == 1

    run(main())
    assert log == ["cleaned up at 1.0"]


def test_closing_a_stream_waits_for_its_tools() -> None:
    async def main() -> None:
        stream: Any = ToolExecutor([sleep]).stream([call("sleep")])
        assert isinstance(await stream.__anext__(), ToolStarted)
        await stream.aclose()
        assert now() == 1
        assert len(asyncio.all_tasks()) == 1

    run(main())


def test_cancelling_a_run_ends_its_events_with_the_aggregate() -> None:
    async def main() -> list[ToolEvent]:
        running = ToolExecutor([sleep, quick]).open()
        running.submit(call("quick"))
        running.submit(call("sleep"))
        await asyncio.sleep(1)
        await running.cancel()
        await running.cancel()
        return [event async for event in running]

    assert kinds(run(main())) == [
        "ToolStarted quick",
        "ToolResult quick",
        "ToolStarted sleep",
        "ToolResult sleep",
        "ToolAggregateMessage",
    ]


def test_a_cancelled_reader_can_read_on() -> None:
    async def main() -> list[ToolEvent]:
        running = ToolExecutor([sleep]).open()
        running.submit(call("sleep", {"seconds": 5}))
        running.close()
        events = [await running.__anext__()]
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(running.__anext__(), 1)
        return events + [event async for event in running]

    assert kinds(run(main())) == ["ToolStarted sleep", "ToolResult sleep", "ToolAggregateMessage"]


def test_a_run_takes_calls_while_others_run_and_none_when_it_is_closed() -> None:
    async def main() -> list[ToolEvent]:
        events: list[ToolEvent] = []
        async with ToolExecutor([sleep, quick]).open() as running:
            running.submit(call("sleep", {"seconds": 2}))
            async for event in running:
                events.append(event)
                if len(events) == 1:
                    running.submit(call("quick"))
                    running.close()
                    with pytest.raises(RuntimeError, match="the run is closed"):
                        running.submit(call("quick"))
        return events

    assert kinds(run(main())) == [
        "ToolStarted sleep",
        "ToolStarted quick",
        "ToolResult quick",
        "ToolResult sleep",
        "ToolAggregateMessage",
    ]


def test_a_call_submitted_after_interruption_does_not_start() -> None:
    @tool
    async def stop() -> None:
        raise KeyboardInterrupt

    async def main() -> ToolAggregateMessage | None:
        running = ToolExecutor([stop, quick]).open()
        running.submit(call("stop"))
        await asyncio.sleep(1)
        running.submit(call("quick"))
        running.close()
        with pytest.raises(KeyboardInterrupt):
            await running.wait()
        return running.aggregate

    aggregate = run(main())
    assert aggregate is not None
    assert codes(aggregate) == ["tool_error", "interrupted"]


def test_a_second_concurrent_reader_is_an_error() -> None:
    async def main() -> None:
        async with ToolExecutor([sleep]).open() as running:
            running.submit(call("sleep"))
            await running.__anext__()
            first = asyncio.ensure_future(running.__anext__())
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="one reader at a time"):
                await running.__anext__()
            first.cancel()
            await asyncio.wait([first])

    run(main())


@pytest.mark.parametrize("fatal", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("alone", [True, False])
def test_a_keyboard_interrupt_is_raised_once_every_call_has_its_result(
    fatal: type[BaseException], alone: bool
) -> None:
    @tool
    async def stop() -> None:
        await asyncio.sleep(1)
        raise fatal("now")

    calls = [call("stop")] if alone else [call("sleep"), call("stop"), call("quick")]
    results = ResultRecorder()

    async def main() -> list[ToolEvent]:
        executor = ToolExecutor([sleep, stop, quick], observer=results)
        with pytest.raises(fatal, match="now"):
            await executor.execute(calls)
        events: list[ToolEvent] = []

        async def read() -> None:
            async for event in executor.stream(calls):
                events.append(event)  # noqa: PERF401 - what comes before the exception counts

        with pytest.raises(fatal, match="now"):
            await read()
        return events

    events = run(main())
    assert isinstance(events[-1], ToolAggregateMessage)
    expected = ["tool_error"] if alone else ["interrupted", "tool_error", None]
    assert codes(events[-1]) == expected
    assert results.codes == dict(zip((each.id for each in calls), expected, strict=True))


def test_a_generator_is_closed_when_its_call_is_cancelled() -> None:
    @tool
    async def count() -> AsyncIterator[int]:
        try:
            number = 0
            while True:
                yield number
                number += 1
                await asyncio.sleep(1)
        finally:
            log.append("closed")

    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(ToolExecutor([count]).execute([call("count")]), 3)

    run(main())
    assert log == ["closed"]


def test_a_nested_call_ends_with_its_parent() -> None:
    @tool
    async def starts_and_forgets(context: ToolContext) -> str:
        forgotten.append(asyncio.ensure_future(context.call("sleep", {})))
        await asyncio.sleep(1)
        return "done"

    forgotten: list[asyncio.Future[Any]] = []

    async def main() -> None:
        executor = ToolExecutor([starts_and_forgets, sleep])
        aggregate = await executor.execute([call("starts_and_forgets")])
        assert codes(aggregate) == [None]
        assert now() == 2
        await asyncio.wait(forgotten)
        assert "interrupted" in str(forgotten[0].exception())

    run(main())
    assert log == ["cleaned up at 2.0"]


def test_a_tool_in_a_thread_sees_its_cancellation_and_is_not_awaited() -> None:
    started, cancelled, allowed, ended = (threading.Event() for _ in range(4))

    @tool
    def poll(context: ToolContext) -> None:
        started.set()
        while not context.cancelled:
            threading.Event().wait(0.005)
        cancelled.set()
        allowed.wait(5)
        ended.set()

    async def main() -> None:
        task = asyncio.create_task(ToolExecutor([poll]).execute([call("poll")]))
        assert await asyncio.to_thread(started.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not ended.is_set()

    run(main(), asyncio.new_event_loop())
    assert cancelled.wait(5)
    allowed.set()
    assert ended.wait(5)


def test_calls_whose_tasks_are_cancelled_externally_still_have_results() -> None:
    async def main() -> ToolAggregateMessage:
        running = ToolExecutor([sleep]).open()
        running.submit(call("sleep"))
        running.submit(call("sleep"))
        running.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        return await running.wait()

    assert codes(run(main())) == ["cancelled", "cancelled"]


def test_the_end_of_the_program_completes_running_calls() -> None:
    results = ResultRecorder()

    async def main() -> None:
        executor = ToolExecutor([sleep], observer=results)
        keep.append(asyncio.create_task(executor.execute([call("sleep")])))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    keep: list[asyncio.Task[Any]] = []
    loop = VirtualTimeLoop()
    loop.run_until_complete(main())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.gather(*asyncio.all_tasks(loop), return_exceptions=True))
    loop.close()
    assert keep[0].cancelled()
    assert len(results.codes) == 1
