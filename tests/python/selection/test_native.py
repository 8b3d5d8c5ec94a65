"""Tests that native calls behave like calls in tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from coroutine_tests import TEST_TIMEOUT, on_a_loop
from sample_selections import ITEMS, named, tools
from servers.scorers import Clock, Scoring, refused, scored, scoring
from servers.sse import Answer, Do, serving
from toolweave import ModelOptions, SelectionPolicy, ToolSelector, UsageUpdate
from toolweave.models.http import HttpModel
from toolweave.models.openai import OpenAIModel
from toolweave.selection import CallLimiter, Scorer, as_scorer
from toolweave.selection._model import ModelScorer
from virtual_time import run

EACH = SelectionPolicy(strategy="each", prefilter=None)


@asynccontextmanager
async def native(url: str) -> AsyncIterator[Scorer]:
    async with HttpModel(url, "m", "k", max_retries=0) as model:
        yield as_scorer(model)


@asynccontextmanager
async def tasks(url: str) -> AsyncIterator[Scorer]:
    async with HttpModel(url, "m", "k", max_retries=0) as model:
        yield ModelScorer(model)


@asynccontextmanager
async def openai(url: str) -> AsyncIterator[Scorer]:
    async with OpenAIModel("m", base_url=url, api_key="k", max_retries=0) as model:
        yield as_scorer(model)


in_every_way = pytest.mark.parametrize("way", [native, tasks, openai])


async def over(task: asyncio.Task[Any]) -> Any:
    """Return the result of a task, with a timeout."""
    return await asyncio.wait_for(task, TEST_TIMEOUT)


class ObservedLimiter(CallLimiter):
    """Limiter with an event for released slots."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.released = asyncio.Event()

    def release(self) -> None:
        super().release()
        self.released.set()


async def until_disconnected(served: Scoring, *names: str) -> None:
    """Wait until the clients of these requests have disconnected."""
    await served.until_left(*names)
    assert served.open == {}


@in_every_way
@on_a_loop
async def test_early_stop_closes_the_other_connections(way: Any) -> None:
    limiter = CallLimiter(4)
    async with scoring() as served, way(served.url) as scorer:
        selector = ToolSelector(tools("a", "b", "c", "search"), scorer, EACH, limiter=limiter)
        task = asyncio.create_task(selector.select("x"))
        await served.until_open("a", "b", "c", "search")
        served.answer("b", scored(95))
        selection = await over(task)
        assert selection.tool.name == "b"
        assert (selection.decision, selection.calls, selection.errors) == ("early_stop", 4, ())
        notes = [one.note for one in selection.ranking]
        assert notes == ["", *["not scored: another tool had won"] * 3]
        assert limiter.free == 4
        await until_disconnected(served, "a", "c", "search")


@in_every_way
@pytest.mark.parametrize("strategy", ["each", "batch", "choose"])
@on_a_loop
async def test_a_cancelled_selection_closes_its_connections(way: Any, strategy: Any) -> None:
    limiter = CallLimiter(2)
    async with scoring() as served, way(served.url) as scorer:
        policy = SelectionPolicy(strategy=strategy, max_concurrency=2)
        selector = ToolSelector(tools("a", "b", "c"), scorer, policy, limiter=limiter)
        task = asyncio.create_task(selector.select("x"))
        count = 2 if strategy == "each" else 1
        await served.until(lambda: len(served.open) == count)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await over(task)
        assert limiter.free == 2
        await served.until(lambda: len(served.left) == count)
    assert len(served.asked) == count


@in_every_way
def test_a_call_that_times_out_affects_no_other(way: Any) -> None:
    clock = Clock()

    async def main() -> None:
        limiter = ObservedLimiter(2)
        async with scoring() as served, way(served.url) as scorer:
            selector = ToolSelector(tools("a", "b"), scorer, EACH, limiter=limiter)
            task = asyncio.create_task(selector.select("x"))
            await served.until_open("a", "b")
            clock.advance(4)
            served.answer("b", scored(80))
            await asyncio.wait_for(limiter.released.wait(), TEST_TIMEOUT)
            clock.advance(4)
            selection = await over(task)
            assert [one.error for one in selection.ranking] == [None, "no reply within 8 s"]
            await until_disconnected(served, "a")

    run(main(), clock)


@in_every_way
@pytest.mark.parametrize("reason", ["length", "content_filter", "tool_calls"])
@on_a_loop
async def test_a_reply_that_was_cut_off_is_an_error(way: Any, reason: str) -> None:
    async with scoring() as served, way(served.url) as scorer:
        task = asyncio.create_task(ToolSelector(tools("a", "b"), scorer, EACH).select("x"))
        await served.until_open("a", "b")
        served.answer("a", scored('{"score": 9', finish=reason))
        served.answer("b", scored(80))
        selection = await over(task)
    assert [one.error for one in selection.errors] == [
        f"ModelError: the reply was cut off ({reason})"
    ]
    assert selection.tool.name == "b"


@in_every_way
@on_a_loop
async def test_a_server_error_is_an_error_of_its_tool(way: Any) -> None:
    async with scoring() as served, way(served.url) as scorer:
        task = asyncio.create_task(ToolSelector(tools("a", "b"), scorer, EACH).select("x"))
        await served.until_open("a", "b")
        served.answer("a", refused(500, "The engine is on fire."))
        served.answer("b", scored(80))
        selection = await over(task)
    [failed] = selection.errors
    assert failed.error.startswith("ModelError: ")
    assert "500" in failed.error
    assert "The engine is on fire." in failed.error
    assert selection.tool.name == "b"


@in_every_way
@on_a_loop
async def test_a_broken_connection_is_an_error_of_its_tool(way: Any) -> None:
    def answer(request: dict[str, Any]) -> Answer:
        if "<a>" in str(request["body"]):
            return Answer([*scored(100)[2][:1], Do.CUT])
        return Answer(scored(80)[2])

    async with serving(answer) as served, way(f"{served.url}/v1") as scorer:
        selection = await ToolSelector(tools("a", "b"), scorer, EACH).select("x")
    [failed] = selection.errors
    assert (failed.tool.name, failed.score) == ("a", None)
    assert selection.tool is not None
    assert selection.tool.name == "b"


@in_every_way
@on_a_loop
async def test_an_unreachable_server_leaves_the_fallback(way: Any) -> None:
    async with scoring() as served:
        url = served.url
    async with way(url) as scorer:
        selection = await ToolSelector(tools("a", "search"), scorer, EACH).select("x")
    assert selection.fallback
    assert [one.score for one in selection.ranking] == [None, None]
    assert all(str(one.error).startswith("ModelError: ") for one in selection.ranking)


@in_every_way
@on_a_loop
async def test_tokens_of_all_calls_are_counted(way: Any) -> None:
    async with scoring() as served, way(served.url) as scorer:
        task = asyncio.create_task(ToolSelector(tools("a", "b"), scorer, EACH).select("x"))
        await served.until_open("a", "b")
        for name in "ab":
            served.answer(name, scored(20))
        assert (await over(task)).usage == UsageUpdate(14, 10, 4)


@in_every_way
@on_a_loop
async def test_requests_in_flight_are_limited_by_the_policy(way: Any) -> None:
    policy = SelectionPolicy(strategy="each", prefilter=None, max_concurrency=2)
    async with scoring() as served, way(served.url) as scorer:
        selector = ToolSelector(tools(*"abcdef"), scorer, policy)
        task = asyncio.create_task(selector.select("x"))
        for count in range(6):
            await served.until(lambda count=count: len(served.asked) == min(6, count + 2))
            served.answer(next(iter(served.open)), scored(20))
        assert (await over(task)).calls == 6
        assert served.most == 2


@on_a_loop
async def test_all_scorers_share_the_slots_of_one_limiter() -> None:
    limiter = CallLimiter(3)
    async with (
        scoring() as served,
        native(served.url) as one,
        tasks(served.url) as two,
        openai(served.url) as three,
    ):
        selecting = [
            asyncio.create_task(
                ToolSelector(
                    tools(*(f"{at}{name}" for name in "abcd")), scorer, EACH, limiter=limiter
                ).select("x")
            )
            for at, scorer in enumerate([one, two, three, one, two])
        ]
        for answered in range(20):
            slots = min(3, 20 - answered)
            await served.until(lambda slots=slots: len(served.open) == slots)
            served.answer(next(iter(served.open)), scored(20))
        found = await asyncio.wait_for(asyncio.gather(*selecting), TEST_TIMEOUT)
    assert [selection.calls for selection in found] == [4] * 5
    assert (served.most, limiter.free) == (3, 3)


@in_every_way
def test_a_selection_waits_for_a_free_slot(way: Any) -> None:
    clock = Clock()

    async def main() -> None:
        limiter = CallLimiter(1)
        await limiter.acquire()
        async with scoring() as served, way(served.url) as scorer:
            selector = ToolSelector(tools("a", "b"), scorer, EACH, limiter=limiter)
            task = asyncio.create_task(selector.select("x"))
            for _ in range(3):
                await asyncio.sleep(0)
                clock.advance(2)
            assert (served.asked, task.done()) == ([], False)
            limiter.release()
            await served.until_open("a")
            served.answer("a", scored(95))
            assert (await over(task)).calls == 1
            assert limiter.free == 1

    run(main(), clock)


@in_every_way
def test_a_call_without_a_slot_before_its_timeout_is_never_made(way: Any) -> None:
    clock = Clock()

    async def main() -> None:
        limiter = CallLimiter(1)
        await limiter.acquire()
        async with scoring() as served, way(served.url) as scorer:
            policy = SelectionPolicy(strategy="each", max_concurrency=2)
            selector = ToolSelector(tools("a", "b", "c"), scorer, policy, limiter=limiter)
            task = asyncio.create_task(selector.select("x"))
            for _ in range(3):
                await asyncio.sleep(0)
            clock.advance(9)
            for _ in range(10):
                await asyncio.sleep(0)
            limiter.release()
            # The queued calls have timed out; the third has a timeout of its own.
            await served.until_open("c")
            served.answer("c", scored(95))
            selection = await over(task)
        late = "not asked within 8 s: all 1 slots were taken"
        assert [one.error for one in selection.ranking] == [None, late, late]
        assert (selection.calls, served.asked, limiter.free) == (1, ["c"], 1)

    run(main(), clock)


@in_every_way
@on_a_loop
async def test_a_selection_cancelled_while_waiting_takes_no_slot(way: Any) -> None:
    limiter = CallLimiter(1)
    async with scoring() as served, way(served.url) as scorer:
        selector = ToolSelector(tools("a", "b"), scorer, EACH, limiter=limiter)
        for granted in (False, True):
            await limiter.acquire()
            task = asyncio.create_task(selector.select("x"))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            if granted:
                # It is granted the slot, but cancelled before it is woken.
                limiter.release()
            with pytest.raises(asyncio.CancelledError):
                await over(task)
            if not granted:
                limiter.release()
            assert limiter.free == 1
    assert served.asked == []


@in_every_way
@on_a_loop
async def test_an_invalid_reply_is_requested_again(way: Any) -> None:
    replies = [scored("Hm."), scored(named("compare", 90, item1="ramen", item2="udon"))]
    async with (
        serving(*(Answer(reply[2]) for reply in replies)) as served,
        way(f"{served.url}/v1") as scorer,
    ):
        selection = await ToolSelector(ITEMS, scorer).select("Ramen or udon?")
    assert selection.tool is not None
    assert (selection.tool.name, selection.calls) == ("compare", 2)
    assert selection.usage == UsageUpdate(14, 10, 4)


@on_a_loop
async def test_native_calls_and_tasks_send_the_same_requests() -> None:
    bodies: list[dict[str, Any]] = []
    for way in (native, tasks, openai):
        async with scoring() as served, way(served.url) as scorer:
            task = asyncio.create_task(ToolSelector(tools("a", "b"), scorer, EACH).select("x"))
            await served.until_open("a", "b")
            served.answer("a", scored(99))
            await over(task)
            bodies.append(served.bodies[served.asked.index("a")])
    assert bodies[0] == bodies[1] == bodies[2]
    assert (bodies[0]["temperature"], bodies[0]["max_tokens"]) == (0, 512)
    assert bodies[0]["response_format"]["type"] == "json_schema"


@on_a_loop
async def test_model_options_can_be_given() -> None:
    async with scoring() as served, HttpModel(served.url, "m", "k") as model:
        scorer = as_scorer(model, options=ModelOptions(seed=4))
        task = asyncio.create_task(ToolSelector(tools("a", "b"), scorer, EACH).select("x"))
        await served.until_open("a", "b")
        served.answer("b", scored(99))
        await over(task)
    assert served.bodies[0]["seed"] == 4
    assert "temperature" not in served.bodies[0]


@on_a_loop
async def test_native_calls_create_no_tasks() -> None:
    async with scoring() as served, native(served.url) as scorer:
        before = asyncio.all_tasks()
        task = asyncio.create_task(ToolSelector(tools(*"abcd"), scorer, EACH).select("x"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before | {task}
        await served.until_open(*"abcd")
        served.answer("d", scored(99))
        await over(task)
