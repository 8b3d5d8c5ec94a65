"""Every call has exactly one result, whatever its own tool and the other tools do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from executor_events import call, codes, events_of, kinds, only, result_of, texts
from package_logs import package_records
from toolweave import (
    ErrorCode,
    InvalidToolCall,
    ToolAggregateMessage,
    ToolCall,
    ToolCallMessage,
    ToolResult,
    Violation,
)
from toolweave.exceptions import ModelRetry, ToolFailed
from toolweave.executor import ToolExecutor, ToolProgress, ToolStarted
from toolweave.tools import Tool, tool
from virtual_time import run


@tool
async def add(a: int, b: int) -> int:
    return a + b


@tool
async def raises() -> None:
    raise ValueError("no such city\nand a second line")


@tool
def raises_in_a_thread() -> None:
    raise LookupError("nothing there")


@tool
async def returns_no_json() -> object:
    return object()


@tool
async def raises_cancelled() -> None:
    raise asyncio.CancelledError


@tool
async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(1)


@tool
async def raises_generator_exit() -> None:
    raise GeneratorExit


class Odd(BaseException):
    """BaseException that is neither an Exception nor meant for the program."""


@tool
async def raises_odd() -> None:
    raise Odd("odd")


@tool(timeout=0.5)
async def never_returns() -> None:
    await asyncio.Event().wait()


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even that")


@tool
async def raises_unprintable() -> None:
    raise UnprintableError


@tool
async def stops_iteration() -> None:
    next(iter(()))


BROKEN = [
    (raises, ErrorCode.TOOL_ERROR),
    (raises_in_a_thread, ErrorCode.TOOL_ERROR),
    (returns_no_json, ErrorCode.TOOL_ERROR),
    (raises_cancelled, ErrorCode.CANCELLED),
    (cancels_itself, ErrorCode.CANCELLED),
    (raises_generator_exit, ErrorCode.TOOL_ERROR),
    (raises_odd, ErrorCode.TOOL_ERROR),
    (raises_unprintable, ErrorCode.TOOL_ERROR),
    (stops_iteration, ErrorCode.TOOL_ERROR),
    (never_returns, ErrorCode.TIMEOUT),
]


@pytest.mark.parametrize(("broken", "code"), BROKEN, ids=lambda value: getattr(value, "name", None))
def test_a_tool_that_fails_has_one_result_and_does_not_affect_other_calls(
    broken: Tool[..., Any], code: ErrorCode
) -> None:
    loop = None if broken.style == "async" else asyncio.new_event_loop()
    calls = [
        call("add", {"a": 1, "b": 2}, "first"),
        call(broken.name, call_id="broken"),
        call("add", {"a": 3, "b": 4}, "last"),
    ]
    events = run(events_of(ToolExecutor([add, broken]), calls), loop)
    aggregate = events[-1]
    assert isinstance(aggregate, ToolAggregateMessage)
    assert codes(aggregate) == [None, code.value, None]
    assert [result.value for result in aggregate.tool_results][::2] == [3, 7]
    assert sorted(only(events, ToolResult), key=str) == sorted(aggregate.tool_results, key=str)


def test_a_single_call_that_fails_has_a_result() -> None:
    for broken, code in BROKEN:
        if broken.style == "async":
            aggregate = run(ToolExecutor([broken]).execute([call(broken.name)]))
            assert codes(aggregate) == [code.value]


def test_calls_that_cannot_run_have_a_result_with_the_reason() -> None:
    violation = Violation("/a", "type", '/a: "x" is not an integer', "integer", "x")
    calls = [
        call("subtract"),
        call("add", {"a": 1}),
        InvalidToolCall(2, "cut", "add", "unclosed", "<add>{", (violation,)),
        InvalidToolCall(3, "big", "add", "too_large", "<add>{", (violation,)),
        InvalidToolCall(4, "who", "sub", "unknown_tool", "<sub>{}</sub>", (violation,)),
        call("add", {"a": 1, "b": 2}),
    ]
    events = run(events_of(ToolExecutor([add]), calls))
    aggregate = events[-1]
    assert isinstance(aggregate, ToolAggregateMessage)
    assert codes(aggregate) == [
        "unknown_tool",
        "invalid_arguments",
        "invalid_arguments",
        "too_large",
        "unknown_tool",
        None,
    ]
    assert texts(aggregate)[0] == "Tool 'subtract' not found. Available tools: add"
    assert texts(aggregate)[1].endswith("/b: missing; an integer is required")
    # None of the refused calls has started.
    assert [event.tool_call_id for event in only(events, ToolStarted)] == ["add#2"]


def test_the_aggregate_keeps_the_raw_text_of_an_invalid_call() -> None:
    violation = Violation("", "type", "no JSON", None, None)
    broken = InvalidToolCall(7, "c", "add", "invalid_json", "<add>{oops</add>", (violation,))
    aggregate = run(ToolExecutor([add]).execute([broken]))
    assert aggregate.tool_calls == (ToolCall("c", "add", {}, "<add>{oops</add>", 7),)


def test_a_type_that_raises_fails_only_its_call() -> None:
    def explode(_: int) -> int:
        raise RuntimeError("boom")

    @tool
    async def take(number: Annotated[int, AfterValidator(explode)]) -> int:
        return number

    calls = [call("take", {"number": 1}), call("add", {"a": 1, "b": 2})]
    assert codes(run(ToolExecutor([take, add]).execute(calls))) == ["tool_error", None]


def test_repeated_and_missing_ids_become_unique_in_order() -> None:
    arguments = {"a": 1, "b": 1}
    given = ["x", "x", "", "x#2", "x", "call_2", ""]
    calls = [call("add", arguments, each) for each in given]
    aggregate = run(ToolExecutor([add]).execute(calls))
    ids = [each.id for each in aggregate.tool_calls]
    assert ids == ["x", "x#2", "call_2", "x#2#2", "x#3", "call_2#2", "call_6"]
    assert [result.tool_call_id for result in aggregate.tool_results] == ids


def test_missing_ids_come_from_the_factory() -> None:
    executor = ToolExecutor([add], id_factory=lambda position: f"reply-{position}")
    calls = [call("add", {"a": 1, "b": 1}, ""), call("add", {"a": 1, "b": 1}, "")]
    aggregate = run(executor.execute(calls))
    assert [each.id for each in aggregate.tool_calls] == ["reply-0", "reply-1"]


@tool
async def wait(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds


def test_results_come_as_tools_finish_and_the_aggregate_in_call_order() -> None:
    calls = [call("wait", {"seconds": seconds}, str(seconds)) for seconds in (3, 1, 2)]
    events = run(events_of(ToolExecutor([wait]), calls))
    assert kinds(events) == [
        "ToolStarted 3",
        "ToolStarted 1",
        "ToolStarted 2",
        "ToolResult 1",
        "ToolResult 2",
        "ToolResult 3",
        "ToolAggregateMessage",
    ]
    aggregate = events[-1]
    assert isinstance(aggregate, ToolAggregateMessage)
    assert [result.tool_call_id for result in aggregate.tool_results] == ["3", "1", "2"]


def test_calls_may_be_a_message_or_empty_and_anything_else_is_an_error() -> None:
    executor = ToolExecutor([add])
    message = ToolCallMessage([call("add", {"a": 1, "b": 2})])
    assert texts(run(executor.execute(message))) == ["3"]
    assert run(executor.execute([])) == ToolAggregateMessage([], [])
    assert kinds(run(events_of(executor, []))) == ["ToolAggregateMessage"]
    with pytest.raises(TypeError, match="an iterable of calls"):
        run(executor.execute(call("add")))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="got dict"):
        # Started calls have ended when this is raised; otherwise `run` would find a task.
        run(executor.execute([call("add", {"a": 1, "b": 2}), {"name": "add"}]))  # type: ignore[list-item]


@pytest.mark.parametrize("error", [ModelRetry, ToolFailed])
def test_the_text_of_a_tool_error_is_passed_on_whole(error: type[ToolFailed]) -> None:
    @tool
    async def book() -> None:
        raise error("no table left\ntry /etc/tomorrow")

    [result] = run(ToolExecutor([book]).execute([call("book")])).tool_results
    assert result.result == "no table left\ntry /etc/tomorrow"
    assert result.is_error


@pytest.mark.parametrize(
    ("detail", "text"),
    [
        ("message", "Error executing tool: no such city"),
        ("none", "Error executing tool."),
    ],
)
def test_error_detail_decides_what_the_model_reads_of_an_error(detail: Any, text: str) -> None:
    assert texts(run(ToolExecutor([raises], error_detail=detail).execute([call("raises")]))) == [
        text
    ]


def test_the_full_detail_has_the_traceback() -> None:
    [text] = texts(run(ToolExecutor([raises], error_detail="full").execute([call("raises")])))
    assert "Traceback" in text
    assert "ValueError: no such city" in text


def test_a_long_result_is_truncated_with_a_notice_and_its_value_is_whole() -> None:
    @tool(max_result_chars=10)
    async def read() -> str:
        return "x" * 25

    @tool
    async def write() -> str:
        return "y" * 25

    executor = ToolExecutor([read, write], max_result_chars=20)
    cut, other = run(executor.execute([call("read"), call("write")])).tool_results
    assert cut.result == "x" * 10 + "\n[truncated: 15 of 25 characters left out]"
    assert cut.value == "x" * 25
    assert other.result.startswith("y" * 20 + "\n")


def test_yielded_values_are_progress_and_the_last_one_is_the_result() -> None:
    @tool
    async def count(up_to: int) -> AsyncIterator[int]:
        for number in range(up_to):
            await asyncio.sleep(1)
            yield number

    calls = [call("count", {"up_to": 3}), call("count", {"up_to": 0}, "none")]
    events = run(events_of(ToolExecutor([count]), calls))
    assert [event.value for event in only(events, ToolProgress)] == [0, 1, 2]
    assert result_of(events, "count").value == 2
    assert result_of(events, "none").value is None


def test_durations_are_measured_by_the_given_clock() -> None:
    ticks = iter([10.0, 12.5])
    executor = ToolExecutor([add], clock=lambda: next(ticks))
    [result] = run(executor.execute([call("add", {"a": 1, "b": 2})])).tool_results
    assert result.duration == 2.5


def test_a_tool_cannot_modify_the_arguments_in_the_aggregate() -> None:
    async def sort(names: list[str]) -> list[str]:
        names.sort()
        return names

    schema = {"type": "object", "properties": {"names": {"type": "array"}}}
    executor = ToolExecutor([Tool.from_schema("sort", schema, sort)])
    aggregate = run(executor.execute([call("sort", {"names": ["b", "a"]})]))
    assert aggregate.tool_calls[0].arguments == {"names": ["b", "a"]}
    assert aggregate.tool_results[0].value == ["a", "b"]


def test_log_records_identify_calls_without_arguments_or_results(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool
    async def reveal(secret: str) -> str:
        raise ValueError(secret)

    with caplog.at_level(logging.DEBUG, "toolweave.executor"):
        run(ToolExecutor([reveal]).execute([call("reveal", {"secret": "hunter2"})]))
    [record] = package_records(caplog)
    facts = {**record.__dict__}
    assert facts["tool_call_id"] == "reveal"
    assert facts["error_type"] == "ValueError"
    # Only the exception of a tool may quote its arguments.
    del facts["exc_info"], facts["exc_text"]
    assert "hunter2" not in str(facts)
