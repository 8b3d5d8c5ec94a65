"""Result cache: identical calls run once, and failures are never cached."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave._aio.single_flight import Follower, Hit, Leader, ResultCache

T = TypeVar("T")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
ARGUMENTS = st.dictionaries(st.text(), JSON, max_size=4)


class Clock:
    """Clock that the test advances."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a test with a timeout."""

    async def limited() -> T:
        return await asyncio.wait_for(coroutine, 10)

    return asyncio.run(limited())


def turned(value: Any) -> Any:
    """Return the value with the keys of every object in reverse order."""
    if isinstance(value, dict):
        return {key: turned(inner) for key, inner in reversed(value.items())}
    return [turned(item) for item in value] if isinstance(value, list) else value


def lead(cache: ResultCache[Any], key: str) -> Leader[Any]:
    found = cache.begin(key)
    assert isinstance(found, Leader)
    return found


def follow(cache: ResultCache[Any], key: str) -> asyncio.Task[Any]:
    found = cache.begin(key)
    assert isinstance(found, Follower)
    return asyncio.ensure_future(found.outcome())


@given(ARGUMENTS)
def test_the_order_of_keys_does_not_matter(arguments: dict[str, Any]) -> None:
    assert ResultCache.key("tool", arguments) == ResultCache.key("tool", turned(arguments))


@given(ARGUMENTS, ARGUMENTS)
def test_arguments_with_other_json_have_another_key(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (ResultCache.key("tool", one) == ResultCache.key("tool", other)) is same


def test_numbers_and_booleans_that_are_equal_in_python_have_different_keys() -> None:
    values = [1, 1.0, True, "1", [1], 0, 0.0, -0.0, False, None, "", [], {}]
    assert len({ResultCache.key("tool", {"x": value}) for value in values}) == len(values)


def test_different_tools_have_different_keys() -> None:
    assert ResultCache.key("add", {"x": 1}) != ResultCache.key("subtract", {"x": 1})


def test_a_result_expires_after_its_ttl() -> None:
    async def main() -> None:
        clock = Clock()
        cache: ResultCache[str] = ResultCache(clock=clock)
        lead(cache, "k").finish("v", ttl=10)
        clock.now = 9.9
        assert cache.begin("k") == Hit("v")
        # A lookup does not extend its lifetime.
        clock.now = 10.0
        lead(cache, "k").finish("w")
        clock.now = 1e12
        assert cache.begin("k") == Hit("w")

    run(main())


def test_a_result_of_none_is_a_result() -> None:
    async def main() -> None:
        cache: ResultCache[None] = ResultCache()
        lead(cache, "k").finish(None)
        assert cache.begin("k") == Hit(None)

    run(main())


def test_without_a_ttl_a_result_is_shared_but_not_cached() -> None:
    async def main() -> None:
        cache: ResultCache[str] = ResultCache()
        leader = lead(cache, "k")
        follower = follow(cache, "k")
        leader.finish("v", ttl=0)
        assert await follower == Hit("v")
        assert len(cache) == 0
        assert isinstance(cache.begin("k"), Leader)

    run(main())


def test_the_least_recently_used_result_is_evicted_first() -> None:
    async def main() -> None:
        cache: ResultCache[str] = ResultCache(max_entries=2)
        for key in ("a", "b"):
            lead(cache, key).finish(key)
        assert cache.begin("a") == Hit("a")
        lead(cache, "c").finish("c")
        assert len(cache) == 2
        assert cache.begin("a") == Hit("a")
        assert cache.begin("c") == Hit("c")
        assert isinstance(cache.begin("b"), Leader)

    run(main())


def test_an_evicted_result_is_fetched_again() -> None:
    async def main() -> None:
        cache: ResultCache[str] = ResultCache()
        lead(cache, "k").finish("v")
        cache.clear()
        assert isinstance(cache.begin("k"), Leader)

    run(main())


def test_one_of_many_identical_calls_runs_and_all_share_its_result() -> None:
    async def main() -> None:
        cache: ResultCache[int] = ResultCache()
        runs = 0

        async def call() -> int:
            nonlocal runs
            found = cache.begin("k")
            if isinstance(found, Follower):
                found = await found.outcome()
            if isinstance(found, Hit):
                return found.value
            with found:
                runs += 1
                await asyncio.sleep(0)
                found.finish(runs)
            return runs

        assert await asyncio.gather(*(call() for _ in range(50))) == [1] * 50

    run(main())


def test_if_a_leader_fails_each_follower_runs_its_own_call() -> None:
    async def main() -> None:
        cache: ResultCache[str] = ResultCache()
        leader = lead(cache, "k")
        followers = [follow(cache, "k") for _ in range(3)]
        leader.fail()
        alone = await asyncio.gather(*followers)
        assert all(isinstance(found, Leader) for found in alone)
        # Nothing was cached, so the next caller leads again.
        fresh = lead(cache, "k")
        # Callers that run alone may fail as well, or produce the result for later callers.
        alone[0].fail()
        alone[1].finish("v")
        assert cache.begin("k") == Hit("v")
        fresh.abandon()

    run(main())


def test_if_a_leader_is_cancelled_the_next_follower_leads() -> None:
    async def main() -> None:
        cache: ResultCache[str] = ResultCache()
        leader = lead(cache, "k")
        followers = [follow(cache, "k") for _ in range(3)]
        await asyncio.sleep(0)
        followers[0].cancel()
        await asyncio.sleep(0)
        leader.abandon()
        heir = await followers[1]
        assert isinstance(heir, Leader)
        assert not followers[2].done()
        heir.finish("v")
        assert await followers[2] == Hit("v")

    run(main())


def test_a_leader_without_followers_leaves_no_state() -> None:
    async def main() -> None:
        cache: ResultCache[str] = ResultCache()
        lead(cache, "k").abandon()
        with pytest.raises(ZeroDivisionError), lead(cache, "k"):
            raise ZeroDivisionError
        lead(cache, "k").finish("v")
        assert cache.begin("k") == Hit("v")

    run(main())


def test_a_follower_that_is_cancelled_on_becoming_leader_passes_the_lead_on() -> None:
    async def main() -> None:
        cache: ResultCache[str] = ResultCache()
        leader = lead(cache, "k")
        first, second = follow(cache, "k"), follow(cache, "k")
        await asyncio.sleep(0)
        # The first becomes the leader here, and is cancelled before it notices.
        leader.abandon()
        first.cancel()
        assert isinstance(await second, Leader)
        with pytest.raises(asyncio.CancelledError):
            await first

    run(main())


def test_a_follower_that_is_cancelled_as_its_result_arrives_does_not_affect_others() -> None:
    async def main() -> None:
        cache: ResultCache[str] = ResultCache()
        leader = lead(cache, "k")
        first, second = follow(cache, "k"), follow(cache, "k")
        await asyncio.sleep(0)
        leader.finish("v")
        first.cancel()
        assert await second == Hit("v")

    run(main())


def test_only_the_first_outcome_of_a_leader_counts() -> None:
    async def main() -> None:
        cache: ResultCache[str] = ResultCache()
        leader = lead(cache, "k")
        leader.finish("v")
        leader.finish("w")
        leader.fail()
        leader.abandon()
        assert cache.begin("k") == Hit("v")

    run(main())


def test_a_leader_on_a_closed_loop_is_not_awaited() -> None:
    cache: ResultCache[str] = ResultCache()
    left: list[Leader[str]] = []

    async def begin() -> None:
        left.append(lead(cache, "k"))

    async def again() -> None:
        leader = lead(cache, "k")
        left[0].abandon()
        # The outcome of the previous leader does not end the new flight.
        follower = follow(cache, "k")
        leader.finish("v")
        assert await follower == Hit("v")

    run(begin())
    run(again())


def test_the_cache_size_must_be_positive() -> None:
    with pytest.raises(ValueError, match="max_entries must be at least 1, got 0"):
        ResultCache(0)
