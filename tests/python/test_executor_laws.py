"""What holds for any mix of calls, tools, limits and endings."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from executing import now, only, run
from toolweave import (
    FunctionContract,
    InvalidToolCall,
    ToolAggregateMessage,
    ToolCall,
    ToolResult,
    Violation,
)
from toolweave.exceptions import ToolError, TransientToolError
from toolweave.executor import (
    Deferred,
    ToolApproval,
    ToolApprovalRequested,
    ToolDeferred,
    ToolEvent,
    ToolExecutor,
    ToolProgress,
    ToolQuestion,
    ToolStarted,
)
from toolweave.protocols import Approval
from toolweave.tools import RateLimit, RetryPolicy, Tool, ToolContext, tool

NAMES = ["alpha", "beta", "gamma", "delta"]

# What a call does, as the model asks for it: at the end of the time given.
DEEDS = [
    "return",
    "raise",
    "raise_transient",
    "raise_cancelled",
    "raise_odd",
    "cancel_itself",
    "never",
    "cling",
    "report",
    "defer",
    "ask",
    "ask_in_vain",
    "call",
    "call_many",
]


class Odd(BaseException):
    pass


@dataclass
class World:
    """What the tools of one example see of each other."""

    at_work: Counter[str] = field(default_factory=Counter)
    keys: Counter[str] = field(default_factory=Counter)
    most: int = 0
    most_of: Counter[str] = field(default_factory=Counter)
    most_of_key: int = 0

    def enter(self, name: str) -> None:
        self.at_work[name] += 1
        self.most = max(self.most, self.at_work.total())
        self.most_of[name] = max(self.most_of[name], self.at_work[name])

    def leave(self, name: str) -> None:
        self.at_work[name] -= 1

    async def do(self, name: str, deed: str, seconds: float, key: str, context: ToolContext) -> Any:
        self.enter(name)
        self.keys[key] += 1
        self.most_of_key = max(self.most_of_key, self.keys[key])
        try:
            return await self._do(name, deed, seconds, key, context)
        finally:
            self.keys[key] -= 1
            self.leave(name)

    async def _do(
        self, name: str, deed: str, seconds: float, key: str, context: ToolContext
    ) -> Any:
        await asyncio.sleep(seconds)
        if deed == "raise":
            raise ValueError(deed)
        if deed == "raise_transient":
            raise TransientToolError(deed)
        if deed == "raise_cancelled":
            raise asyncio.CancelledError
        if deed == "raise_odd":
            raise Odd
        if deed == "cancel_itself":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(1)
        if deed == "never":
            await asyncio.Event().wait()
        if deed == "cling":
            try:
                await asyncio.sleep(50)
            except asyncio.CancelledError:
                await asyncio.sleep(seconds)
        if deed == "report":
            for number in range(3):
                context.progress(number)
                await asyncio.sleep(seconds)
        if deed == "defer":
            return Deferred()
        if deed in ("ask", "ask_in_vain", "call", "call_many"):
            # It waits, and others may have its place.
            self.leave(name)
            try:
                answer = await self._wait_for(deed, seconds, key, context)
            except asyncio.CancelledError:
                # It was stopped meanwhile, and has no place any more.
                self.at_work[name] += 1
                raise
            except ToolError:
                self.enter(name)
                raise
            self.enter(name)
            return answer
        return deed

    async def _wait_for(self, deed: str, seconds: float, key: str, context: ToolContext) -> Any:
        if deed.startswith("ask"):
            return await context.ask(deed)
        given = {"deed": "return", "seconds": seconds, "key": "y" if key == "x" else "x"}
        names = NAMES[:1] if deed == "call" else NAMES[:3]
        calls = [context.call(name, given) for name in names]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        # Unknown tools, denied calls and the like are the tool's to deal with.
        assert all(isinstance(each, (str, ToolError)) for each in answers), answers
        return len(answers)


def _tool(world: World, name: str, options: dict[str, Any], generator: bool) -> Tool[..., Any]:
    options = {**options, "after": [other for other in options.get("after", ()) if other != name]}

    async def plain(
        context: ToolContext, deed: str = "return", seconds: float = 0, key: str = ""
    ) -> Any:
        return await world.do(name, deed, seconds, key, context)

    async def generated(
        context: ToolContext, deed: str = "return", seconds: float = 0, key: str = ""
    ) -> AsyncIterator[Any]:
        yield "begun"
        yield await world.do(name, deed, seconds, key, context)

    return tool(generated if generator else plain, name=name, **options)


seconds = st.sampled_from([0, 0, 0.5, 1, 3])
options = st.fixed_dictionaries(
    {},
    optional={
        "timeout": st.sampled_from([0.7, 2, 5]),
        "idle_timeout": st.sampled_from([0.7, 2]),
        "retries": st.just(RetryPolicy(3, initial=0.5, jitter=0)),
        "max_concurrency": st.sampled_from([1, 2]),
        "concurrency_key": st.just("key"),
        "sequential": st.booleans(),
        "requires_approval": st.booleans(),
        "idempotent": st.booleans(),
        "cache": st.sampled_from([False, True, 2]),
        "rate_limit": st.builds(
            RateLimit, st.sampled_from([1, 2]), on_limit=st.sampled_from(["wait", "refuse"])
        ),
        "max_result_chars": st.just(3),
        "after": st.lists(st.sampled_from(NAMES), unique=True, max_size=2).map(tuple),
        "partial_results": st.booleans(),
    },
)
calls = st.builds(
    ToolCall,
    st.sampled_from(["", "a", "a", "b", "c", "a#2"]),
    st.sampled_from([*NAMES, "nowhere"]),
    st.fixed_dictionaries(
        {},
        optional={
            "deed": st.sampled_from(DEEDS),
            "seconds": seconds | st.just("long"),
            "key": st.sampled_from(["x", "y"]),
        },
    ),
) | st.builds(
    InvalidToolCall,
    st.just(0),
    st.sampled_from(["a", "b"]),
    st.sampled_from(NAMES),
    st.sampled_from(["unclosed", "too_large", "schema_violation"]),
    st.just("<raw>"),
    st.just((Violation("", "type", "the value: wrong", None, None),)),
)
endings = st.none() | st.floats(0, 8)


async def _approve(call: ToolCall, _: FunctionContract) -> Approval:
    await asyncio.sleep(0.5)
    return Approval(allowed=call.arguments.get("key") != "y")


async def _play(
    executor: ToolExecutor, given: list[ToolCall | InvalidToolCall], pause: float, end: float | None
) -> list[ToolEvent]:
    """Submits the calls, answers what is asked, and may go away before the end."""
    loop = asyncio.get_running_loop()
    events: list[ToolEvent] = []
    running = executor.open()

    async def read() -> None:
        async for each in running:
            events.append(each)
            if isinstance(each, ToolQuestion):
                answer = functools.partial(
                    executor.resolve, each.key, "?", is_error=each.question == "ask_in_vain"
                )
                loop.call_later(pause, answer)

    reader = asyncio.ensure_future(read())
    for each in given:
        running.submit(each)
        if pause:
            await asyncio.sleep(pause)
    if end is None:
        running.close()
    else:
        await asyncio.sleep(end)
        await running.cancel()
    await reader
    return events


@settings(max_examples=150)
@given(
    tools=st.lists(st.tuples(options, st.booleans()), min_size=1, max_size=4),
    given_calls=st.lists(calls, max_size=8),
    max_concurrency=st.sampled_from([None, 1, 2, 3]),
    pause=st.sampled_from([0, 0, 0.25]),
    end=endings,
)
@example([({}, False)], [ToolCall("a", "alpha", {"deed": "cling"})], 1, 0, 0.0)
def test_the_laws_of_execution(
    tools: list[tuple[dict[str, Any], bool]],
    given_calls: list[ToolCall | InvalidToolCall],
    max_concurrency: int | None,
    pause: float,
    end: float | None,
) -> None:
    world = World()
    made = [_tool(world, name, *each) for name, each in zip(NAMES, tools, strict=False)]

    async def main() -> tuple[list[ToolEvent], ToolExecutor]:
        executor = ToolExecutor(
            made,
            max_concurrency=max_concurrency,
            timeout=20,
            clock=now,
            cancel_grace=2,
            approver=_approve,
        )
        events = await _play(executor, given_calls, pause, end)
        # Whoever was given up comes to an end, too.
        await asyncio.sleep(60)
        return events, executor

    events, executor = run(main())

    # The aggregate is the last, there is one, and it has every call in order.
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

    # What is said of a call is said in order.
    for call_id in ids:
        said = [
            type(each)
            for each in events
            if not isinstance(each, ToolAggregateMessage) and each.tool_call_id == call_id
        ]
        assert said[-1] in (ToolResult, ToolDeferred)
        assert said.count(ToolStarted) <= 1
        begun = said.index(ToolStarted) if ToolStarted in said else len(said) - 1
        assert said[:begun] in ([], [ToolApprovalRequested], [ToolApprovalRequested, ToolApproval])
        assert set(said[begun + 1 : -1]) <= {ToolProgress, ToolQuestion}
        event(f"a call ends with {said[-1].__name__}")

    # The limits hold.
    if max_concurrency is not None:
        assert world.most <= max_concurrency
    for name, (limits, _) in zip(NAMES, tools, strict=False):
        if "max_concurrency" in limits:
            assert world.most_of[name] <= limits["max_concurrency"]
    assert not +world.at_work


@settings(max_examples=60)
@given(
    keys=st.lists(st.sampled_from("xy"), max_size=8),
    max_concurrency=st.sampled_from([None, 1, 2]),
)
def test_calls_that_share_a_key_are_never_side_by_side(
    keys: list[str], max_concurrency: int | None
) -> None:
    world = World()
    made = [_tool(world, name, {"concurrency_key": "key"}, False) for name in NAMES]
    given_calls = [
        ToolCall("", NAMES[position % 4], {"seconds": 1, "key": key})
        for position, key in enumerate(keys)
    ]
    run(ToolExecutor(made, max_concurrency=max_concurrency).execute(given_calls))
    assert world.most_of_key <= 1
