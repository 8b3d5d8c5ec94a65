"""Timeouts, progress that restarts them, and retries."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from executor_events import call, codes, events_of, kinds, only, texts
from package_logs import package_records
from toolweave import ToolAggregateMessage
from toolweave.exceptions import ModelRetry, TransientToolError
from toolweave.executor import ToolEvent, ToolExecutor, ToolProgress, ToolQuestion
from toolweave.tools import RateLimit, RetryPolicy, ToolContext, tool
from virtual_time import now, run


@tool
async def sleep(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds


def test_a_timeout_starts_when_the_tool_does_and_stops_it() -> None:
    async def main() -> None:
        executor = ToolExecutor([sleep], timeout=2, max_concurrency=1)
        calls = [call("sleep", {"seconds": seconds}, str(seconds)) for seconds in (1.5, 5, 1)]
        aggregate = await executor.execute(calls)
        assert codes(aggregate) == [None, "timeout", None]
        assert now() == 4.5
        assert "did not finish within 2 seconds" in texts(aggregate)[1]

    run(main())


def test_the_timeout_of_a_tool_overrides_that_of_the_executor() -> None:
    patient = sleep.replace(timeout=10)
    aggregate = run(ToolExecutor([patient], timeout=1).execute([call("sleep", {"seconds": 5})]))
    assert codes(aggregate) == [None]


def test_each_of_many_deadlines_is_kept() -> None:
    async def main() -> None:
        quick = sleep.replace(timeout=1)
        slow = tool(sleep.function, name="slow", timeout=3)
        executor = ToolExecutor([quick, slow])
        calls = [call(name, {"seconds": 9}) for name in ("slow", "sleep", "slow", "sleep")]
        began: dict[str, float] = {}
        async for event in executor.stream(calls):
            if not isinstance(event, ToolAggregateMessage):
                began[event.tool_call_id] = now()
        assert began == {"slow": 3, "sleep": 1, "slow#2": 3, "sleep#2": 1}

    run(main())


@pytest.mark.parametrize("ending", ["returns", "raises"])
def test_a_result_after_the_timeout_is_too_late(ending: str) -> None:
    @tool(timeout=1)
    async def cling() -> str:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            await asyncio.sleep(1)
            if ending == "raises":
                raise ValueError from None
        return "late"

    async def main() -> None:
        assert codes(await ToolExecutor([cling]).execute([call("cling")])) == ["timeout"]
        assert now() == 2

    run(main())


def test_a_tool_that_ignores_its_timeout_is_abandoned(caplog: pytest.LogCaptureFixture) -> None:
    done = False

    @tool(timeout=1)
    async def stubborn() -> None:
        while not done:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                continue

    async def main() -> None:
        nonlocal done
        executor = ToolExecutor([stubborn, sleep], max_concurrency=1, cancel_grace=4)
        calls = [call("stubborn"), call("sleep", {"seconds": 1})]
        with caplog.at_level(logging.ERROR, "toolweave.executor"):
            assert codes(await executor.execute(calls)) == ["timeout", None]
        # It does not keep its slot either.
        assert now() == 6
        done = True
        await asyncio.sleep(2)

    run(main())
    assert len(package_records(caplog)) == 1


def test_progress_restarts_the_idle_timeout() -> None:
    @tool(idle_timeout=2)
    async def count(pause: float) -> AsyncIterator[int]:
        for number in range(4):
            await asyncio.sleep(pause)
            yield number

    async def main() -> None:
        calls = [call("count", {"pause": 1.5}, "alive"), call("count", {"pause": 3}, "idle")]
        aggregate = await ToolExecutor([count]).execute(calls)
        assert codes(aggregate) == [None, "timeout"]
        assert "reported nothing for 2 seconds" in texts(aggregate)[1]
        assert now() == 6

    run(main())


def test_progress_does_not_extend_the_timeout() -> None:
    @tool(timeout=3, idle_timeout=2)
    async def work(context: ToolContext) -> None:
        while True:
            await asyncio.sleep(1)
            context.progress("working")

    async def main() -> None:
        events = await events_of(ToolExecutor([work]), [call("work")])
        assert now() == 3
        assert len(only(events, ToolProgress)) == 2

    run(main())


def test_progress_of_a_nested_call_restarts_the_idle_timeout_of_its_parent() -> None:
    @tool
    async def work(context: ToolContext) -> str:
        for _ in range(5):
            await asyncio.sleep(1)
            context.progress("working")
        return "done"

    @tool(idle_timeout=2)
    async def delegate(context: ToolContext) -> Any:
        return await context.call("work", {})

    assert texts(run(ToolExecutor([work, delegate]).execute([call("delegate")]))) == ["done"]


@pytest.mark.parametrize("name", ["confirm", "delegate"])
def test_the_time_until_an_answer_does_not_count(name: str) -> None:
    @tool(timeout=3, idle_timeout=2)
    async def confirm(context: ToolContext) -> Any:
        await asyncio.sleep(1)
        answer = await context.ask("Sure?")
        await asyncio.sleep(1)
        if answer == "wait":
            await asyncio.sleep(1.5)
        return answer

    @tool(timeout=3)
    async def delegate(context: ToolContext) -> Any:
        return await context.call("confirm", {})

    async def main(answer: str) -> ToolEvent:
        executor = ToolExecutor([confirm, delegate])
        async for event in executor.stream([call(name)]):
            if isinstance(event, ToolQuestion):
                asyncio.get_running_loop().call_later(60, executor.resolve, event.key, answer)
        assert now() >= 62
        return event

    answered = run(main("yes"))
    assert isinstance(answered, ToolAggregateMessage)
    assert texts(answered) == ["yes"]
    # The rest of the timeout still applies.
    late = run(main("wait"))
    assert isinstance(late, ToolAggregateMessage)
    assert late.tool_results[0].is_error


def test_the_last_progress_may_replace_the_result_of_a_timeout() -> None:
    @tool(timeout=3, partial_results=True)
    async def search(context: ToolContext, fruitful: bool) -> str:
        found: list[int] = []
        while True:
            await asyncio.sleep(1)
            if fruitful:
                found = [*found, len(found)]
                context.progress(found)

    executor = ToolExecutor([search])
    calls = [call("search", {"fruitful": True}), call("search", {"fruitful": False})]
    partial, nothing = run(executor.execute(calls)).tool_results
    assert (partial.result, partial.value) == ("[0,1]", [0, 1])
    assert partial.error_code == "timeout"
    assert nothing.result == "Tool 'search' did not finish within 3 seconds and was stopped."


class Flaky:
    """Tool that fails before it succeeds."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.attempts: list[tuple[int, float]] = []

    async def __call__(self, context: ToolContext, items: list[int]) -> list[int]:
        self.attempts.append((context.attempt, now()))
        items.append(0)
        if self.errors:
            raise self.errors.pop(0)
        return items


POLICY = RetryPolicy(4, initial=1, multiplier=2, jitter=0)


@pytest.mark.parametrize(
    "error", [ConnectionError(), asyncio.TimeoutError(), TransientToolError("busy")]
)
def test_transient_errors_are_retried_with_backoff(error: Exception) -> None:
    flaky = Flaky(error, error, error)
    executor = ToolExecutor([tool(flaky.__call__, name="flaky", retries=POLICY)])
    events = run(events_of(executor, [call("flaky", {"items": [1]})]))
    assert flaky.attempts == [(1, 0), (2, 1), (3, 3), (4, 7)]
    # Each attempt got the arguments as the model wrote them, within one call.
    assert kinds(events) == ["ToolStarted flaky", "ToolResult flaky", "ToolAggregateMessage"]
    assert isinstance(events[-1], ToolAggregateMessage)
    assert events[-1].tool_results[0].value == [1, 0]


@pytest.mark.parametrize("error", [ValueError(), ModelRetry("another city"), KeyError("x")])
def test_other_errors_are_not_retried(error: Exception) -> None:
    flaky = Flaky(error)
    executor = ToolExecutor([tool(flaky.__call__, name="flaky")], retries=POLICY)
    assert codes(run(executor.execute([call("flaky", {"items": []})]))) == ["tool_error"]
    assert len(flaky.attempts) == 1


def test_the_last_error_is_the_result_after_all_attempts() -> None:
    flaky = Flaky(*(ConnectionError(f"failure {number}") for number in range(1, 9)))
    executor = ToolExecutor([tool(flaky.__call__, name="flaky", retries=2)])
    assert texts(run(executor.execute([call("flaky", {"items": []})]))) == [
        "Error executing tool: failure 3"
    ]


def test_the_timeout_covers_all_attempts_and_the_error_is_preferred() -> None:
    flaky = Flaky(*(ConnectionError(f"failure {number}") for number in range(1, 9)))
    executor = ToolExecutor([tool(flaky.__call__, name="flaky", retries=POLICY, timeout=5)])

    async def main() -> None:
        # After the third failure, the next attempt would come too late.
        assert texts(await executor.execute([call("flaky", {"items": []})])) == [
            "Error executing tool: failure 3"
        ]
        assert now() == 3

    run(main())


def test_the_delay_before_a_retry_does_not_count_as_idle() -> None:
    flaky = Flaky(ConnectionError(), ConnectionError())
    executor = ToolExecutor([tool(flaky.__call__, name="flaky", retries=POLICY, idle_timeout=0.5)])
    assert codes(run(executor.execute([call("flaky", {"items": []})]))) == [None]


def test_every_attempt_counts_for_the_rate_limit() -> None:
    flaky = Flaky(ConnectionError(), ConnectionError())
    limited = tool(flaky.__call__, name="flaky", retries=POLICY, rate_limit=RateLimit(1, per=10))
    run(ToolExecutor([limited], clock=now).execute([call("flaky", {"items": []})]))
    assert [begin for _, begin in flaky.attempts] == [0, 10, 20]


def test_a_cancelled_call_is_not_retried() -> None:
    flaky = Flaky(*(ConnectionError() for _ in range(9)))
    executor = ToolExecutor([tool(flaky.__call__, name="flaky", retries=POLICY)])

    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(executor.execute([call("flaky", {"items": []})]), 2)
        await asyncio.sleep(60)

    run(main())
    assert len(flaky.attempts) == 2
