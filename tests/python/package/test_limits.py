"""Rate limits: requests pass within the limit, in order, and without unnecessary delay."""

from __future__ import annotations

import asyncio
import gc
import heapq
import itertools
import threading
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coroutine_tests import TEST_TIMEOUT, on_a_loop
from toolweave import RateLimit, RateLimitedError, RateLimiter


class Clock:
    """A clock that is advanced by hand, and wakes tasks whose sleep has ended."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = itertools.count()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._count), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        until = self.now + seconds
        await run_pending()
        while self._sleepers and self._sleepers[0][0] <= until:
            when, _, woken = heapq.heappop(self._sleepers)
            self.now = max(self.now, when)
            if not woken.done():
                woken.set_result(None)
            await run_pending()
        self.now = until


async def run_pending() -> None:
    """Let all tasks run that are ready."""
    for _ in range(8):
        await asyncio.sleep(0)


def limiter(calls: int = 1, per: float = 1.0, **options: Any) -> tuple[RateLimiter, Clock]:
    clock = Clock()
    on_limit = options.pop("on_limit", "wait")
    limit = RateLimit(calls, per, on_limit=on_limit)
    return RateLimiter(limit, clock=clock, sleep=clock.sleep, **options), clock


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=30),
    st.sampled_from([0.0, 1.0, 5.0, 1e6]),
)
def test_requests_pass_in_order_in_time_and_within_the_limit(
    calls: int, arrivals: list[tuple[int, bool]], max_wait: float
) -> None:
    through: list[tuple[int, float]] = []
    refused: dict[int, float] = {}
    arrived: dict[int, float] = {}
    left: set[int] = set()

    async def main() -> None:
        limit, clock = limiter(calls, 4.0, max_wait=max_wait)

        async def acquire(number: int) -> None:
            arrived[number] = clock.now
            try:
                await limit.acquire("ann")
            except RateLimitedError as err:
                refused[number] = err.retry_after
            else:
                through.append((number, clock.now))

        tasks = []
        for number, (pause, leaves) in enumerate(arrivals):
            await clock.advance(pause / 4)
            tasks.append(task := asyncio.create_task(acquire(number)))
            await run_pending()
            if leaves and not task.done():
                task.cancel()
                left.add(number)
        await clock.advance(1e4)
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(asyncio.wait_for(main(), TEST_TIMEOUT))
    numbers = [number for number, _ in through]
    assert numbers == sorted(numbers)
    assert {*numbers, *refused, *left} == set(range(len(arrivals)))
    for number, at in through:
        assert at - arrived[number] <= max_wait + 1e-3
    times = [at for _, at in through]
    for first, last in itertools.combinations_with_replacement(range(len(times)), 2):
        span = times[last] - times[first]
        assert last - first + 1 <= calls * (1 + (span + 1e-3) / 4.0)
    assert all(wait > max_wait for wait in refused.values())


@on_a_loop
async def test_a_request_over_the_limit_waits() -> None:
    limit, clock = limiter(2, per=10.0)
    for _ in range(2):
        await limit.acquire()
    task = asyncio.create_task(limit.acquire())
    await clock.advance(4.9)
    assert not task.done()
    await clock.advance(0.2)
    await task


@on_a_loop
async def test_a_request_that_would_wait_too_long_is_refused_with_its_wait() -> None:
    limit, clock = limiter(1, per=20.0, max_wait=30.0)
    await limit.acquire("ann")
    waiting = asyncio.create_task(limit.acquire("ann"))
    await run_pending()
    with pytest.raises(RateLimitedError) as raised:
        await limit.acquire("ann")
    assert raised.value.retry_after == 40
    assert str(raised.value) == ("the rate limit is 1 call in 20 seconds; retry in 40.0 seconds")
    # The refused request has taken no tokens.
    await clock.advance(20)
    await waiting
    task = asyncio.create_task(limit.acquire("ann"))
    await clock.advance(20)
    await task


@on_a_loop
async def test_no_request_waits_if_the_limit_refuses() -> None:
    limit, clock = limiter(1, per=2.0, on_limit="refuse")
    await limit.acquire()
    with pytest.raises(RateLimitedError) as raised:
        await limit.acquire()
    assert raised.value.retry_after == 2
    await clock.advance(2)
    await limit.acquire()


@on_a_loop
async def test_keys_are_limited_separately() -> None:
    limit, _ = limiter(max_wait=0)
    for user in ("ann", "bob", 3, None):
        await limit.acquire(user)
        with pytest.raises(RateLimitedError):
            await limit.acquire(user)


@on_a_loop
async def test_a_cancelled_waiter_lets_the_next_one_pass() -> None:
    limit, clock = limiter()
    await limit.acquire()
    tasks = [asyncio.create_task(limit.acquire()) for _ in range(3)]
    await run_pending()
    tasks[0].cancel()  # the first sleeps, the second waits for the first
    tasks[1].cancel()
    await clock.advance(1)
    assert tasks[2].done()
    assert not tasks[2].cancelled()
    assert [task.cancelled() for task in tasks[:2]] == [True, True]


@on_a_loop
async def test_unused_keys_are_dropped() -> None:
    limit, clock = limiter(1, per=1.0)
    for number in range(1_000):
        await limit.acquire(number)
    assert limit.tracked_keys == 1_000
    await clock.advance(1)
    for number in range(1_000):
        await limit.acquire(f"again {number}")
    assert limit.tracked_keys <= 1_000
    await clock.advance(1)
    for _ in range(600):
        await limit.acquire("ann")
        await clock.advance(1)
    assert limit.tracked_keys == 1


@on_a_loop
async def test_the_number_of_keys_is_limited() -> None:
    limit, _ = limiter(1, per=60.0, max_keys=10)
    for number in range(100):
        await limit.acquire(number)
        assert limit.tracked_keys <= 10
    with pytest.raises(RateLimitedError):
        await limit.acquire(99)


@on_a_loop
async def test_a_key_with_waiters_is_not_dropped() -> None:
    limit, clock = limiter(1, per=10.0, max_keys=1)
    await limit.acquire("ann")
    waiting = asyncio.create_task(limit.acquire("ann"))
    await run_pending()
    for number in range(10):
        await limit.acquire(number)
    second = asyncio.create_task(limit.acquire("ann"))
    await clock.advance(10)
    assert (waiting.done(), second.done()) == (True, False)
    await clock.advance(10)
    await asyncio.gather(waiting, second)


def in_threads(count: int, work: Any) -> list[Any]:
    """Return the results of coroutines, each run on an event loop in a separate thread."""
    results: list[Any] = [None] * count
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        barrier.wait(TEST_TIMEOUT)
        results[number] = asyncio.run(asyncio.wait_for(work(number), TEST_TIMEOUT))

    threads = [threading.Thread(target=run, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_take_no_token_twice() -> None:
    def clock() -> float:
        time.sleep(0)  # lets another thread go on, at the worst of moments
        return 0.0

    limit = RateLimiter(RateLimit(500, per=1e6), max_wait=0, clock=clock)

    async def work(number: int) -> int:
        await limit.acquire(number)
        through = 0
        for _ in range(250):
            try:
                await limit.acquire("ann")
            except RateLimitedError:
                continue
            through += 1
        return through

    assert sum(in_threads(4, work)) == 500


def test_threads_wait_in_one_queue() -> None:
    limit = RateLimiter(RateLimit(1, per=0.002))
    begun = time.monotonic()

    async def work(_: int) -> int:
        await asyncio.gather(*(limit.acquire() for _ in range(5)))
        return 5

    assert sum(in_threads(4, work)) == 20
    assert time.monotonic() - begun >= 19 * 0.002


def test_a_closed_loop_does_not_block_others() -> None:
    limit = RateLimiter(RateLimit(1, per=0.01))
    loop = asyncio.new_event_loop()
    coroutines: list[Coroutine[Any, Any, None]] = [limit.acquire() for _ in range(3)]
    tasks = [loop.create_task(coroutine) for coroutine in coroutines]
    loop.run_until_complete(tasks[0])
    loop.run_until_complete(run_pending())
    loop.close()

    async def main() -> None:
        await asyncio.wait_for(limit.acquire(), TEST_TIMEOUT)

    asyncio.run(main())
    for task in tasks[1:]:
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    # Garbage-collected, they leave a queue from which they have already been removed.
    del task, tasks, coroutines
    gc.collect()
    asyncio.run(main())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_wait": -1}, "max_wait must be a number of at least 0, got -1"),
        ({"max_wait": float("nan")}, "max_wait must be a number of at least 0, got nan"),
        ({"max_keys": 0}, "max_keys must be an integer of at least 1, got 0"),
    ],
)
def test_invalid_options_are_refused_with_a_message(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        limiter(**options)
