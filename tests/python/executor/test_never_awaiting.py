"""Tools that never await: their timeouts apply, and the event loop keeps running."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor_events import call, codes, only, result_of, texts
from memory_journal import MemoryJournal
from package_logs import package_records
from toolweave import ToolResult
from toolweave._aio.event_queue import BACKLOG
from toolweave._aio.runs import Run
from toolweave.executor import ToolEvent, ToolExecutor, ToolProgress
from toolweave.natural import NaturalToolUse
from toolweave.testing import ScriptedModel
from toolweave.tools import RetryPolicy, Tool, ToolContext, tool
from virtual_time import VirtualTimeLoop, now, run

# How long the loop may be blocked, in addition to the current step.
SLICE = 0.01


class WorkingLoop(VirtualTimeLoop):
    """Virtual-time loop on which time also passes while code runs."""

    def work(self, seconds: float) -> None:
        self._now += seconds


def work(seconds: float) -> None:
    """Take so much of the loop's time."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, WorkingLoop)
    loop.work(seconds)


@tool
async def endless(step: float) -> AsyncIterator[int]:
    number = 0
    while True:
        work(step)
        yield (number := number + 1)


@tool
async def finite(step: float) -> AsyncIterator[int]:
    for number in range(int(10 / step)):
        work(step)
        yield number


@tool
async def raising(step: float) -> AsyncIterator[int]:
    for number in range(int(10 / step)):
        work(step)
        yield number
    raise ValueError("too late")


@tool
async def tidying(step: float) -> AsyncIterator[int]:
    try:
        while True:
            work(step)
            yield 0
    finally:
        await asyncio.sleep(step)


@tool
async def reporting(step: float, context: ToolContext) -> AsyncIterator[int]:
    while True:
        work(step)
        context.progress(step)
        yield 1


@tool
async def calling(step: float, context: ToolContext) -> Any:
    return await context.call("endless", {"step": step})


SHAPES: list[Tool[..., Any]] = [endless, finite, raising, tidying, reporting, calling]


@given(
    shape=st.sampled_from(SHAPES),
    step=st.sampled_from([1e-3, 0.02, 0.3, 2.0]),
    idle=st.booleans(),
    partial=st.booleans(),
    journal=st.booleans(),
    watched=st.booleans(),
    attempts=st.integers(1, 3),
)
def test_a_generator_that_never_awaits_times_out(
    shape: Tool[..., Any],
    step: float,
    idle: bool,
    partial: bool,
    journal: bool,
    watched: bool,
    attempts: int,
) -> None:
    gaps: list[float] = []

    def tick(before: float) -> None:
        gaps.append(now() - before)
        nonlocal ticking
        ticking = asyncio.get_running_loop().call_later(0.001, tick, now())

    ticking: asyncio.TimerHandle | None = None

    async def main() -> None:
        tick(0)
        busy = shape.replace(
            timeout=1,
            idle_timeout=0.9 if idle else None,
            partial_results=partial,
            retries=RetryPolicy(attempts, initial=0, retry_on=(ValueError,)),
        )
        executor = ToolExecutor([busy, *([] if shape is endless else [endless])])
        one = call(shape.name, {"step": step})
        if watched:
            events: list[ToolEvent] = [event async for event in executor.stream([one])]
            [result] = only(events, ToolResult)
        else:
            aggregate = await executor.execute([one], journal=MemoryJournal() if journal else None)
            [result] = aggregate.tool_results
        assert result.error_code == "timeout", result
        # The current step and its cleanup cannot be interrupted.
        assert now() <= 1 + 3 * step + 2 * SLICE
        # A timer that is set after a step fires after the next step at the earliest.
        assert max(gaps) <= 2 * step + 2 * SLICE
        assert ticking is not None
        ticking.cancel()

    run(main(), WorkingLoop())


@tool(timeout=1)
async def holding(seconds: float) -> str:
    work(seconds)
    return "done"


@tool(timeout=1, pool="inline")
def blocking(seconds: float) -> str:
    work(seconds)
    return "done"


@pytest.mark.parametrize("shape", [holding, blocking])
@pytest.mark.parametrize("journal", [False, True])
def test_a_result_after_the_timeout_of_a_tool_that_blocks_the_loop_is_too_late(
    shape: Tool[..., Any], journal: bool
) -> None:
    async def main() -> None:
        executor = ToolExecutor([shape])
        calls = [call(shape.name, {"seconds": seconds}, str(seconds)) for seconds in (0.5, 3)]
        for one, code in zip(calls, [None, "timeout"], strict=True):
            aggregate = await executor.execute([one], journal=MemoryJournal() if journal else None)
            assert codes(aggregate) == [code]
            assert ("did not finish within 1 second" in texts(aggregate)[0]) == bool(code)

    run(main(), WorkingLoop())


@tool
async def counting(up_to: int) -> AsyncIterator[int]:
    for number in range(up_to):
        yield number


@tool
async def reports(up_to: int, context: ToolContext) -> int:
    for number in range(up_to):
        context.progress(number)
    return up_to


def test_a_reader_that_keeps_up_misses_nothing() -> None:
    async def main() -> None:
        events = ToolExecutor([counting]).stream([call("counting", {"up_to": 5000})])
        values = [event.value async for event in events if isinstance(event, ToolProgress)]
        assert values == list(range(5000))

    run(main())


@pytest.mark.parametrize("shape", [counting, reports])
def test_unread_progress_is_bounded(
    shape: Tool[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def read(asked: Run[Any]) -> None:
        first = await anext(asked)
        # Long enough to report everything.
        await asyncio.sleep(1)
        events = [first, *[event async for event in asked]]
        reported = only(events, ToolProgress)
        assert [event.value for event in reported] == list(range(len(reported)))
        assert len(reported) <= BACKLOG + 100
        [result] = only(events, ToolResult)
        assert not result.is_error

    async def main() -> None:
        executor = ToolExecutor([shape])
        one = call(shape.name, {"up_to": 9000})
        async with executor.open() as calls:
            calls.submit(one)
            calls.close()
            await read(calls)
        model = ScriptedModel(f'<{shape.name}>{{"up_to": 9000}}</{shape.name}>')
        async with NaturalToolUse(model, executor=executor).open("Count.") as reply:
            await read(reply)

    with caplog.at_level(logging.WARNING, "toolweave"):
        run(main())
    # Once for each of the two, and once more while the calls of the reply are read.
    assert len(package_records(caplog)) in (2, 3)
    assert {record.levelname for record in package_records(caplog)} == {"WARNING"}


def test_a_thread_that_reports_endlessly_times_out() -> None:
    @tool(timeout=0.05)
    def chatter(context: ToolContext) -> None:
        while not context.cancelled:
            context.progress(0)

    async def main() -> None:
        begun = now()
        events = [event async for event in ToolExecutor([chatter]).stream([call("chatter")])]
        assert result_of(events, "chatter").error_code == "timeout"
        assert now() - begun < 2

    run(main(), asyncio.new_event_loop())
