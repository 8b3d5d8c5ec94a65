"""Tests of the calls of a selection: limits, timeouts and cancellation."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import json
import logging
import threading
from typing import Any

import pytest

from coroutine_tests import TEST_TIMEOUT, on_a_loop
from sample_selections import ITEMS, Scores, ScriptedScorer, named, tools
from servers.dialects import openai_text
from servers.sse import Answer, Do, serving
from toolweave import Selection, SelectionPolicy, ToolSelector
from toolweave.models.openai import OpenAIModel
from toolweave.selection import CallLimiter, ScorerReply, ScorerRequest
from toolweave.selection import _calls as tasks_module
from toolweave.selection._calls import CallScheduler, TaskTransport, Transport
from virtual_time import VirtualTimeLoop, now, run

EACH = SelectionPolicy(strategy="each")


class ManualScorer:
    """Scorer whose calls stay open until they are answered or cancelled."""

    name = "open"

    def __init__(self) -> None:
        self.open: list[asyncio.Future[ScorerReply]] = []
        self.most = 0
        self.cancelled = 0
        self.changed = asyncio.Event()

    async def ask(self, request: ScorerRequest) -> ScorerReply:  # noqa: ARG002 - replies are set by the test
        reply: asyncio.Future[ScorerReply] = asyncio.get_running_loop().create_future()
        self.open.append(reply)
        self.most = max(self.most, len(self.open))
        self.changed.set()
        try:
            return await reply
        except asyncio.CancelledError:
            # A scorer may need time to stop; the canceller waits.
            await asyncio.sleep(0)
            self.cancelled += 1
            raise
        finally:
            self.open.remove(reply)
            self.changed.set()

    async def answer_one(self) -> None:
        """Answer the oldest open call, waiting for one if necessary."""
        while not self.open:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), TEST_TIMEOUT)
        reply = self.open[0]
        reply.set_result(ScorerReply({"score": 50}))
        while reply in self.open:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), TEST_TIMEOUT)

    async def until(self, count: int) -> None:
        """Wait until `count` calls are open."""
        while len(self.open) != count:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), TEST_TIMEOUT)


@pytest.mark.parametrize("strategy", ["each", "batch", "choose"])
def test_a_cancelled_selection_ends_its_calls(strategy: Any) -> None:
    @on_a_loop
    async def main() -> None:
        scorer = ManualScorer()
        selector = ToolSelector(ITEMS, scorer, SelectionPolicy(strategy=strategy))
        task = asyncio.create_task(selector.select("x"))
        count = 3 if strategy == "each" else 1
        await scorer.until(count)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (scorer.cancelled, scorer.open) == (count, [])

    main()


def test_early_stop_cancels_the_others_and_waits_for_them() -> None:
    scorer = Scores({"b": 95}, {"b": 1.0})
    selector = ToolSelector(tools("a", "b", "c", "search"), scorer, EACH)
    selection = run(selector.select("x"))
    assert selection.tool is not None
    assert (selection.tool.name, selection.decision, selection.calls) == ("b", "early_stop", 4)
    assert sorted(scorer.cancelled) == ["a", "c", "search"]
    assert selection.reason == "b scored 95: enough to stop at (90)."
    notes = [one.note for one in selection.ranking]
    assert notes == ["", *["not scored: another tool had won"] * 3]
    assert selection.errors == ()


def test_calls_that_have_not_started_are_never_made() -> None:
    scorer = Scores({"a": 95})
    policy = SelectionPolicy(strategy="each", max_concurrency=1)
    selection = run(ToolSelector(tools("a", "b", "c"), scorer, policy).select("x"))
    assert (scorer.asked, selection.calls) == (["a"], 1)


def test_a_scorer_that_does_not_stop_is_abandoned_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Stubborn:
        name = "stubborn"

        async def ask(self, request: ScorerRequest) -> ScorerReply:
            if request.tools[0].name == "a":
                return ScorerReply({"score": 95})
            for _ in range(3):
                try:
                    await asyncio.sleep(tasks_module.GRACE * 10)
                except asyncio.CancelledError:
                    continue
            return ScorerReply({"score": 100})

    async def main() -> float:
        selector = ToolSelector(tools("b", "a"), Stubborn(), EACH, clock=now)
        selection = await selector.select("x")
        assert selection.tool is not None
        assert selection.tool.name == "a"
        took = now()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            await task
        return took

    with caplog.at_level(logging.WARNING, "toolweave.selection"):
        assert run(main()) == pytest.approx(tasks_module.GRACE)
    assert [record.message for record in caplog.records] == [
        "the scorer stubborn does not stop when it is cancelled"
    ]


def test_a_scorer_that_cancels_itself_has_failed() -> None:
    scorer = Scores({"a": asyncio.CancelledError(), "search": 10, "b": 80})
    selection = run(ToolSelector(tools("a", "search", "b"), scorer, EACH).select("x"))
    assert selection.tool is not None
    assert selection.tool.name == "b"
    assert [one.error for one in selection.errors] == [
        "the call was cancelled by the scorer itself"
    ]


def test_base_exceptions_are_raised() -> None:
    class Interrupt(BaseException):
        pass

    scorer = Scores({"a": Interrupt(), "b": 80})

    async def main() -> None:
        with pytest.raises(Interrupt):
            await ToolSelector(tools("a", "b"), scorer, EACH).select("x")

    run(main())


def test_a_timeout_starts_only_when_the_call_may_start() -> None:
    scorer = Scores(dict.fromkeys("abcd", 10), dict.fromkeys("abcd", 6.0))
    policy = SelectionPolicy(strategy="each", max_concurrency=1, timeout=8.0)
    selection = run(ToolSelector(tools("a", "b", "c", "d"), scorer, policy).select("x"))
    assert [one.error for one in selection.ranking] == [None] * 4


def test_without_a_timeout_calls_are_awaited_forever() -> None:
    scorer = Scores({"a": 10, "b": 80}, {"b": 1e6})
    policy = SelectionPolicy(strategy="each", timeout=None)
    selection = run(ToolSelector(tools("a", "b"), scorer, policy).select("x"))
    assert selection.score == 80


def test_context_variables_reach_the_scorer() -> None:
    seen: list[str] = []
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

    async def scorer(prompt: str, schema: dict[str, Any]) -> str:  # noqa: ARG001
        seen.append(variable.get())
        return named("search")

    async def main() -> None:
        variable.set("here")
        await ToolSelector(ITEMS, scorer).select("x")

    run(main())
    assert seen == ["here"]


@on_a_loop
async def test_calls_in_flight_are_limited_by_the_policy() -> None:
    scorer = ManualScorer()
    policy = SelectionPolicy(strategy="each", max_concurrency=2)
    selector = ToolSelector(tools(*"abcdef"), scorer, policy)
    task = asyncio.create_task(selector.select("x"))
    for _ in range(6):
        await scorer.answer_one()
    assert (await asyncio.wait_for(task, TEST_TIMEOUT)).calls == 6
    assert scorer.most == 2


@on_a_loop
async def test_calls_of_all_selections_are_limited_by_the_limiter() -> None:
    scorer, limiter = ManualScorer(), CallLimiter(3)
    selectors = [ToolSelector(tools(*"abcd"), scorer, EACH, limiter=limiter) for _ in range(5)]
    every = asyncio.gather(*(selector.select("x") for selector in selectors))
    for _ in range(20):
        await scorer.answer_one()
    assert [found.calls for found in await asyncio.wait_for(every, TEST_TIMEOUT)] == [4] * 5
    assert (scorer.most, limiter.free) == (3, 3)


@on_a_loop
async def test_slots_are_granted_in_order_and_returned_on_cancellation() -> None:
    limiter = CallLimiter(1)
    assert limiter.try_acquire()
    assert not limiter.try_acquire()
    got: list[str] = []

    async def one(name: str) -> None:
        await limiter.acquire()
        got.append(name)

    first, second, third = (asyncio.create_task(one(name)) for name in "abc")
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.sleep(0)
    limiter.release()
    # The first is granted the slot, but cancelled before it is woken.
    first.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    await asyncio.wait_for(third, TEST_TIMEOUT)
    assert got == ["c"]
    limiter.release()
    assert limiter.free == 1


def test_a_limiter_serves_several_event_loops_at_once() -> None:
    limiter = CallLimiter(2)
    inside, most, lock = 0, 0, threading.Lock()

    async def scorer(prompt: str, schema: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        await asyncio.sleep(0)
        with lock:
            inside -= 1
        return {"score": 50}

    found: list[int] = []

    def work() -> None:
        async def main() -> None:
            selector = ToolSelector(tools(*"abcdef"), scorer, EACH, limiter=limiter)
            made = await asyncio.gather(*(selector.select(str(number)) for number in range(10)))
            found.append(sum(selection.calls for selection in made))

        asyncio.run(asyncio.wait_for(main(), TEST_TIMEOUT))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found, limiter.free) == ([60] * 4, 2)
    assert most <= 2


def test_a_closed_loop_blocks_no_other_waiter() -> None:
    limiter = CallLimiter(1)
    gone = asyncio.new_event_loop()
    gone.run_until_complete(limiter.acquire())
    waiting = gone.create_task(limiter.acquire())
    gone.run_until_complete(asyncio.sleep(0))
    gone.close()
    limiter.release()
    assert limiter.free == 1
    assert limiter.try_acquire()
    with pytest.raises(RuntimeError, match="closed"):
        waiting.cancel()
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]


def test_slots_of_calls_that_never_start_are_released() -> None:
    scorer, limiter = Scores({"a": 80, "b": 80}), CallLimiter(3)
    selector = ToolSelector(tools("a", "b"), scorer, EACH, limiter=limiter)

    async def main() -> None:
        task = asyncio.create_task(selector.select("x"))
        await asyncio.sleep(0)
        # The calls have slots, but are cancelled before their tasks start.
        assert (limiter.free, scorer.asked) == (1, [])
        every = asyncio.all_tasks() - {asyncio.current_task()}
        for one in every:
            one.cancel()
        await asyncio.wait(every, timeout=TEST_TIMEOUT)
        assert task.cancelled()

    asyncio.run(main())
    assert (limiter.free, scorer.asked) == (3, [])


@on_a_loop
async def test_a_queued_waiter_is_called_with_a_slot_and_returns_it_on_cancel() -> None:
    limiter = CallLimiter(1)
    called: list[str] = []
    _, second, third, _ = (
        limiter.enqueue(functools.partial(called.append, name)) for name in "abcd"
    )
    # Functions are called by the event loop only.
    assert (called, limiter.free) == ([], 0)
    await asyncio.sleep(0)
    assert called == ["a"]
    second.cancel()
    limiter.release()
    # The third is granted the slot, but cancelled before it is called.
    third.cancel()
    third.cancel()
    await asyncio.sleep(0)
    assert (called, limiter.free) == (["a", "d"], 0)
    limiter.release()
    assert limiter.free == 1


def test_at_most_the_free_slots_are_acquired() -> None:
    limiter = CallLimiter(3)
    assert [
        limiter.try_acquire(2),
        limiter.try_acquire(2),
        limiter.try_acquire(2),
        limiter.free,
    ] == [2, 1, 0, 0]


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="limit must be an integer of at least 1, got 0"):
        CallLimiter(0)


@on_a_loop
async def test_a_server_sees_the_connection_close_when_another_tool_has_won() -> None:
    asked = asyncio.Event()
    count = 0

    def answer(request: dict[str, Any]) -> Answer:
        nonlocal count
        count += 1
        if count == 3:
            asked.set()
        if "<b>" in request["body"]["messages"][0]["content"]:
            # Not before all three have been asked.
            return Answer([asked, *openai_text([json.dumps({"score": 95})])])
        return Answer([*openai_text(['{"score": '])[:2], Do.HOLD])

    async with (
        serving(answer) as served,
        OpenAIModel("m", base_url=f"{served.url}/v1", api_key="k", max_retries=0) as model,
    ):
        selection = await ToolSelector(tools("a", "b", "c"), model, EACH).select("x")
        assert selection.tool is not None
        assert (selection.tool.name, selection.decision) == ("b", "early_stop")
        await served.client_left()
        body = served.requests[0]["body"]
    assert body["temperature"] == 0
    assert body["response_format"]["type"] == "json_schema"


@on_a_loop
async def test_a_server_sees_the_connection_close_when_the_caller_is_cancelled() -> None:
    began = asyncio.Event()

    def answer(request: dict[str, Any]) -> Answer:  # noqa: ARG001
        began.set()
        return Answer([*openai_text(["{"])[:2], Do.HOLD])

    async with (
        serving(answer) as served,
        OpenAIModel("m", base_url=f"{served.url}/v1", api_key="k", max_retries=0) as model,
    ):
        task = asyncio.create_task(ToolSelector(ITEMS, model).select("x"))
        await asyncio.wait_for(began.wait(), TEST_TIMEOUT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await served.client_left()


def test_a_real_client_selects_a_tool_and_reports_its_tokens() -> None:
    reply = named("compare", 90, item1="ramen", item2="udon")

    async def main() -> Selection:
        async with (
            serving(Answer(openai_text([reply[:9], reply[9:]]))) as served,
            OpenAIModel("m", base_url=f"{served.url}/v1", api_key="k") as model,
        ):
            return await ToolSelector(ITEMS, model).select("Ramen or udon?")

    selection = asyncio.run(main())
    assert selection.tool is not None
    assert (selection.tool.name, selection.parameters["item2"]) == ("compare", "udon")
    assert selection.usage is not None
    assert (selection.usage.input_tokens, selection.usage.cached_input_tokens) == (7, 2)


def test_a_scorer_may_have_its_own_transport() -> None:
    class Own(ScriptedScorer):
        listener: CallScheduler

        def make_transport(self, listener: CallScheduler) -> Transport:
            self.listener = listener
            return TaskTransport(self, listener)

    scorer, limiter = Own([named("search")]), CallLimiter(2)
    selection = run(ToolSelector(ITEMS, scorer, limiter=limiter).select("x"))
    assert (selection.score, selection.calls, limiter.free) == (90, 1, 2)
    assert isinstance(scorer.listener, CallScheduler)


def test_a_selector_works_on_one_loop_after_another() -> None:
    selector = ToolSelector(ITEMS, ScriptedScorer([named("search")]), cache_ttl=0)
    for _ in range(3):
        assert run(selector.select("x"), VirtualTimeLoop()).calls == 1
