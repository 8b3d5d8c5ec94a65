"""Exceptions of tools: logged with a traceback, kept in the process, and not sent anywhere."""

from __future__ import annotations

import asyncio
import gc
import logging
import pickle

import pytest

from package_logs import package_records
from toolweave import (
    ToolAggregateMessage,
    ToolCall,
    ToolContext,
    ToolError,
    ToolExecutor,
    ToolFailed,
    ToolResult,
    message_from_json,
)
from toolweave.tools import Tool, tool


@tool
async def divide(a: int, b: int) -> float:
    """Divide a number by another."""
    return a / b


@tool
async def refuse(reason: str) -> str:
    """Refuse."""
    raise ToolFailed(reason)


@tool
async def delegate(ctx: ToolContext) -> object:
    """Let another tool divide."""
    return await ctx.call("divide", {"a": 1, "b": 0})


@tool
async def explain(ctx: ToolContext) -> object:
    """Let another tool divide, and explain the error."""
    try:
        return await ctx.call("divide", {"a": 1, "b": 0})
    except ToolError as error:
        raise ToolFailed("nothing can be divided by nothing") from error


def run(caplog: pytest.LogCaptureFixture, *calls: ToolCall) -> ToolAggregateMessage:
    tools: list[Tool[..., object]] = [divide, refuse, delegate, explain]
    with caplog.at_level(logging.DEBUG, "toolweave.executor"):
        return asyncio.run(ToolExecutor(tools).execute(calls))


def test_an_exception_is_logged_with_its_traceback_under_the_reference_of_the_result(
    caplog: pytest.LogCaptureFixture,
) -> None:
    [result] = run(caplog, ToolCall("c", "divide", {"a": 1, "b": 0})).tool_results
    assert isinstance(result.exception, ZeroDivisionError)
    [record] = [each for each in package_records(caplog) if each.exc_info]
    assert record.levelno == logging.WARNING
    assert record.exc_info is not None
    assert record.exc_info[1] is result.exception
    assert result.reference is not None
    assert result.reference in record.getMessage()
    assert "return a / b" in caplog.text
    assert record.__dict__["tool"] == "divide"
    assert record.__dict__["tool_call_id"] == "c"


def test_references_differ(caplog: pytest.LogCaptureFixture) -> None:
    calls = [ToolCall(f"c{number}", "divide", {"a": 1, "b": 0}) for number in range(20)]
    aggregate = run(caplog, *calls)
    references = {result.tool_call_id: result.reference for result in aggregate.tool_results}
    assert len(set(references.values())) == 20
    assert aggregate.metadata["references"] == references


def test_the_exception_is_neither_on_the_wire_nor_pickled(caplog: pytest.LogCaptureFixture) -> None:
    aggregate = run(caplog, ToolCall("c", "divide", {"a": 1, "b": 0}))
    [result] = aggregate.tool_results
    written = message_from_json(aggregate.to_json())
    assert isinstance(written, ToolAggregateMessage)
    assert written == aggregate
    assert written.tool_results[0].exception is None
    copied: ToolResult = pickle.loads(pickle.dumps(result))
    assert copied == result
    assert copied.exception is None
    assert copied.reference == result.reference
    assert result.__replace__(result="cut").exception is result.exception


def test_a_tool_error_is_not_logged_as_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    aggregate = run(caplog, ToolCall("c", "refuse", {"reason": "closed"}))
    [result] = aggregate.tool_results
    assert isinstance(result.exception, ToolFailed)
    assert result.reference is None
    assert "references" not in aggregate.metadata
    assert max(record.levelno for record in package_records(caplog)) == logging.INFO


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_call_that_is_destroyed_with_its_event_loop_is_not_logged_as_a_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    caplog.set_level(logging.INFO)
    loop = asyncio.new_event_loop()
    running = loop.create_task(ToolExecutor([tool(wait)]).execute([ToolCall("c", "wait", {})]))
    loop.run_until_complete(asyncio.sleep(0.01))
    [serving] = (task for task in asyncio.all_tasks(loop) if task is not running)
    loop.close()
    serving.get_coro().close()  # as the garbage collector does
    del running, serving, loop
    gc.collect()
    assert not [each for each in package_records(caplog) if "failed" in each.getMessage()]


def test_the_failure_of_a_nested_call_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nested, explained = run(
        caplog, ToolCall("c", "delegate", {}), ToolCall("d", "explain", {})
    ).tool_results
    logged = [each.__dict__["reference"] for each in package_records(caplog) if each.exc_info]
    assert len(logged) == 2
    assert nested.reference in logged
    assert explained.reference is None
    assert explained.result == "nothing can be divided by nothing"
