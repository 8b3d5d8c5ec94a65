"""Retries: which errors are transient, and how long the delays are."""

from __future__ import annotations

import asyncio
import concurrent.futures
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave.exceptions import ModelRetry, ToolError, ToolFailed, TransientToolError
from toolweave.executor._retry import delay, is_transient
from toolweave.tools._options import RetryPolicy

POLICIES = st.builds(
    RetryPolicy,
    st.integers(1, 10),
    initial=st.floats(0, 1e6),
    maximum=st.floats(0, 1e6),
    multiplier=st.floats(1, 1e6),
    jitter=st.floats(0, 1),
)


@given(POLICIES, st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_never_longer_than_the_maximum_and_its_jitter(
    policy: RetryPolicy, attempt: int, chance: float
) -> None:
    wait = delay(policy, attempt, lambda: chance)
    assert 0 <= wait <= policy.maximum * (1 + policy.jitter)


@given(POLICIES, st.integers(1, 100))
def test_without_jitter_waits_never_become_shorter(policy: RetryPolicy, attempt: int) -> None:
    assert delay(policy, attempt, lambda: 0.5) <= delay(policy, attempt + 1, lambda: 0.5)


def test_waits_double_up_to_the_maximum() -> None:
    policy = RetryPolicy(9, initial=0.5, maximum=3.0, jitter=0.0)
    assert [delay(policy, attempt) for attempt in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]


@pytest.mark.parametrize(("chance", "wait"), [(0.0, 0.75), (0.5, 1.0), (0.75, 1.125)])
def test_jitter_makes_a_wait_longer_or_shorter(chance: float, wait: float) -> None:
    policy = RetryPolicy(3, initial=1.0, jitter=0.25)
    assert delay(policy, 1, lambda: chance) == wait


def test_callers_that_fail_together_do_not_retry_together() -> None:
    chance = random.Random(7).random
    waits = {delay(RetryPolicy(3), 1, chance) for _ in range(100)}
    assert len(waits) == 100


def test_retry_after_is_respected() -> None:
    policy = RetryPolicy(3, initial=1.0, maximum=5.0, jitter=0.0)
    assert delay(policy, 1, error=TransientToolError("busy", 0.2)) == 1.0
    assert delay(policy, 1, error=TransientToolError("busy", 60.0)) == 60.0
    assert delay(policy, 1, error=TransientToolError("busy")) == 1.0
    assert delay(policy, 1, error=TransientToolError("busy", -5.0)) == 1.0


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (asyncio.TimeoutError(), True),
        (concurrent.futures.TimeoutError(), True),
        (TransientToolError("busy"), True),
        (ValueError(), False),
        (OSError(), False),
        (ToolError("no"), False),
        (ModelRetry("no"), False),
        (asyncio.CancelledError(), False),
        (KeyboardInterrupt(), False),
    ],
)
def test_connection_errors_and_timeouts_are_transient_by_default(
    error: BaseException, transient: bool
) -> None:
    assert is_transient(RetryPolicy(3), error) is transient


def test_a_policy_lists_its_own_errors() -> None:
    policy = RetryPolicy(3, retry_on=(KeyError,))
    assert is_transient(policy, KeyError("x"))
    assert not is_transient(policy, ConnectionResetError())
    assert not is_transient(policy, asyncio.TimeoutError())
    assert is_transient(policy, TransientToolError("busy"))


@pytest.mark.parametrize("verdict", [ModelRetry("other arguments, please"), ToolFailed("no")])
def test_a_tool_error_is_not_retried(verdict: ToolError) -> None:
    assert not is_transient(RetryPolicy(3, retry_on=(Exception,)), verdict)


def test_each_timeout_class_stands_for_all_of_them() -> None:
    policy = RetryPolicy(3, retry_on=(asyncio.TimeoutError,))
    assert is_transient(policy, TimeoutError())
    assert is_transient(policy, concurrent.futures.TimeoutError())
