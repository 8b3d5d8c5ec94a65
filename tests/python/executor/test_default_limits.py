"""Default limits: concurrency, per chat, timeouts, and the length of results."""

from __future__ import annotations

import asyncio
import contextvars
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from executor_events import call, codes, texts
from toolweave import ToolAggregateMessage, ToolCall
from toolweave.executor import Deferred, ToolExecutor
from toolweave.protocols import Approval
from toolweave.tools import RateLimit, ToolContext, tool
from virtual_time import now, run

HOUR = 3600.0
CHAT: contextvars.ContextVar[str] = contextvars.ContextVar("chat")


class ConcurrencyMeter:
    """Counter of running calls, in total and per chat, as named by a context variable."""

    def __init__(self) -> None:
        self.of_chat: Counter[str] = Counter()
        self.most = 0
        self.most_of: Counter[str] = Counter()
        self.began: dict[str, float] = {}

    @asynccontextmanager
    async def working(self, call_id: str = "") -> AsyncIterator[None]:
        chat = CHAT.get()
        self.began.setdefault(call_id, now())
        self.of_chat[chat] += 1
        self.most = max(self.most, self.of_chat.total())
        self.most_of[chat] = max(self.most_of[chat], self.of_chat[chat])
        try:
            yield
        finally:
            self.of_chat[chat] -= 1


def answering(executor: ToolExecutor, after: float) -> asyncio.Task[None]:
    """Start a task that answers all questions, each after so many seconds."""

    async def answer() -> None:
        # Keys are reused.
        asked: list[object] = []
        loop = asyncio.get_running_loop()
        while True:
            for each in executor.deferred.pending:
                if not any(each is known for known in asked):
                    asked.append(each)
                    loop.call_later(after, executor.resolve, each.key, "yes")
            await asyncio.sleep(after / 4)

    return asyncio.create_task(answer())


class Tools:
    """Tools that work, ask, and call each other, counted by a meter."""

    def __init__(self, meter: ConcurrencyMeter, wait_seconds: float = 1.0) -> None:
        async def work(context: ToolContext, seconds: float = 1.0) -> str:
            async with meter.working(context.call_id):
                await asyncio.sleep(seconds)
            return "worked"

        async def ask(context: ToolContext) -> str:
            async with meter.working(context.call_id):
                await asyncio.sleep(1)
            await context.ask("Really?")
            async with meter.working():
                await asyncio.sleep(1)
            return "asked"

        async def delegate(context: ToolContext, to: str = "work") -> str:
            async with meter.working(context.call_id):
                await asyncio.sleep(1)
            await context.call(to, {})
            async with meter.working():
                await asyncio.sleep(1)
            return "delegated"

        async def approve(*_: object) -> Approval:
            await asyncio.sleep(wait_seconds)
            return Approval.allow()

        self.approve = approve
        self.all = [
            tool(work),
            tool(ask),
            tool(delegate),
            tool(work, name="approved", requires_approval=True),
            tool(work, name="keyed", concurrency_key=lambda _: "one"),
            tool(work, name="narrow", max_concurrency=1),
            tool(work, name="rare", rate_limit=RateLimit(1, per=2.0)),
        ]


NAMES = st.sampled_from(["work", "work", "ask", "delegate", "approved", "keyed", "narrow", "rare"])
REPLIES = st.lists(
    st.tuples(
        st.sampled_from(["", "", "a", "b"]),
        st.integers(0, 4),
        st.lists(NAMES, min_size=1, max_size=7),
        st.none() | st.integers(0, 5),
    ),
    min_size=1,
    max_size=5,
)
"""Replies: the chat, the start time, the calls, and the time of cancellation."""


@settings(max_examples=effort(60))
@given(replies=REPLIES, overall=st.integers(1, 4), per_chat=st.integers(1, 3))
def test_the_limits_hold_under_any_schedule_without_starvation(
    replies: list[tuple[str, int, list[str], int | None]], overall: int, per_chat: int
) -> None:
    meter = ConcurrencyMeter()
    tools = Tools(meter)

    async def main() -> None:
        executor = ToolExecutor(
            tools.all,
            max_concurrency=overall,
            max_concurrency_per_chat=per_chat,
            approver=tools.approve,
            clock=now,
        )
        answers = answering(executor, 2.0)

        async def reply(number: int) -> ToolAggregateMessage | None:
            chat, start, names, end = replies[number]
            await asyncio.sleep(start)
            CHAT.set(chat or f"of reply {number}")
            calls = [ToolCall(f"{number}.{at}", name, {}) for at, name in enumerate(names)]
            running = executor.execute(calls, chat_id=chat or None)
            try:
                return await asyncio.wait_for(running, end)
            except asyncio.TimeoutError:
                return None

        found = await asyncio.gather(*(reply(number) for number in range(len(replies))))
        answers.cancel()
        await asyncio.gather(answers, return_exceptions=True)
        for (_, _, names, end), aggregate in zip(replies, found, strict=True):
            if end is None:
                assert aggregate is not None
                assert codes(aggregate) == [None] * len(names)
        # All slots are free again.
        total = min(overall, per_chat)
        CHAT.set("last")
        before = now()
        await executor.execute([call("work") for _ in range(total)], chat_id="a")
        assert now() - before == 1

    run(main())
    assert meter.most <= overall
    assert all(most <= per_chat for most in meter.most_of.values())
    assert not +meter.of_chat


@pytest.mark.parametrize("chats", [("a", "b"), ("a", "a"), (None, None)])
def test_a_long_reply_does_not_delay_a_short_one(chats: tuple[str | None, ...]) -> None:
    meter = ConcurrencyMeter()
    tools = Tools(meter)

    async def main() -> None:
        executor = ToolExecutor(tools.all, max_concurrency=2, max_concurrency_per_chat=2)

        async def reply(chat: str | None, count: int, start: float) -> None:
            await asyncio.sleep(start)
            CHAT.set(str(chat))
            calls = [ToolCall(f"{start}.{number}", "work", {}) for number in range(count)]
            await executor.execute(calls, chat_id=chat)

        await asyncio.gather(reply(chats[0], 40, 0), reply(chats[1], 3, 0.5))

    run(main())
    began = [meter.began[f"0.5.{number}"] for number in range(3)]
    assert all(when <= latest for when, latest in zip(began, (3, 4, 5), strict=True))
    assert meter.most == 2


def test_one_chat_runs_eight_calls_at_once_and_all_chats_sixteen() -> None:
    meter = ConcurrencyMeter()

    async def main() -> None:
        executor = ToolExecutor(Tools(meter).all)

        async def reply(chat: str) -> None:
            CHAT.set(chat)
            await executor.execute([call("work") for _ in range(20)], chat_id=chat or None)

        await reply("")
        assert meter.most == 8
        await asyncio.gather(*(reply(chat) for chat in "abc"))

    run(main())
    assert meter.most == 16
    assert dict(meter.most_of) == {"": 8, "a": 8, "b": 8, "c": 8}


def test_each_limit_can_be_disabled() -> None:
    meter = ConcurrencyMeter()

    async def long() -> str:
        await asyncio.sleep(HOUR)
        return "x" * 200_000

    async def main() -> None:
        CHAT.set("")
        executor = ToolExecutor(
            [*Tools(meter).all, tool(long)],
            max_concurrency=None,
            max_concurrency_per_chat=None,
            timeout=None,
            max_result_chars=None,
        )
        aggregate = await executor.execute([call("long"), *(call("work") for _ in range(30))])
        assert texts(aggregate)[0] == "x" * 200_000

    run(main())
    assert meter.most == 30


STEPS = st.lists(
    st.tuples(st.just("work"), st.integers(1, 25))
    | st.tuples(st.sampled_from(["ask", "approved", "narrow", "rare", "deferred"]), st.just(0)),
    max_size=5,
)


@settings(max_examples=effort(60))
@given(steps=STEPS, wait=st.sampled_from([0.5, 70.0, HOUR]), approved=st.booleans())
def test_the_default_timeout_does_not_include_waiting(
    steps: list[tuple[str, int]], wait: float, approved: bool
) -> None:
    """Time in which a tool or a nested call waits for people, limits and results does not count."""

    async def approve(*_: object) -> Approval:
        await asyncio.sleep(wait)
        return Approval.allow()

    async def nothing() -> str:
        return "done"

    async def deferred() -> Deferred:
        return Deferred()

    async def mixed(context: ToolContext) -> str:
        for kind, seconds in steps:
            if kind == "work":
                await asyncio.sleep(seconds)
            elif kind == "ask":
                await context.ask("Really?")
            else:
                await context.call(kind, {})
        return "done"

    async def hold() -> None:
        await asyncio.sleep(min(wait, 50.0))

    async def main() -> None:
        executor = ToolExecutor(
            [
                tool(mixed, requires_approval=approved),
                tool(nothing, name="approved", requires_approval=True),
                tool(nothing, name="narrow", concurrency_key=lambda _: "one"),
                tool(nothing, name="rare", rate_limit=RateLimit(1, per=wait)),
                tool(deferred),
                tool(hold, concurrency_key=lambda _: "one"),
            ],
            approver=approve,
            approval_timeout=None,
            clock=now,
        )
        answers = answering(executor, wait)
        holding = executor.execute([call("hold") for _ in range(8)])
        background = [answers, asyncio.create_task(holding)]
        await asyncio.sleep(0)
        aggregate = await executor.execute([call("mixed")])
        answers.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        own = sum(seconds for kind, seconds in steps if kind == "work")
        assert codes(aggregate) == [None if own < 60 else "timeout"]

    run(main())


@settings(max_examples=effort(30))
@given(size=st.sampled_from([0, 1, 99_999, 100_000, 100_001, 250_000]) | st.integers(0, 200_000))
def test_the_model_reads_a_hundred_thousand_characters_and_a_notice(size: int) -> None:
    text = "y" * size

    async def long() -> str:
        return text

    aggregate = run(ToolExecutor([tool(long)]).execute([call("long")]))
    [result] = aggregate.tool_results
    assert result.value == text
    if size <= 100_000:
        assert result.result == text
    else:
        assert len(result.result) <= 100_200
        assert result.result.startswith("y" * 90_000)
        assert f"{size}" in result.result


@settings(max_examples=effort(40))
@given(count=st.integers(1, 12), limit=st.integers(1, 4), after=st.integers(0, 3))
def test_queued_calls_keep_their_context_and_can_be_interrupted(
    count: int, limit: int, after: int
) -> None:
    seen: list[str] = []

    async def look(seconds: float) -> None:
        await asyncio.sleep(seconds)
        seen.append(CHAT.get())

    async def main() -> ToolAggregateMessage:
        executor = ToolExecutor([tool(look)], max_concurrency_per_chat=limit)
        async with executor.open() as opened:
            for number in range(count):
                CHAT.set(f"{number}")
                opened.submit(ToolCall(f"{number}", "look", {"seconds": 1 + number / 100}))
            await asyncio.sleep(after + 0.5)
            opened.interrupt()
            opened.close()
            return await opened.wait()

    aggregate = run(main())
    done = sum(1 for code in codes(aggregate) if code is None)
    assert seen == [f"{number}" for number in range(done)]
    assert done <= after * limit
    assert len(aggregate.tool_results) == count
    waiting = texts(aggregate)[done + limit :]
    assert all("before it started" in text for text in waiting)
