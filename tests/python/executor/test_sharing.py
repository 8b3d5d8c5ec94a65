"""Shared results, approval, and deferred results of an executor."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from executor_events import call, codes, events_of, kinds, only, texts
from toolweave import FunctionContract, ToolAggregateMessage, ToolCall, ToolResult, ValidationError
from toolweave.exceptions import ToolFailed
from toolweave.executor import (
    Deferred,
    DeferredResults,
    Outcome,
    ToolApproval,
    ToolApprovalRequested,
    ToolDeferred,
    ToolEvent,
    ToolExecutor,
    ToolQuestion,
    ToolStarted,
)
from toolweave.protocols import Approval
from toolweave.tools import Tool, ToolContext, tool
from virtual_time import now, run


class Counter:
    """Tool that counts its runs."""

    def __init__(self, *, fails: int = 0) -> None:
        self.runs = 0
        self.fails = fails

    def tool(self, **options: Any) -> Tool[..., Any]:
        async def count(name: str = "", seconds: float = 1) -> int:  # noqa: ARG001 - a key
            self.runs += 1
            await asyncio.sleep(seconds)
            if self.runs <= self.fails:
                raise ValueError("not yet")
            return self.runs

        return tool(count, name="count", **options)


def test_a_cached_result_is_reused_until_it_expires() -> None:
    counter = Counter()

    async def main() -> None:
        executor = ToolExecutor([counter.tool(cache=10)], clock=now)
        for begin, value in ((0, 1), (5, 1), (10.5, 1), (11, 2)):
            await asyncio.sleep(begin - now())
            events = await events_of(executor, [call("count", {"name": "x"}, f"at-{begin}")])
            assert [result.value for result in only(events, ToolResult)] == [value]
            # A cached result takes no time.
            assert len(only(events, ToolStarted)) == (begin in (0, 11))

    run(main())


def test_the_order_of_arguments_does_not_matter_to_the_cache() -> None:
    counter = Counter()
    executor = ToolExecutor([counter.tool()], cache=True)
    run(executor.execute([call("count", {"name": "x", "seconds": 2})]))
    run(executor.execute([call("count", {"seconds": 2, "name": "x"})]))
    assert counter.runs == 1
    run(executor.execute([call("count", {"seconds": 2, "name": "y"})]))
    assert counter.runs == 2


@pytest.mark.parametrize("options", [{"cache": True}, {"idempotent": True}])
@pytest.mark.parametrize("limits", [{}, {"max_concurrency": 1}])
def test_identical_calls_in_flight_run_once(
    options: dict[str, Any], limits: dict[str, Any]
) -> None:
    counter = Counter()

    async def main() -> None:
        executor = ToolExecutor([counter.tool(**options)], **limits)
        calls = [call("count", {"name": "x"}) for _ in range(5)]
        first, second = await asyncio.gather(executor.execute(calls), executor.execute(calls))
        assert texts(first) == texts(second) == ["1"] * 5
        assert [each.tool_call_id for each in first.tool_results] == [
            each.id for each in first.tool_calls
        ]

    run(main())
    assert counter.runs == 1


def test_an_idempotent_call_runs_again_when_it_is_not_in_flight() -> None:
    counter = Counter()
    executor = ToolExecutor([counter.tool(idempotent=True)])
    for value in ("1", "2"):
        assert texts(run(executor.execute([call("count")]))) == [value]


def test_calls_without_sharing_each_run() -> None:
    counter = Counter()
    run(ToolExecutor([counter.tool()]).execute([call("count"), call("count")]))
    assert counter.runs == 2


def test_an_error_is_not_shared() -> None:
    counter = Counter(fails=1)
    executor = ToolExecutor([counter.tool(cache=True)])
    aggregate = run(executor.execute([call("count"), call("count"), call("count")]))
    assert codes(aggregate) == ["tool_error", None, None]
    assert codes(run(executor.execute([call("count")]))) == [None]
    assert counter.runs == 3


def test_a_cancelled_leader_hands_over() -> None:
    counter = Counter()

    async def main() -> None:
        executor = ToolExecutor([counter.tool(idempotent=True)], max_concurrency=1)
        leader = asyncio.create_task(executor.execute([call("count", {"seconds": 9})]))
        await asyncio.sleep(1)
        follower = asyncio.create_task(executor.execute([call("count", {"seconds": 9})]))
        await asyncio.sleep(1)
        leader.cancel()
        assert codes(await follower) == [None]

    run(main())
    assert counter.runs == 2


def test_a_cancelled_follower_does_not_cancel_the_leader() -> None:
    counter = Counter()

    async def main() -> None:
        executor = ToolExecutor([counter.tool(idempotent=True)])
        leader = asyncio.create_task(executor.execute([call("count", {"seconds": 9})]))
        await asyncio.sleep(1)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(executor.execute([call("count", {"seconds": 9})]), 1)
        assert texts(await leader) == ["1"]

    run(main())


def test_followers_of_a_call_that_times_out_do_not_queue_behind_each_other() -> None:
    counter = Counter()

    async def main() -> None:
        executor = ToolExecutor([counter.tool(idempotent=True, timeout=2)])
        calls = [call("count", {"seconds": 9}) for _ in range(4)]
        assert codes(await executor.execute(calls)) == ["timeout"] * 4
        assert now() == 4

    run(main())


@pytest.mark.parametrize("options", [{"cache": True}, {"idempotent": True}])
def test_a_tool_that_calls_itself_does_not_wait_for_itself(options: dict[str, Any]) -> None:
    @tool(**options)
    async def ponder(context: ToolContext) -> str:
        try:
            return str(await context.call("ponder", {}))
        except ToolFailed:
            return "deep enough"

    executor = ToolExecutor([ponder], max_call_depth=3)
    assert texts(run(executor.execute([call("ponder")]))) == ["deep enough"]


def test_a_replaced_tool_does_not_reuse_cached_results() -> None:
    async def main() -> None:
        executor = ToolExecutor([Counter().tool(cache=True)])
        await executor.execute([call("count")])
        executor.toolset.remove("count")
        other = Counter()
        executor.toolset.add(other.tool(cache=True))
        await executor.execute([call("count")])
        assert other.runs == 1

    run(main())


# Approval.


@tool(requires_approval=True)
async def delete(path: str) -> str:
    return f"deleted {path}"


def _approver(answer: Any, seconds: float = 0) -> Any:
    async def approve(_: ToolCall, __: FunctionContract) -> Any:
        await asyncio.sleep(seconds)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return approve


@pytest.mark.parametrize(
    ("approver", "outcome"),
    [
        (None, "missing_approver"),
        (_approver(Approval.deny("not today")), "denied"),
        (_approver(False), "denied"),
        (_approver(None), "error"),
        (_approver("yes"), "error"),
        (_approver(ValueError()), "error"),
        (_approver(True, seconds=99), "timeout"),
    ],
)
def test_without_approval_a_call_does_not_start(approver: Any, outcome: str) -> None:
    executor = ToolExecutor([delete], approver=approver, approval_timeout=5)
    events = run(events_of(executor, [call("delete", {"path": "a"})]))
    asked = ["ToolApprovalRequested delete"] if approver is not None else []
    decided_on = ["ToolApproval delete", "ToolResult delete", "ToolAggregateMessage"]
    assert kinds(events) == [*asked, *decided_on]
    [decided] = only(events, ToolApproval)
    assert decided.outcome == outcome
    aggregate = events[-1]
    assert isinstance(aggregate, ToolAggregateMessage)
    assert codes(aggregate) == ["denied"]
    recorded = {"delete": {"outcome": outcome, "reason": decided.reason}}
    assert aggregate.metadata == {"approvals": recorded}


def test_the_model_reads_why_a_call_was_denied() -> None:
    executor = ToolExecutor([delete], approver=_approver(Approval.deny("not today")))
    [text] = texts(run(executor.execute([call("delete", {"path": "a"})])))
    assert text.endswith(": not today")


def test_an_approved_call_runs_and_the_decision_is_recorded() -> None:
    executor = ToolExecutor([delete], approver=_approver(Approval.allow()))
    aggregate = run(executor.execute([call("delete", {"path": "a"})]))
    assert texts(aggregate) == ["deleted a"]
    assert aggregate.metadata == {"approvals": {"delete": {"outcome": "allowed", "reason": None}}}


def test_the_approved_call_is_the_one_that_runs() -> None:
    async def meddle(call: ToolCall, _: FunctionContract) -> bool:
        call.arguments["path"] = "everything"
        return True

    aggregate = run(
        ToolExecutor([delete], approver=meddle).execute([call("delete", {"path": "a"})])
    )
    assert codes(aggregate) == ["denied"]
    assert aggregate.tool_calls[0].arguments == {"path": "a"}


def test_the_approver_is_not_asked_about_invalid_arguments() -> None:
    asked: list[str] = []

    async def approve(call: ToolCall, _: FunctionContract) -> bool:
        asked.append(call.id)
        return True

    run(ToolExecutor([delete], approver=approve).execute([call("delete", {"path": 1})]))
    assert asked == []


def test_a_call_that_waits_for_approval_holds_no_slot() -> None:
    counter = Counter()

    async def main() -> None:
        executor = ToolExecutor(
            [delete, counter.tool()], approver=_approver(True, seconds=9), max_concurrency=1
        )
        calls = [call("delete", {"path": "a"}, "one"), call("delete", {"path": "b"}, "two")]
        events = await events_of(executor, [*calls, call("count")])
        assert now() == 9
        first = kinds(events)[:4]
        assert first[:2] == ["ToolApprovalRequested one", "ToolApprovalRequested two"]
        assert first[2:] == ["ToolStarted count", "ToolResult count"]

    run(main())


@pytest.mark.parametrize(
    ("needed", "asked"), [(lambda call: call.arguments["path"] == "a", 1), (lambda _: 1 / 0, 2)]
)
def test_a_function_may_decide_which_calls_need_approval(needed: Any, asked: int) -> None:
    executor = ToolExecutor([delete.replace(requires_approval=needed)], approver=_approver(True))
    calls = [call("delete", {"path": path}) for path in "ab"]
    events = run(events_of(executor, calls))
    assert len(only(events, ToolApproval)) == asked
    assert len(only(events, ToolApprovalRequested)) == asked


def test_a_call_is_interrupted_while_it_waits_for_approval() -> None:
    async def main() -> None:
        running = ToolExecutor([delete], approver=_approver(True, seconds=99)).open()
        running.submit(call("delete", {"path": "a"}))
        await asyncio.sleep(1)
        await running.cancel()
        assert running.aggregate is not None
        assert "before it started" in texts(running.aggregate)[0]

    run(main())


# Deferred results.


@tool
async def book(table: int) -> Deferred:
    return Deferred(f"booking-{table}", note="the kitchen decides")


def test_a_deferred_call_is_pending_and_its_siblings_are_not() -> None:
    executor = ToolExecutor([book, Counter().tool()])
    events = run(events_of(executor, [call("book", {"table": 4}), call("count")]))
    assert kinds(events) == [
        "ToolStarted book",
        "ToolDeferred book",
        "ToolStarted count",
        "ToolResult count",
        "ToolAggregateMessage",
    ]
    aggregate = events[-1]
    assert isinstance(aggregate, ToolAggregateMessage)
    assert [result.tool_call_id for result in aggregate.tool_results] == ["count"]
    assert aggregate.metadata == {"deferred": {"book": "booking-4"}}


def test_a_deferred_result_is_resolved_once_even_after_a_restart() -> None:
    executor = ToolExecutor([book])
    calls = [call("book", {"table": 4}), call("book", {"table": 5})]
    pending = run(executor.execute(calls))
    state = json.loads(json.dumps(executor.deferred.to_dict()))
    written = pending.to_json()

    executor = ToolExecutor([book], deferred=DeferredResults.from_dict(state))
    assert executor.resolve("booking-4", {"confirmed": True}) == Outcome.RESOLVED
    assert executor.resolve("booking-4", {"confirmed": True}) == Outcome.DUPLICATE
    assert executor.resolve("booking-4", {"confirmed": False}) == Outcome.CONFLICT
    assert executor.resolve("booking-9", {"confirmed": True}) == Outcome.NOT_FOUND
    assert executor.resolve("booking-5", "the kitchen is closed", is_error=True) == "resolved"
    merged = executor.deferred.merge_results(ToolAggregateMessage.from_json(written))
    assert texts(merged) == ['{"confirmed":true}', "the kitchen is closed"]
    assert codes(merged) == [None, "tool_error"]


def test_a_result_resolved_before_the_run_ends_is_in_the_aggregate() -> None:
    async def main() -> list[ToolEvent]:
        executor = ToolExecutor([book, Counter().tool()])
        events: list[ToolEvent] = []
        async for event in executor.stream([call("book", {"table": 4}), call("count")]):
            events.append(event)
            if isinstance(event, ToolDeferred):
                executor.resolve(event.key, "yes")
        return events

    events = run(main())
    assert isinstance(events[-1], ToolAggregateMessage)
    assert texts(events[-1]) == ["yes", "1"]
    assert [each.result for each in only(events, ToolResult)] == ["1", "yes"]


def test_an_invalid_or_used_key_is_a_tool_error() -> None:
    aggregate = run(ToolExecutor([book]).execute([call("book", {"table": 4})] * 2))
    assert codes(aggregate) == ["tool_error"]

    @tool
    async def confuse() -> Deferred:
        return Deferred(["no", "key"])  # type: ignore[arg-type]

    assert codes(run(ToolExecutor([confuse]).execute([call("confuse")]))) == ["tool_error"]


def test_a_parent_waits_for_the_deferred_result_of_a_nested_call() -> None:
    @tool(timeout=3)
    async def arrange(context: ToolContext) -> Any:
        return await context.call("book", {"table": 1})

    async def main() -> None:
        executor = ToolExecutor([book, arrange])
        async for event in executor.stream([call("arrange")]):
            if isinstance(event, ToolDeferred):
                asyncio.get_running_loop().call_later(60, executor.resolve, event.key, "yes")
        assert isinstance(event, ToolAggregateMessage)
        assert texts(event) == ["yes"]
        assert event.metadata == {}
        assert executor.deferred.to_dict() == DeferredResults().to_dict()

    run(main())


# Questions.


@tool
async def confirm(context: ToolContext) -> Any:
    return await context.ask("Which one?", {"enum": ["red", "blue"]})


def test_a_question_waits_for_a_valid_answer() -> None:
    async def main() -> None:
        executor = ToolExecutor([confirm])
        async for event in executor.stream([call("confirm")]):
            if isinstance(event, ToolQuestion):
                assert event.question == "Which one?"
                with pytest.raises(ValidationError):
                    executor.resolve(event.key, "green")
                assert executor.resolve(event.key, "blue") == Outcome.RESOLVED
        assert isinstance(event, ToolAggregateMessage)
        assert texts(event) == ["blue"]
        assert executor.deferred.pending == ()

    run(main())


def test_a_question_may_be_refused() -> None:
    async def main() -> None:
        executor = ToolExecutor([confirm])
        async for event in executor.stream([call("confirm")]):
            if isinstance(event, ToolQuestion):
                executor.resolve(event.key, "nobody is there", is_error=True)
        assert isinstance(event, ToolAggregateMessage)
        assert (texts(event), codes(event)) == (["nobody is there"], ["tool_error"])

    run(main())


def test_the_question_of_a_cancelled_tool_is_discarded() -> None:
    async def main() -> None:
        executor = ToolExecutor([confirm])
        async with executor.open() as running:
            running.submit(call("confirm"))
            await asyncio.sleep(1)
            [pending] = executor.deferred.pending
        assert executor.resolve(pending.key, "blue") == Outcome.NOT_FOUND

    run(main())
