"""Execution of parsed calls: CPU time per call, and the longest block of the event loop."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import fastmcp
import jsonschema_rs
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.usage import RunUsage

from loop import longest_block, seconds_of
from report import Section, Target
from toolweave import ToolAggregateMessage, ToolCall, ToolResult
from toolweave.executor import ToolExecutor
from toolweave.tools import tool

if TYPE_CHECKING:
    from streaming import Effort

SIZES = (1, 10, 100, 1000)
TIMEOUT = 30.0
LIMIT = 100

Run = Callable[[], Awaitable[list[Any]]]
"""Function that runs all calls and returns the results in order."""


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADD = tool(add)
SCHEMA = ADD.contract.parameters


def arguments(count: int) -> list[dict[str, int]]:
    """Return the arguments of each call."""
    return [{"a": number, "b": 1} for number in range(count)]


def executor_stream(count: int, **options: Any) -> Run:
    """Return a run of toolweave's executor that consumes every event."""
    executor = ToolExecutor([ADD], **options)
    calls = [ToolCall(f"call_{at}", "add", each) for at, each in enumerate(arguments(count))]

    async def run() -> list[Any]:
        results: Sequence[ToolResult] = ()
        async for event in executor.stream(calls):
            if isinstance(event, ToolAggregateMessage):
                results = event.tool_results
        return [result.value for result in results]

    return run


def executor_execute(count: int) -> Run:
    """Return a run of toolweave's executor that needs only the aggregate."""
    executor = ToolExecutor([ADD])
    calls = [ToolCall(f"call_{at}", "add", each) for at, each in enumerate(arguments(count))]

    async def run() -> list[Any]:
        aggregate = await executor.execute(calls)
        return [result.value for result in aggregate.tool_results]

    return run


def bare(count: int) -> Run:
    """Return the lower bound: validation and a task for each call, without error handling."""
    validator = jsonschema_rs.validator_for(SCHEMA)
    calls = arguments(count)

    async def one(given: dict[str, int]) -> int:
        validator.validate(given)
        return await add(**given)

    async def run() -> list[Any]:
        return await asyncio.gather(*[one(given) for given in calls])

    return run


@dataclass(frozen=True)
class Event:
    """Event of a lifecycle written by hand."""

    kind: str
    call_id: str
    value: Any = None


def by_hand(count: int) -> Run:
    """Return a lifecycle written by hand: a limit, a timeout, events and error isolation."""
    validator = jsonschema_rs.validator_for(SCHEMA)
    calls = [(f"call_{at}", given) for at, given in enumerate(arguments(count))]

    async def run() -> list[Any]:
        limit = asyncio.Semaphore(LIMIT)
        events: asyncio.Queue[Event] = asyncio.Queue()

        async def one(call_id: str, given: dict[str, int]) -> None:
            try:
                validator.validate(given)
                async with limit:
                    events.put_nowait(Event("started", call_id))
                    value = await asyncio.wait_for(add(**given), TIMEOUT)
            except Exception as err:  # noqa: BLE001 - any tool's
                events.put_nowait(Event("failed", call_id, str(err)))
            else:
                events.put_nowait(Event("result", call_id, value))

        tasks = [asyncio.create_task(one(call_id, given)) for call_id, given in calls]
        results: dict[str, Any] = {}
        while len(results) < len(calls):
            event = await events.get()
            if event.kind != "started":
                results[event.call_id] = event.value
        await asyncio.gather(*tasks)
        return [results[call_id] for call_id, _ in calls]

    return run


def pydantic_ai(count: int) -> Run:
    """Return a run of the tool manager as pydantic-ai's agents use it: all calls at once."""
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_step=1)
    manager = ToolManager(FunctionToolset([add]))
    calls = [ToolCallPart("add", given, f"call_{at}") for at, given in enumerate(arguments(count))]

    async def run() -> list[Any]:
        ready = await manager.for_run_step(context)
        return await asyncio.gather(*[ready.handle_call(call) for call in calls])

    return run


def langgraph(count: int) -> Run:
    """Return a run of the node that LangGraph's agents use."""
    node = ToolNode([StructuredTool.from_function(coroutine=add)])
    config: Any = {"configurable": {"__pregel_runtime": Runtime()}}
    message = AIMessage(
        "",
        tool_calls=[
            {"name": "add", "args": given, "id": f"call_{at}", "type": "tool_call"}
            for at, given in enumerate(arguments(count))
        ],
    )

    async def run() -> list[Any]:
        answers: list[ToolMessage] = (await node.ainvoke({"messages": [message]}, config))[
            "messages"
        ]
        return [json.loads(str(answer.content)) for answer in answers]

    return run


def fast_mcp(count: int) -> Run:
    """Return a run of a FastMCP server in this process, without a client or transport."""
    server = fastmcp.FastMCP("bench")
    server.tool(add)
    calls = arguments(count)

    async def run() -> list[Any]:
        results = await asyncio.gather(*[server.call_tool("add", given) for given in calls])
        return [result.structured_content["result"] for result in results]

    return run


TOOLWEAVE = "toolweave `ToolExecutor.stream`"
LIMITED = f"the same with `max_concurrency={LIMIT}, timeout={TIMEOUT:g}`"
BARE = "`asyncio.gather` and jsonschema-rs only"
BY_HAND = "hand-written: semaphore, `wait_for`, queue, isolation"

CONTESTANTS: dict[str, tuple[str, Callable[[int], Run]]] = {
    TOOLWEAVE: ("toolweave", executor_stream),
    LIMITED: (
        "toolweave",
        lambda count: executor_stream(count, max_concurrency=LIMIT, timeout=TIMEOUT),
    ),
    "toolweave `ToolExecutor.execute`": ("toolweave", executor_execute),
    BARE: ("jsonschema-rs", bare),
    BY_HAND: ("jsonschema-rs", by_hand),
    "pydantic-ai `ToolManager`": ("pydantic-ai-slim", pydantic_ai),
    "LangGraph `ToolNode`": ("langgraph-prebuilt", langgraph),
    "FastMCP `call_tool`": ("fastmcp", fast_mcp),
}


async def measure(effort: Effort) -> tuple[dict[tuple[str, int], float], dict[str, float]]:
    """Measure microseconds per call by contestant and size, and the longest block in milliseconds.

    Contestants take turns, and the minimum counts, since other load can only add time.
    """
    per_call: dict[tuple[str, int], float] = {}
    blocks: dict[str, float] = {}
    for count in SIZES:
        print(f"executor: {count}", file=sys.stderr)
        runs = {name: make(count) for name, (_, make) in CONTESTANTS.items()}
        rounds: dict[str, int] = {}
        expected = [number + 1 for number in range(count)]
        for name, run in runs.items():
            if await run() != expected:
                raise AssertionError(f"{name} returned something else")
            once = await seconds_of(run, 1)
            rounds[name] = max(1, int(effort.seconds / 20 / max(once, 1e-7)))
        for _ in range(max(effort.repeats, 5) * 2):
            for name, run in runs.items():
                gc.collect()
                took = await seconds_of(run, rounds[name]) / count * 1e6
                per_call[name, count] = min(took, per_call.get((name, count), took))
                if count == SIZES[-1]:
                    stood = await longest_block(run) * 1e3
                    blocks[name] = min(stood, blocks.get(name, stood))
    return per_call, blocks


def run(effort: Effort) -> Section:
    """Run all contestants with all sizes."""
    per_call, blocks = asyncio.run(measure(effort))
    most = SIZES[-1]
    rows = [
        [
            f"{name} ({package} {version(package)})",
            *(f"{per_call[name, count]:,.1f}" for count in SIZES),
            f"{per_call[name, most] / per_call[BARE, most]:.2f}",
            f"{blocks[name]:,.1f}",
        ]
        for name, (package, _) in CONTESTANTS.items()
    ]
    cost = per_call[TOOLWEAVE, most]
    targets = [
        Target(f"a call of {most:,}, relative to the bare run", 2.3, cost / per_call[BARE, most]),
        Target(
            f"a call of {most:,}, relative to the hand-written one",
            1.3,
            cost / per_call[BY_HAND, most],
        ),
        Target("longest block, relative to the bare run", 2.5, blocks[TOOLWEAVE] / blocks[BARE]),
    ]
    return Section(
        "Executor",
        "CPU microseconds per call, from parsed calls of a trivial async tool to all results in "
        "order, by the number of calls in a reply. The first two, and the hand-written one, emit "
        "an event for each start and each result. The last columns are for the largest reply: the "
        "time relative to the bare run, and the longest block of the event loop in CPU "
        "milliseconds.",
        ["", *(f"N={count:,}" for count in SIZES), "relative to bare run", "longest block"],
        rows,
        targets,
    )
