"""Calls for an executor, and helpers that read their events and results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from toolweave import InvalidToolCall, ToolAggregateMessage, ToolCall, ToolResult
from toolweave.executor import ToolEvent, ToolExecutor

T = TypeVar("T")


def call(
    name: str, arguments: dict[str, Any] | None = None, call_id: str | None = None
) -> ToolCall:
    """Return a call, by default with the name of its tool as id."""
    return ToolCall(name if call_id is None else call_id, name, arguments or {})


def codes(aggregate: ToolAggregateMessage) -> list[str | None]:
    """Return the error codes, in the order of the calls."""
    return [
        None if result.error_code is None else result.error_code.value
        for result in aggregate.tool_results
    ]


def texts(aggregate: ToolAggregateMessage) -> list[str]:
    """Return the result texts that the model reads, in the order of the calls."""
    return [result.result for result in aggregate.tool_results]


async def events_of(
    executor: ToolExecutor, calls: Iterable[ToolCall | InvalidToolCall]
) -> list[ToolEvent]:
    """Return all events of a stream."""
    return [event async for event in executor.stream(calls)]


def kinds(events: Iterable[ToolEvent]) -> list[str]:
    """Return the kinds of the events, in order, with the ids of calls."""
    return [
        type(event).__name__
        if isinstance(event, ToolAggregateMessage)
        else f"{type(event).__name__} {event.tool_call_id}"
        for event in events
    ]


def only(events: Iterable[ToolEvent], kind: type[T]) -> list[T]:
    """Return the events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def result_of(events: Iterable[ToolEvent], call_id: str) -> ToolResult:
    """Return the only result of a call."""
    [result] = [each for each in only(events, ToolResult) if each.tool_call_id == call_id]
    return result
