"""Token bucket: never too many calls, no unnecessary waits, first in, first out."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave.executor._rate_limit import TokenBucket
from toolweave.tools._options import RateLimit


class Clock:
    """Clock that the test advances."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


ARRIVALS = st.lists(st.integers(0, 40), min_size=1, max_size=60)
CALLS = st.integers(1, 6)
PER = st.sampled_from([0.5, 1.0, 8.0, 60.0])


def starts(limit: RateLimit, pauses: list[int]) -> tuple[list[float], list[float]]:
    """Return the arrival and start times of calls that each wait for the returned time."""
    clock = Clock()
    bucket = TokenBucket(limit, clock)
    arrived, started = [], []
    for pause in pauses:
        clock.now += pause * limit.per / 64
        arrived.append(clock.now)
        started.append(clock.now + bucket.take())
    return arrived, started


@given(CALLS, PER, ARRIVALS)
def test_no_period_has_more_starts_than_the_burst_and_the_rate(
    calls: int, per: float, pauses: list[int]
) -> None:
    _, started = starts(RateLimit(calls, per), pauses)
    for first, begin in enumerate(started):
        for last in range(first, len(started)):
            span = started[last] - begin
            assert last - first + 1 <= calls * (1 + span / per) + 1e-6


@given(CALLS, PER, ARRIVALS)
def test_waiters_start_in_order_of_arrival_one_by_one(
    calls: int, per: float, pauses: list[int]
) -> None:
    arrived, started = starts(RateLimit(calls, per), pauses)
    assert started == sorted(started)
    waited = [at for came, at in zip(arrived, started, strict=True) if at > came]
    gaps = [after - before for before, after in itertools.pairwise(waited)]
    assert all(gap >= per / calls - 1e-6 for gap in gaps)


@given(CALLS, PER, ARRIVALS)
def test_no_call_waits_while_a_token_is_available(
    calls: int, per: float, pauses: list[int]
) -> None:
    arrived, started = starts(RateLimit(calls, per), pauses)
    for position, (came, at) in enumerate(zip(arrived, started, strict=True)):
        if position < calls:
            assert at == came
        if at > came + 1e-6:
            # While the bucket refilled, as many calls started as it holds.
            recent = [s for s in started[:position] if s > at - per - 1e-6]
            assert len(recent) >= calls


def test_a_new_bucket_is_full_and_refills_one_by_one() -> None:
    clock = Clock()
    bucket = TokenBucket(RateLimit(2, per=10.0), clock)
    assert [bucket.take() for _ in range(4)] == [0.0, 0.0, 5.0, 10.0]
    clock.now += 15.0
    # Both waiting calls have their tokens, and one more is available.
    assert [bucket.take() for _ in range(2)] == [0.0, 5.0]
    clock.now += 1000.0
    assert [bucket.take() for _ in range(3)] == [0.0, 0.0, 5.0]


def test_a_call_that_is_refused_takes_nothing() -> None:
    clock = Clock()
    bucket = TokenBucket(RateLimit(1, per=4.0, on_limit="refuse"), clock)
    assert bucket.take() == 0.0
    assert [bucket.take() for _ in range(10)] == [4.0] * 10
    clock.now += 3.0
    assert bucket.take() == 1.0
    clock.now += 1.0
    assert bucket.take() == 0.0


def test_a_refunded_token_is_available_again() -> None:
    clock = Clock()
    bucket = TokenBucket(RateLimit(1, per=4.0), clock)
    assert [bucket.take(), bucket.take()] == [0.0, 4.0]
    bucket.refund()
    assert bucket.take() == 4.0


@pytest.mark.parametrize("on_limit", ["wait", "refuse"])
def test_a_returned_wait_is_long_enough(on_limit: str) -> None:
    clock = Clock(0.1)
    bucket = TokenBucket(RateLimit(3, per=0.7, on_limit=on_limit), clock)  # type: ignore[arg-type]
    for _ in range(1000):
        wait = bucket.take()
        clock.now += wait
        if on_limit == "refuse" and wait:
            assert bucket.take() == pytest.approx(0.0, abs=1e-9)
