"""How the tests of the executor run: on a loop that never waits, with nothing left over."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from toolweave import InvalidToolCall, ToolAggregateMessage, ToolCall, ToolResult
from toolweave.executor import ToolEvent, ToolExecutor

T = TypeVar("T")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Whenever nothing is ready, it is at once as late as the next timer wants it to be."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        if not self._ready:
            timers = [timer._when for timer in self._scheduled if not timer._cancelled]
            if timers:
                self._now = max(self._now, min(timers))
        super()._run_once()


def now() -> float:
    """The time of the running loop: the clock of executors in these tests."""
    return asyncio.get_running_loop().time()


def run(main: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop | None = None) -> T:
    """Runs a test, and sees to it that no task and no asynchronous generator is left."""
    if loop is None:
        loop = VirtualTimeLoop()
    unhandled: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: unhandled.append(context))
    try:
        result = loop.run_until_complete(main)
        left = asyncio.all_tasks(loop)
        assert not left, left
        assert not unhandled, unhandled
        return result
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def call(
    name: str, arguments: dict[str, Any] | None = None, call_id: str | None = None
) -> ToolCall:
    """A call whose id is the name of its tool, unless there is another."""
    return ToolCall(name if call_id is None else call_id, name, arguments or {})


def codes(aggregate: ToolAggregateMessage) -> list[str | None]:
    """The error codes, in the order of the calls."""
    return [
        None if result.error_code is None else result.error_code.value
        for result in aggregate.tool_results
    ]


def texts(aggregate: ToolAggregateMessage) -> list[str]:
    """What the model reads, in the order of the calls."""
    return [result.result for result in aggregate.tool_results]


async def events_of(
    executor: ToolExecutor, calls: Iterable[ToolCall | InvalidToolCall]
) -> list[ToolEvent]:
    """All that a stream tells."""
    return [event async for event in executor.stream(calls)]


def kinds(events: Iterable[ToolEvent]) -> list[str]:
    """What happened, in order, with the ids of calls."""
    return [
        type(event).__name__
        if isinstance(event, ToolAggregateMessage)
        else f"{type(event).__name__} {event.tool_call_id}"
        for event in events
    ]


def only(events: Iterable[ToolEvent], kind: type[T]) -> list[T]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def result_of(events: Iterable[ToolEvent], call_id: str) -> ToolResult:
    """The only result of a call."""
    [result] = [each for each in only(events, ToolResult) if each.tool_call_id == call_id]
    return result
