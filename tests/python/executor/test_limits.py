"""Limits of an executor: concurrency, order, rate limits, and no deadlocks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from executor_events import call, codes, events_of, kinds, only, texts
from toolweave import ToolAggregateMessage, ToolCall
from toolweave.exceptions import ToolFailed
from toolweave.executor import ToolExecutor, ToolQuestion, ToolStarted
from toolweave.tools import RateLimit, Tool, ToolContext, tool
from virtual_time import now, run


class Meter:
    """Tool that counts the running calls of itself and of all tools."""

    def __init__(self) -> None:
        self.at_work: list[str] = []
        self.most = 0
        self.spans: list[tuple[str, float, float]] = []

    def tool(self, name: str, **options: Any) -> Tool[..., Any]:
        async def work(seconds: float = 1, key: str = "") -> None:
            begin = now()
            self.at_work.append(name)
            self.most = max(self.most, len(self.at_work))
            await asyncio.sleep(seconds)
            self.at_work.remove(name)
            self.spans.append((key or name, begin, now()))

        return tool(work, name=name, **options)


@pytest.fixture
def meter() -> Meter:
    return Meter()


def test_no_more_calls_run_at_once_than_the_executor_allows(meter: Meter) -> None:
    executor = ToolExecutor([meter.tool("a"), meter.tool("b")], max_concurrency=3)

    async def main() -> None:
        replies = [executor.execute([call("a"), call("b"), call("a")]) for _ in range(4)]
        await asyncio.gather(*replies)
        assert now() == 4

    run(main())
    assert meter.most == 3
    assert len(meter.spans) == 12


def test_no_more_calls_of_a_tool_run_at_once_than_it_allows(meter: Meter) -> None:
    executor = ToolExecutor([meter.tool("narrow", max_concurrency=2), meter.tool("wide")])
    calls = [call("narrow") for _ in range(4)] + [call("wide") for _ in range(4)]

    async def main() -> None:
        await executor.execute(calls)
        assert now() == 2

    run(main())
    assert meter.most == 6


def test_a_waiting_call_has_not_started(meter: Meter) -> None:
    executor = ToolExecutor([meter.tool("a")], max_concurrency=1)
    events = run(events_of(executor, [call("a"), call("a")]))
    assert kinds(events) == [
        "ToolStarted a",
        "ToolResult a",
        "ToolStarted a#2",
        "ToolResult a#2",
        "ToolAggregateMessage",
    ]


@pytest.mark.parametrize("key", ["key", lambda arguments: arguments["key"]])
def test_calls_with_the_same_key_run_one_after_another(meter: Meter, key: Any) -> None:
    executor = ToolExecutor([meter.tool("edit", concurrency_key=key)])
    calls = [call("edit", {"key": key}) for key in ("one", "two", "one", "one", "two")]

    async def main() -> None:
        await executor.execute(calls)
        assert now() == 3

    run(main())
    assert meter.most == 2
    assert [begin for key, begin, _ in meter.spans if key == "one"] == [0, 1, 2]


def test_an_exception_in_a_key_function_fails_only_its_call(meter: Meter) -> None:
    executor = ToolExecutor([meter.tool("edit", concurrency_key=lambda given: given["key"])])
    calls = [call("edit"), call("edit", {"key": "one"})]
    assert codes(run(executor.execute(calls))) == ["tool_error", None]


def test_a_sequential_call_is_a_barrier_among_the_calls_of_its_reply(meter: Meter) -> None:
    executor = ToolExecutor([meter.tool("read"), meter.tool("write", sequential=True)])
    calls = [call(name) for name in ("read", "read", "write", "read", "read", "write")]
    run(executor.execute(calls))
    assert [(name, begin) for name, begin, _ in meter.spans] == [
        ("read", 0),
        ("read", 0),
        ("write", 1),
        ("read", 2),
        ("read", 2),
        ("write", 3),
    ]


def test_a_call_starts_after_those_of_the_tools_it_names(meter: Meter) -> None:
    executor = ToolExecutor(
        [meter.tool("login"), meter.tool("search"), meter.tool("fetch", after=("login",))]
    )
    run(executor.execute([call("login", {"seconds": 3}), call("search"), call("fetch")]))
    assert [(name, begin) for name, begin, _ in meter.spans] == [
        ("search", 0),
        ("login", 0),
        ("fetch", 3),
    ]


def test_a_call_starts_after_failed_calls_too() -> None:
    @tool
    async def login() -> None:
        raise ValueError("no")

    @tool(after="login")
    async def fetch() -> str:
        return "page"

    aggregate = run(ToolExecutor([login, fetch]).execute([call("login"), call("fetch")]))
    assert codes(aggregate) == ["tool_error", None]


def test_a_call_waits_for_its_rate_limit_before_it_starts(meter: Meter) -> None:
    limited = meter.tool("limited", rate_limit=RateLimit(2, per=10))
    executor = ToolExecutor([limited, meter.tool("free")], clock=now, max_concurrency=2)
    calls = [call("limited") for _ in range(4)] + [call("free")]
    events = run(events_of(executor, calls))
    assert [(name, begin) for name, begin, _ in meter.spans] == [
        ("limited", 0),
        ("limited", 0),
        # It does not wait for calls that wait for the limit.
        ("free", 1),
        ("limited", 5),
        ("limited", 10),
    ]
    assert all(result.duration == 1 for result in events[-1].tool_results)  # type: ignore[union-attr]


def test_a_rate_limit_may_refuse_a_call() -> None:
    @tool(rate_limit=RateLimit(1, per=10, on_limit="refuse"))
    async def search() -> str:
        return "found"

    async def main() -> None:
        executor = ToolExecutor([search], clock=now)
        events = await events_of(executor, [call("search"), call("search")])
        assert isinstance(events[-1], ToolAggregateMessage)
        assert codes(events[-1]) == [None, "rate_limited"]
        assert texts(events[-1])[1] == (
            "Tool 'search' is called too often. Try again in 10 seconds."
        )
        assert len(only(events, ToolStarted)) == 1
        await asyncio.sleep(10)
        assert codes(await executor.execute([call("search")])) == [None]

    run(main())


def test_the_rate_limit_of_the_executor_applies_per_tool(meter: Meter) -> None:
    executor = ToolExecutor(
        [meter.tool("a"), meter.tool("b")], rate_limit=RateLimit(1, per=5), clock=now
    )
    run(executor.execute([call("a"), call("b"), call("a")]))
    assert [(name, begin) for name, begin, _ in meter.spans] == [("a", 0), ("b", 0), ("a", 5)]


@tool
async def outer(context: ToolContext, depth: int) -> int:
    if depth == 0:
        return 0
    return 1 + await context.call("outer", {"depth": depth - 1})  # type: ignore[no-any-return]


@pytest.mark.parametrize("options", [{"max_concurrency": 1}, {}])
@pytest.mark.parametrize(
    "of_tool", [{}, {"max_concurrency": 1}, {"concurrency_key": lambda _: "one"}]
)
def test_nested_calls_do_not_deadlock_with_their_parents(
    options: dict[str, Any], of_tool: dict[str, Any]
) -> None:
    executor = ToolExecutor([outer.replace(**of_tool)], **options)
    calls = [call("outer", {"depth": 5}, str(number)) for number in range(3)]
    assert texts(run(executor.execute(calls))) == ["5", "5", "5"]


@pytest.mark.parametrize("chain", [["x", "y"], ["x", "y", "z"]])
def test_tools_that_need_each_others_keys_do_not_deadlock(chain: list[str]) -> None:
    @tool(concurrency_key="key")
    async def hold(key: str, wanted: str, context: ToolContext) -> str:
        await asyncio.sleep(1)
        if not wanted:
            return f"had {key}"
        try:
            return str(await context.call("hold", {"key": wanted, "wanted": ""}))
        except ToolFailed as error:
            return error.message

    calls = [
        call("hold", {"key": key, "wanted": wanted})
        for key, wanted in zip(chain, [*chain[1:], chain[0]], strict=True)
    ]
    results = sorted(texts(run(ToolExecutor([hold]).execute(calls))))
    refused = "Tool 'hold' was not called: it would wait for a call that waits for it."
    # The last call would complete the deadlock and fails; the others run after it.
    assert results == [refused, *(f"had {key}" for key in chain[1:])]


def test_a_tool_may_make_many_calls_at_once_within_the_limit(meter: Meter) -> None:
    @tool
    async def gather(context: ToolContext) -> float:
        await asyncio.gather(*(context.call("work", {}) for _ in range(4)))
        return now()

    executor = ToolExecutor([gather, meter.tool("work")], max_concurrency=2)
    [result] = run(executor.execute([call("gather")])).tool_results
    assert result.value == 2
    assert meter.most == 2


def test_the_depth_of_nested_calls_is_limited() -> None:
    executor = ToolExecutor([outer], max_call_depth=3)
    shallow, deep = run(
        executor.execute([call("outer", {"depth": 3}), call("outer", {"depth": 4})])
    ).tool_results
    assert shallow.value == 3
    assert deep.is_error
    assert "at most 3 deep" in deep.result


def test_nested_calls_are_validated() -> None:
    @tool
    async def careless(context: ToolContext, name: str, depth: str) -> str:
        try:
            await context.call(name, {"depth": depth})
        except ToolFailed as error:
            return error.message
        return "never"

    executor = ToolExecutor([careless, outer])
    calls = [
        call("careless", {"name": "outer", "depth": "deep"}),
        call("careless", {"name": "inner", "depth": "deep"}),
    ]
    wrong, unknown = texts(run(executor.execute(calls)))
    assert wrong.startswith("Invalid arguments for tool 'outer': /depth")
    assert unknown.startswith("Tool 'inner' not found.")


def test_nested_calls_are_not_streamed_but_observed() -> None:
    observed: list[str] = []

    class Observer:
        async def on_started(self, call: ToolCall) -> None:
            observed.append(call.id)

    events = run(
        events_of(ToolExecutor([outer], observer=Observer()), [call("outer", {"depth": 2})])
    )
    assert kinds(events) == ["ToolStarted outer", "ToolResult outer", "ToolAggregateMessage"]
    assert observed == ["outer", "outer/1", "outer/1/1"]


def test_a_tool_that_asks_releases_its_slot(meter: Meter) -> None:
    @tool
    async def confirm(context: ToolContext) -> Any:
        return await context.ask("Sure?", {"type": "boolean"})

    async def main() -> None:
        executor = ToolExecutor([confirm, meter.tool("work")], max_concurrency=1)
        events = []
        async for event in executor.stream([call("confirm"), call("work")]):
            events.append(event)
            if isinstance(event, ToolQuestion):
                asyncio.get_running_loop().call_later(5, executor.resolve, event.key, True)
        assert kinds(events) == [
            "ToolStarted confirm",
            "ToolQuestion confirm",
            "ToolStarted work",
            "ToolResult work",
            "ToolResult confirm",
            "ToolAggregateMessage",
        ]
        assert now() == 5

    run(main())


def test_a_limit_of_zero_is_an_error_at_once() -> None:
    with pytest.raises(ValueError, match="max_concurrency"):
        ToolExecutor(max_concurrency=0)
