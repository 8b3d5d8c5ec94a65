"""Types of execution: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from typing_extensions import assert_never, assert_type

from toolweave import (
    Approval,
    FunctionContract,
    InvalidToolCall,
    Journal,
    Outcome,
    RateLimit,
    RetryPolicy,
    ToolAggregateMessage,
    ToolApproval,
    ToolApprovalRequested,
    ToolCall,
    ToolCallMessage,
    ToolDeferred,
    ToolEvent,
    ToolExecutor,
    ToolProgress,
    ToolQuestion,
    ToolResult,
    ToolRun,
    ToolStarted,
    tool,
)


@tool
async def add(a: int, b: int) -> int:
    return a + b


def approve(call: ToolCall, contract: FunctionContract) -> bool:
    return call.name == contract.name


async def approve_async(call: ToolCall, _: FunctionContract) -> Approval:
    return Approval.deny(f"not {call.name}")


class Watcher:
    def on_started(self, call: ToolCall) -> None: ...

    async def on_progress(self, call: ToolCall, value: Any) -> None: ...

    def on_result(self, call: ToolCall | InvalidToolCall, result: ToolResult) -> None: ...


class Book:
    async def started(self, call: ToolCall) -> None: ...

    async def finished(self, call: ToolCall, result: ToolResult) -> None: ...


class PartialObserver:
    async def started(self, call: ToolCall) -> None: ...


def show(event: ToolEvent) -> str:
    match event:
        case ToolStarted(_, name, arguments):
            assert_type(arguments, Mapping[str, Any])
            return name
        case ToolProgress(_, value):
            return str(value)
        case ToolQuestion(_, key, question, _):
            return key + question
        case ToolApprovalRequested(_, name, arguments):
            assert_type(arguments, Mapping[str, Any])
            return name
        case ToolApproval(_, outcome, reason):
            return outcome + (reason or "")
        case ToolDeferred(key=key):
            return key
        case ToolResult(result=text):
            return text
        case ToolAggregateMessage(tool_calls):
            assert_type(tool_calls, tuple[ToolCall, ...])
            return ""
        case _:
            assert_never(event)


async def execution(calls: list[ToolCall], mixed: list[ToolCall | InvalidToolCall]) -> None:
    executor = ToolExecutor(
        [add, lambda: "pong"],
        max_concurrency=10,
        timeout=30.0,
        retries=RetryPolicy(3),
        rate_limit=RateLimit(5, per=1.0),
        error_detail="none",
        pool=ThreadPoolExecutor(),
        approver=approve,
        observer=[Watcher(), show],
    )
    ToolExecutor(approver=approve_async, observer=Watcher(), pool="inline")
    assert_type(executor.contracts, tuple[FunctionContract, ...])
    assert_type(await executor.execute(calls), ToolAggregateMessage)
    await executor.execute(mixed)
    await executor.execute(ToolCallMessage(calls))
    async for event in executor.stream(calls):
        assert_type(event, ToolEvent)
    book: Journal = Book()
    await executor.execute(calls, journal=book)
    async with executor.open(journal=Book()) as run:
        assert_type(run, ToolRun)
        run.submit(calls[0])
        run.close()
        async for event in run:
            show(event)
    assert_type(run.aggregate, ToolAggregateMessage | None)
    assert_type(executor.resolve("key", {"any": "thing"}), Outcome)

    ToolExecutor(error_detail="some")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    executor.open(journal=PartialObserver())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await executor.execute(["add"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
