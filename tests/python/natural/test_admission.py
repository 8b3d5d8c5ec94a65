"""Replies whose calls wait for a decision."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

import toolweave as tw
from coroutine_tests import collect, of_kind, on_a_loop
from sample_natural_tools import ADD, add, call, natural_use, ping
from toolweave.natural import ReplyRun


@on_a_loop
async def test_calls_start_after_the_end_of_the_reply_with_its_usage_known() -> None:
    known: list[tuple[int, str]] = []

    def admit(reply: ReplyRun) -> bool:
        assert reply.usage is not None
        known.append((reply.usage.output_tokens, reply.text))
        return True

    pieces = [ADD, " And ", call("ping"), " Done.", tw.UsageUpdate(9, 8)]
    events = await collect(natural_use(pieces).open("Go.", admit=admit))
    assert known == [(8, " And  Done.")]
    kinds = [type(event) for event in events]
    assert kinds.index(tw.ToolStarted) > max(
        at for at, kind in enumerate(kinds) if kind in (tw.TextDelta, tw.ToolCall)
    )
    aggregates = of_kind(tw.ToolAggregateMessage, events)
    assert [[r.result for r in each.tool_results] for each in aggregates] == [["5"], ["pong"]]
    assert isinstance(events[-1], tw.FinishUpdate)


@on_a_loop
async def test_calls_that_are_not_admitted_never_start_and_have_a_result_each() -> None:
    reply = natural_use([ADD, call("ping"), "<tool_call name='no'>{}</tool_call>"]).open(
        "Go.", admit=lambda _: False
    )
    events = await collect(reply)
    assert not of_kind(tw.ToolStarted, events)
    assert reply.aggregate is not None
    assert [result.error_code for result in reply.aggregate.tool_results] == [
        tw.ErrorCode.INTERRUPTED,
        tw.ErrorCode.INTERRUPTED,
        tw.ErrorCode.UNKNOWN_TOOL,
    ]
    assert isinstance(events[-1], tw.FinishUpdate)


@pytest.mark.parametrize("takes_time", [True, False])
@pytest.mark.parametrize("decision", [True, False, 1, None])
@on_a_loop
async def test_the_decision_may_take_time_and_is_true_or_false(
    decision: Any, takes_time: bool
) -> None:
    async def slowly() -> Any:
        await asyncio.sleep(0.01)
        return decision

    reply = natural_use(ADD).open("Go.", admit=lambda _: slowly() if takes_time else decision)
    events = await collect(reply)
    assert len(of_kind(tw.ToolStarted, events)) == bool(decision)
    assert len(of_kind(tw.ToolResult, events)) == 1


@on_a_loop
async def test_no_call_starts_if_the_model_broke_off() -> None:
    asked: list[ReplyRun] = []
    reply = natural_use([ADD, tw.ModelError("gone")]).open(
        "Go.", admit=lambda r: not asked.append(r)
    )
    events: list[object] = []
    with pytest.raises(tw.ModelError, match="gone"):
        await collect(reply, events)
    assert not asked
    assert not of_kind(tw.ToolStarted, events)
    assert reply.aggregate is not None
    assert reply.aggregate.tool_results[0].error_code is tw.ErrorCode.INTERRUPTED


@on_a_loop
async def test_an_exception_of_the_decision_is_raised_for_the_reader() -> None:
    def admit(_: ReplyRun) -> bool:
        raise ValueError("no idea")

    reply = natural_use(ADD).open("Go.", admit=admit)
    with pytest.raises(ValueError, match="no idea"):
        await collect(reply)
    assert reply.aggregate is not None
    assert reply.aggregate.tool_results[0].error_code is tw.ErrorCode.INTERRUPTED


@on_a_loop
async def test_calls_that_are_held_when_the_reply_is_cancelled_are_interrupted() -> None:
    reached, never = asyncio.Event(), asyncio.Event()

    async def pieces() -> AsyncIterator[str]:
        yield ADD
        reached.set()
        await never.wait()

    reply = natural_use(pieces(), tools=[add, ping]).open("Go.", admit=lambda _: True)
    reading = asyncio.ensure_future(collect(reply))
    await reached.wait()
    await reply.cancel()
    assert not of_kind(tw.ToolStarted, await reading)
    assert reply.aggregate is not None
    assert reply.aggregate.tool_results[0].error_code is tw.ErrorCode.INTERRUPTED
