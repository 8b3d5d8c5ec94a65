"""Invariants for any mix of calls, tools, limits and endings."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from effort import effort
from executor_events import only
from executor_scenarios import NAMES, World, approve, calls, endings, make_tool, options, run_calls
from toolweave import (
    InvalidToolCall,
    ToolAggregateMessage,
    ToolCall,
    ToolResult,
)
from toolweave.executor import (
    ToolApproval,
    ToolApprovalRequested,
    ToolDeferred,
    ToolEvent,
    ToolExecutor,
    ToolProgress,
    ToolQuestion,
    ToolStarted,
)
from virtual_time import now, run


@settings(max_examples=effort(80))
@given(
    tools=st.lists(st.tuples(options, st.booleans()), min_size=1, max_size=4),
    given_calls=st.lists(calls, max_size=8),
    max_concurrency=st.sampled_from([None, 1, 2, 3]),
    per_chat=st.sampled_from([None, 1, 2, 8]),
    pause=st.sampled_from([0, 0, 0.25]),
    end=endings,
)
@example([({}, False)], [ToolCall("a", "alpha", {"behaviour": "cling"})], 1, None, 0, 0.0)
def test_every_execution_keeps_the_invariants(
    tools: list[tuple[dict[str, Any], bool]],
    given_calls: list[ToolCall | InvalidToolCall],
    max_concurrency: int | None,
    per_chat: int | None,
    pause: float,
    end: float | None,
) -> None:
    world = World()
    made = [make_tool(world, name, *each) for name, each in zip(NAMES, tools, strict=False)]

    async def main() -> tuple[list[ToolEvent], ToolExecutor]:
        executor = ToolExecutor(
            made,
            max_concurrency=max_concurrency,
            max_concurrency_per_chat=per_chat,
            timeout=20,
            clock=now,
            cancel_grace=2,
            approver=approve,
        )
        events = await run_calls(executor, given_calls, pause, end)
        # Abandoned tools end as well.
        await asyncio.sleep(60)
        return events, executor

    events, executor = run(main())

    # There is exactly one aggregate, it is last, and it has every call in order.
    aggregate = events[-1]
    assert isinstance(aggregate, ToolAggregateMessage)
    assert len(only(events, ToolAggregateMessage)) == 1
    ids = [call.id for call in aggregate.tool_calls]
    assert len(set(ids)) == len(ids)
    assert [call.name for call in aggregate.tool_calls] == [call.name for call in given_calls]

    # Each call has one result or is pending.
    results = only(events, ToolResult)
    pending = {each.tool_call_id: each.key for each in only(events, ToolDeferred)}
    of_reply = [each for each in pending if each in ids]
    assert sorted([*(result.tool_call_id for result in results), *of_reply]) == sorted(ids)
    assert list(aggregate.tool_results) == sorted(
        results, key=lambda result: ids.index(result.tool_call_id)
    )
    of_aggregate = {call_id: pending[call_id] for call_id in of_reply}
    assert aggregate.metadata.get("deferred", {}) == of_aggregate
    assert {entry.key for entry in executor.deferred.pending} <= set(pending.values())

    # The events of a call are in order.
    for call_id in ids:
        kinds = [
            type(each)
            for each in events
            if not isinstance(each, ToolAggregateMessage) and each.tool_call_id == call_id
        ]
        assert kinds[-1] in (ToolResult, ToolDeferred)
        assert kinds.count(ToolStarted) <= 1
        begun = kinds.index(ToolStarted) if ToolStarted in kinds else len(kinds) - 1
        assert kinds[:begun] in ([], [ToolApprovalRequested], [ToolApprovalRequested, ToolApproval])
        assert set(kinds[begun + 1 : -1]) <= {ToolProgress, ToolQuestion}
        event(f"a call ends with {kinds[-1].__name__}")

    # The limits hold.
    if max_concurrency is not None:
        assert world.most <= max_concurrency
    if per_chat is not None:
        assert world.most <= per_chat
    for name, (limits, _) in zip(NAMES, tools, strict=False):
        if "max_concurrency" in limits:
            assert world.most_of[name] <= limits["max_concurrency"]
    assert not +world.at_work


@settings(max_examples=effort(60))
@given(
    keys=st.lists(st.sampled_from("xy"), max_size=8),
    max_concurrency=st.sampled_from([None, 1, 2]),
)
def test_calls_with_the_same_key_never_run_concurrently(
    keys: list[str], max_concurrency: int | None
) -> None:
    world = World()
    made = [make_tool(world, name, {"concurrency_key": "key"}, False) for name in NAMES]
    given_calls = [
        ToolCall("", NAMES[position % 4], {"seconds": 1, "key": key})
        for position, key in enumerate(keys)
    ]
    run(ToolExecutor(made, max_concurrency=max_concurrency).execute(given_calls))
    assert world.most_of_key <= 1
