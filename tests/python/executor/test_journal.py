"""Journals: starts are written before a tool runs, results before they are published."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from coroutine_tests import collect
from effort import effort
from executor_events import call, codes, kinds, only
from executor_scenarios import NAMES, World, approve, calls, endings, make_tool, options, run_calls
from memory_journal import FOREVER, MemoryJournal
from toolweave import InvalidToolCall, ToolAggregateMessage, ToolCall, ToolResult
from toolweave.executor import (
    Deferred,
    ToolDeferred,
    ToolEvent,
    ToolExecutor,
    ToolStarted,
)
from toolweave.tools import RateLimit, RetryPolicy, ToolContext, tool
from virtual_time import now, run


class RecordedEvents(list[ToolEvent]):
    """Events that are also recorded in the log of what is written."""

    def __init__(self, log: list[tuple[str, str]]) -> None:
        super().__init__()
        self._log = log

    def append(self, each: ToolEvent) -> None:
        if isinstance(each, (ToolResult, ToolDeferred)):
            self._log.append(("published", each.tool_call_id))
        if isinstance(each, ToolStarted):
            self._log.append(("published start", each.tool_call_id))
        super().append(each)


@settings(max_examples=effort(80))
@given(
    tools=st.lists(st.tuples(options, st.booleans()), min_size=1, max_size=4),
    given_calls=st.lists(calls, max_size=8),
    max_concurrency=st.sampled_from([None, 1, 2]),
    pause=st.sampled_from([0, 0.25]),
    end=endings,
    starts=st.sampled_from([0, 0.3, 1]),
    ends=st.sampled_from([0, 0.3, 1]),
)
def test_every_call_is_written_before_it_starts_and_before_it_is_published(
    tools: list[tuple[dict[str, Any], bool]],
    given_calls: list[ToolCall | InvalidToolCall],
    max_concurrency: int | None,
    pause: float,
    end: float | None,
    starts: float,
    ends: float,
) -> None:
    world = World()
    made = [make_tool(world, name, *each) for name, each in zip(NAMES, tools, strict=False)]
    journal, events = MemoryJournal(world.log, starts=starts, ends=ends), RecordedEvents(world.log)

    async def main() -> None:
        executor = ToolExecutor(
            made,
            max_concurrency=max_concurrency,
            timeout=20,
            clock=now,
            cancel_grace=2,
            approver=approve,
        )
        await run_calls(executor, given_calls, pause, end, journal=journal, events=events)
        # Abandoned tools end as well.
        await asyncio.sleep(60)

    run(main())
    aggregate = events[-1]
    assert isinstance(aggregate, ToolAggregateMessage)
    results = {result.tool_call_id: result for result in aggregate.tool_results}
    for each in aggregate.tool_calls:
        happened = [what for what, of in world.log if of == each.id]
        written = [what for what in happened if what in ("started", "finished", "deferred")]
        assert happened.count("published") == 1
        if "entered" in happened or "published start" in happened:
            assert written, happened
        if written:
            event(f"a call is {written[-1]}")
            last = "finished" if each.id in results else "deferred"
            assert written == ["started", last], happened
            assert happened.index("published") > happened.index(last), happened
            assert happened[0] == "started", happened
            if last == "finished":
                assert journal.results[each.id] == results[each.id]
    nested = {of for what, of in world.log if what == "entered" and "/" in of}
    assert not nested & set(journal.results), "calls of tools are part of the calls that made them"


@settings(max_examples=effort(60))
@given(
    given_calls=st.lists(calls, min_size=1, max_size=6),
    fails_at=st.integers(0, 8),
    seconds=st.sampled_from([0, 0.3]),
)
def test_after_a_write_error_no_tool_starts_and_every_call_has_a_result(
    given_calls: list[ToolCall | InvalidToolCall], fails_at: int, seconds: float
) -> None:
    world = World()
    made = [make_tool(world, name, {}, False) for name in NAMES]
    journal = MemoryJournal(world.log, starts=seconds, ends=seconds, fails_at=fails_at)
    events: list[ToolEvent] = []

    async def main() -> BaseException | None:
        executor = ToolExecutor(made, timeout=20, clock=now, cancel_grace=2)
        try:
            await run_calls(executor, given_calls, 0, None, journal=journal, events=events)
        except OSError as error:
            return error
        finally:
            await asyncio.sleep(60)
        return None

    failed = run(main())
    aggregate = events[-1]
    assert isinstance(aggregate, ToolAggregateMessage)
    written = [what for what, _ in world.log if what in ("started", "finished", "deferred")]
    assert len(written) <= fails_at
    if failed is None:
        return
    assert "the disk is full" in str(failed)
    assert len(aggregate.tool_results) + len(only(events, ToolDeferred)) == len(
        aggregate.tool_calls
    )
    for each in aggregate.tool_calls:
        if "/" not in each.id and ("entered", each.id) in world.log:
            assert journal.of(each.id)[:1] == ["started"]


def noting(log: list[tuple[str, str]], seconds: float = 0) -> Any:
    @tool
    async def note(context: ToolContext) -> str:
        log.append(("entered", context.call_id))
        await asyncio.sleep(seconds)
        return "noted"

    return note


def test_a_start_is_written_only_once_the_limits_allow_it() -> None:
    journal = MemoryJournal()
    limited = noting(journal.log, 1).replace(rate_limit=RateLimit(1, per=10), max_concurrency=1)

    async def main() -> None:
        executor = ToolExecutor([limited], clock=now)
        running = executor.open(journal=journal)
        for number in "abc":
            running.submit(call("note", call_id=number))
        running.close()
        await asyncio.sleep(5)
        assert journal.of("b") == []
        await running.wait()

    run(main())
    one_by_one = ["started", "entered", "finished"]
    assert [what for what, _ in journal.log] == one_by_one * 3


def test_calls_that_do_not_run_are_not_written() -> None:
    journal = MemoryJournal()

    def never() -> None:
        raise AssertionError

    tools = [
        noting(journal.log).replace(cache=True),
        tool(never, requires_approval=True),
        tool(never, name="late", rate_limit=RateLimit(1, per=99, on_limit="refuse")).replace(),
    ]

    async def main() -> ToolAggregateMessage:
        executor = ToolExecutor(tools, clock=now)
        await executor.execute([call("note", call_id="first"), call("late", call_id="once")])
        journal.log.clear()
        return await executor.execute(
            [
                call("note", call_id="cached"),
                call("never"),
                call("late"),
                call("nowhere"),
                call("note", {"too": "many"}, "wrong"),
                InvalidToolCall(0, "broken", "note", "unclosed", "{", ()),
            ],
            journal=journal,
        )

    aggregate = run(main())
    assert journal.log == []
    assert len(aggregate.tool_results) == 6


def test_retries_share_one_journal_entry() -> None:
    journal = MemoryJournal()
    tries = iter([ConnectionError(), ConnectionError(), None])

    def flaky() -> str:
        if (error := next(tries)) is not None:
            raise error
        return "at last"

    executor = ToolExecutor([tool(flaky, retries=RetryPolicy(5, initial=1, jitter=0))])
    run(executor.execute([call("flaky")], journal=journal))
    assert journal.log == [("started", "flaky"), ("finished", "flaky")]


def test_journal_writes_do_not_count_against_timeouts() -> None:
    journal = MemoryJournal(starts=50, ends=50)
    executor = ToolExecutor([noting(journal.log, 1)], timeout=3, idle_timeout=3, clock=now)
    [result] = run(executor.execute([call("note")], journal=journal)).tool_results
    assert (result.result, result.duration) == ("noted", 1)


def test_a_call_cancelled_while_its_start_is_written_does_not_run_and_its_entry_is_closed() -> None:
    journal = MemoryJournal(starts=2)

    async def main() -> ToolAggregateMessage | None:
        running = ToolExecutor([noting(journal.log)]).open(journal=journal)
        running.submit(call("note"))
        await asyncio.sleep(1)
        await running.cancel()
        return running.aggregate

    aggregate = run(main())
    assert aggregate is not None
    assert codes(aggregate) == ["interrupted"]
    assert journal.log == [("started", "note"), ("finished", "note")]
    assert "before it started" in journal.results["note"].result


def test_a_call_cancelled_while_its_result_is_written_keeps_the_result() -> None:
    journal = MemoryJournal(ends=2)

    async def main() -> tuple[list[ToolEvent], float]:
        running = ToolExecutor([noting(journal.log)]).open(journal=journal)
        running.submit(call("note"))
        await asyncio.sleep(1)
        await running.cancel()
        return [each async for each in running], now()

    events, ended = run(main())
    assert journal.log == [("started", "note"), ("entered", "note"), ("finished", "note")]
    assert only(events, ToolResult)[0].result == "noted"
    assert ended == 2


def test_a_cancelled_caller_waits_until_the_outcome_is_written() -> None:
    journal = MemoryJournal(ends=2)

    async def main() -> None:
        executor = ToolExecutor([noting(journal.log, 99)])
        running = asyncio.ensure_future(executor.execute([call("note")], journal=journal))
        await asyncio.sleep(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert journal.log[-1] == ("finished", "note")
        assert now() == 3

    run(main())


@pytest.mark.parametrize(("starts", "ends"), [(FOREVER, 0), (0, FOREVER)])
def test_a_journal_that_does_not_answer_is_abandoned_after_the_grace_period(
    starts: float, ends: float
) -> None:
    journal = MemoryJournal(starts=starts, ends=ends)

    async def main() -> tuple[list[ToolEvent], float]:
        running = ToolExecutor([noting(journal.log)], cancel_grace=4).open(journal=journal)
        running.submit(call("note"))
        await asyncio.sleep(1)
        await running.cancel()
        ended = now()
        # Lets the abandoned task end.
        await asyncio.sleep(1)
        return [each async for each in running], ended

    events, ended = run(main())
    assert ended == 5
    [result] = only(events, ToolResult)
    assert str(result.error_code) == "interrupted"
    assert ("it may have had effects" in result.result) == (starts == 0)


def test_the_outcome_of_a_tool_that_does_not_stop_is_written_without_it() -> None:
    journal = MemoryJournal(ends=1)

    async def cling() -> str:
        for _ in range(3):
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError:
                continue
        return "too late"

    async def main() -> ToolAggregateMessage | None:
        running = ToolExecutor([cling], cancel_grace=4, clock=now).open(journal=journal)
        running.submit(call("cling"))
        await asyncio.sleep(1)
        await running.cancel()
        assert now() == 6
        await asyncio.sleep(99)
        return running.aggregate

    aggregate = run(main())
    assert aggregate is not None
    assert codes(aggregate) == ["interrupted"]
    assert journal.log == [("started", "cling"), ("finished", "cling")]
    assert journal.results["cling"] == aggregate.tool_results[0]


def test_a_tool_whose_start_cannot_be_written_does_not_run_and_the_others_stop() -> None:
    journal = MemoryJournal(fails_at=1)

    async def main() -> tuple[list[ToolEvent], float]:
        running = ToolExecutor([noting(journal.log, 50)]).open(journal=journal)
        running.submit(call("note", call_id="one"))
        await asyncio.sleep(1)
        running.submit(call("note", call_id="two"))
        running.close()
        events: list[ToolEvent] = []
        with pytest.raises(OSError, match="the disk is full"):
            await collect(running, events)
        return events, now()

    events, ended = run(main())
    assert ended == 1
    assert ("entered", "two") not in journal.log
    two, one = only(events, ToolResult)
    assert "before it started" in two.result
    assert "it may have had effects" in one.result
    assert isinstance(events[-1], ToolAggregateMessage)


def test_a_result_that_cannot_be_written_is_not_published() -> None:
    journal = MemoryJournal(fails_at=1)
    received: list[ToolEvent] = []

    async def observe(each: ToolEvent) -> None:
        received.append(each)

    async def main() -> None:
        executor = ToolExecutor([noting(journal.log)], observer=observe)
        with pytest.raises(OSError, match="the disk is full"):
            await executor.execute([call("note")], journal=journal)

    run(main())
    [result] = only(received, ToolResult)
    assert "it may have had effects" in result.result
    assert "noted" not in str(received)


def test_a_journal_that_cancels_itself_does_not_cancel_the_reader() -> None:
    class Cancelled(MemoryJournal):
        async def started(self, call: ToolCall) -> None:
            raise asyncio.CancelledError(call.id)

    executor = ToolExecutor([noting([])])
    with pytest.raises(RuntimeError, match="the journal was cancelled"):
        run(executor.execute([call("note")], journal=Cancelled()))


def test_a_deferral_is_written_and_finished_by_the_run_that_takes_the_result() -> None:
    journal = MemoryJournal(ends=1)

    def book() -> Deferred:
        return Deferred("booking-17", "ring us")

    async def main() -> tuple[list[ToolEvent], float]:
        # In virtual time a thread takes as long as any timeout.
        executor = ToolExecutor([book], timeout=None)
        events = [each async for each in executor.stream([call("book")], journal=journal)]
        return events, now()

    events, ended = run(main())
    assert kinds(events) == ["ToolStarted book", "ToolDeferred book", "ToolAggregateMessage"]
    assert journal.log == [("started", "book"), ("deferred", "book")]
    awaited = journal.awaited["book"]
    assert (awaited.key, awaited.note, awaited.call.name) == ("booking-17", "ring us", "book")
    assert ended == 1


def test_a_deferral_that_cannot_be_written_is_discarded() -> None:
    journal = MemoryJournal(fails_at=1)
    executor = ToolExecutor([tool(lambda: Deferred("key"), name="book")])

    async def main() -> ToolAggregateMessage | None:
        running = executor.open(journal=journal)
        running.submit(call("book"))
        running.close()
        with pytest.raises(OSError, match="the disk is full"):
            await running.wait()
        return running.aggregate

    aggregate = run(main())
    assert aggregate is not None
    assert codes(aggregate) == ["interrupted"]
    assert aggregate.metadata == {}
    assert executor.deferred.pending == ()


def test_with_a_journal_resolved_results_are_left_to_the_next_run() -> None:
    journal = MemoryJournal()

    async def book() -> Deferred:
        return Deferred("key")

    executor = ToolExecutor([noting(journal.log, 5), book])

    async def main() -> ToolAggregateMessage:
        asyncio.get_running_loop().call_later(2, executor.resolve, "key", "now")
        return await executor.execute([call("note"), call("book")], journal=journal)

    aggregate = run(main())
    assert [result.tool_call_id for result in aggregate.tool_results] == ["note"]
    merged = executor.merge_results(aggregate)
    assert [result.result for result in merged.tool_results] == ["noted", "now"]


def test_an_invalid_journal_is_an_error() -> None:
    async def main() -> None:
        with pytest.raises(TypeError, match="coroutine methods started and finished"):
            ToolExecutor().open(journal=print)  # type: ignore[arg-type]

    run(main())
