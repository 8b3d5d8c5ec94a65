"""Types of deferred results and pools: read by mypy and pyright, never run."""

from __future__ import annotations

from concurrent.futures import Executor

from typing_extensions import assert_type

from toolweave import ToolAggregateMessage, ToolCall
from toolweave.exceptions import TransientToolError
from toolweave.executor._deferred import Deferred, DeferredResults, PendingResult, Resolution
from toolweave.executor._pools import run_blocking
from toolweave.kinds import Outcome


def book(table: int) -> Deferred:
    if table > 10:
        raise TransientToolError("all lines are busy", retry_after=2.5)
    return Deferred("booking-17", note="the kitchen calls back")


async def deferred(call: ToolCall, aggregate: ToolAggregateMessage) -> None:
    results = DeferredResults.from_dict({"entries": []})
    assert_type(results.add(call), str)
    assert_type(results.pending, tuple[PendingResult, ...])
    assert_type(results.resolve("booking-17", {"confirmed": True}), Outcome)
    assert_type(results.result_of("booking-17"), Resolution | None)
    assert_type(await results.wait("booking-17"), Resolution)
    assert_type(results.merge_results(aggregate), ToolAggregateMessage)

    results.resolve("booking-17")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def length(text: str) -> int:
    return len(text)


async def pools(pool: Executor) -> None:
    assert_type(await run_blocking(pool, length, {"text": "four"}), int)
    assert_type(await run_blocking(None, length, {"text": "four"}), int)
