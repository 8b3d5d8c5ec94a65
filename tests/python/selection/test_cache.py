"""Tests of the cache of selections, and of sharing between questions in flight."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from coroutine_tests import TEST_TIMEOUT, on_a_loop
from sample_selections import ITEMS, Scores, ScriptedScorer, entry, named, tools
from toolweave import RegistrySnapshot, Selection, SelectionPolicy, ToolSelector, UsageUpdate
from toolweave.selection import ScorerReply, ScorerRequest
from virtual_time import now, run

EACH = SelectionPolicy(strategy="each")


def test_the_same_question_is_answered_from_the_cache_until_it_expires() -> None:
    async def main() -> None:
        scorer = ScriptedScorer(
            [ScorerReply(named("details", 90, item_name="x"), UsageUpdate(5, 5))]
        )
        selector = ToolSelector(ITEMS, scorer, cache_ttl=60, clock=now)
        first = await selector.select("a")
        again = await selector.select("a")
        assert (first.cached, first.calls, again.cached, again.calls) == (False, 1, True, 0)
        assert (again.tool, again.score, again.usage) == (first.tool, first.score, None)
        assert "kept from before" in again.explain()
        await asyncio.sleep(59)
        assert (await selector.select("a")).cached
        await asyncio.sleep(2)
        assert not (await selector.select("a")).cached
        selector.clear_cache()
        assert not (await selector.select("a")).cached
        assert len(scorer.requests) == 3

    run(main())


@pytest.mark.parametrize(
    "other",
    [
        {"query": "b"},
        {"item_type": "Recipe"},
        {"site": "example.com"},
        {"context": {"request.previousQueries": "b"}},
    ],
)
def test_another_question_is_not_answered_from_the_cache(other: dict[str, Any]) -> None:
    async def main() -> None:
        scorer = ScriptedScorer([named("search")])
        selector = ToolSelector(ITEMS, scorer)
        await selector.select("a")
        assert not (await selector.select(**{"query": "a", **other})).cached

    run(main())


def test_types_in_other_notations_are_the_same_question() -> None:
    async def main() -> None:
        selector = ToolSelector(ITEMS, ScriptedScorer([named("search")]))
        await selector.select("a", item_type="Recipe")
        assert (await selector.select("a", item_type="https://schema.org/Recipe")).cached

    run(main())


def test_another_model_is_not_answered_from_the_cache() -> None:
    class Several(ScriptedScorer):
        @property
        def name(self) -> str:  # type: ignore[override]
            return f"model {len(self.requests)}"

        @name.setter
        def name(self, name: str) -> None:
            """Ignore the name."""

    async def main() -> None:
        scorer = Several([named("search")])
        selector = ToolSelector(ITEMS, scorer)
        await selector.select("a")
        assert not (await selector.select("a")).cached

    run(main())


def test_mutating_a_selection_changes_no_other() -> None:
    async def main() -> None:
        selector = ToolSelector(ITEMS, ScriptedScorer([named("details", 90, item_name="x")]))
        for _ in range(3):
            selection = await selector.select("a")
            assert selection.parameters == {"item_name": "x"}
            assert selection.ranking[0].parameters == {"item_name": "x"}
            selection.parameters.clear()
            selection.ranking[0].parameters["item_name"] = "y"

    run(main())


@pytest.mark.parametrize("failure", [OSError("down"), "nonsense"])
def test_failures_are_not_cached(failure: Any) -> None:
    async def main() -> None:
        scorer = ScriptedScorer([failure, failure, named("details", 90, item_name="x")])
        selector = ToolSelector(ITEMS, scorer, SelectionPolicy(attempts=1))
        for fallback in (True, True, False):
            selection = await selector.select("a")
            assert (selection.fallback, selection.cached) == (fallback, False)
        assert (await selector.select("a")).cached

    run(main())


def test_a_timeout_is_not_cached() -> None:
    async def main() -> None:
        selector = ToolSelector(tools("a", "b"), Scores({"a": 80}), EACH)
        assert len((await selector.select("x")).errors) == 1
        assert not (await selector.select("x")).cached

    run(main())


def test_with_a_ttl_of_zero_nothing_is_cached_or_shared() -> None:
    async def main() -> None:
        scorer = ScriptedScorer([named("search")])
        selector = ToolSelector(ITEMS, scorer, cache_ttl=0)
        found = await asyncio.gather(selector.select("a"), selector.select("a"))
        assert [selection.cached for selection in found] == [False, False]

    run(main())


def test_the_least_recently_used_selection_is_evicted_first() -> None:
    async def main() -> None:
        selector = ToolSelector(ITEMS, ScriptedScorer([named("search")]), cache_size=2)
        cached = [(await selector.select(query)).cached for query in "abacab"]
        assert cached == [False, False, True, False, True, False]

    run(main())


class PausedScorer:
    """Scorer that answers once it is released."""

    name = "held"

    def __init__(self) -> None:
        self.asked = 0
        self.cancelled = 0
        self.entered = asyncio.Event()
        self.let = asyncio.Event()

    async def ask(self, request: ScorerRequest) -> ScorerReply:  # noqa: ARG002
        self.asked += 1
        self.entered.set()
        try:
            await asyncio.wait_for(self.let.wait(), TEST_TIMEOUT)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return ScorerReply(named("details", 90, item_name="x"))


async def start_selections(selector: ToolSelector, count: int) -> list[asyncio.Task[Selection]]:
    """Return tasks in progress that ask the same question."""
    tasks = [asyncio.create_task(selector.select("a")) for _ in range(count)]
    for _ in range(5):
        await asyncio.sleep(0)
    return tasks


@on_a_loop
async def test_identical_questions_in_flight_are_asked_once() -> None:
    scorer = PausedScorer()
    tasks = await start_selections(ToolSelector(ITEMS, scorer), 50)
    scorer.let.set()
    found = await asyncio.gather(*tasks)
    assert scorer.asked == 1
    assert sorted(selection.calls for selection in found) == [0] * 49 + [1]
    assert len({id(selection.parameters) for selection in found}) == 50


@on_a_loop
async def test_a_cancelled_waiter_cancels_no_other_caller() -> None:
    scorer = PausedScorer()
    first, second, third = await start_selections(ToolSelector(ITEMS, scorer), 3)
    second.cancel()
    scorer.let.set()
    assert (await first).score == (await third).score == 90
    assert (scorer.asked, scorer.cancelled) == (1, 0)
    with pytest.raises(asyncio.CancelledError):
        await second


@on_a_loop
async def test_when_the_leader_is_cancelled_the_next_waiter_asks() -> None:
    scorer = PausedScorer()
    first, second, third = await start_selections(ToolSelector(ITEMS, scorer), 3)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    scorer.let.set()
    assert (await second).score == (await third).score == 90
    assert (scorer.asked, scorer.cancelled) == (2, 1)


@on_a_loop
async def test_an_uncached_answer_is_given_to_all_waiters() -> None:
    scorer = PausedScorer()
    policy = SelectionPolicy(timeout=0.01)
    found = await asyncio.gather(*await start_selections(ToolSelector(ITEMS, scorer, policy), 3))
    assert [selection.fallback for selection in found] == [True] * 3
    assert scorer.asked == 1


def test_cached_selections_are_shared_between_event_loops() -> None:
    scorer = ScriptedScorer([named("search")])
    selector = ToolSelector(ITEMS, scorer)
    assert not run(selector.select("a")).cached
    assert run(selector.select("a")).cached


def test_several_event_loops_may_use_one_selector_at_once() -> None:
    registry = RegistrySnapshot.of([entry("search"), entry("b")])
    selector = ToolSelector(registry, ScriptedScorer([named("search")]), cache_size=3)
    errors: list[BaseException] = []

    def work() -> None:
        async def main() -> None:
            for number in range(60):
                await asyncio.gather(*(selector.select(str(number % 7)) for _ in range(3)))

        try:
            asyncio.run(asyncio.wait_for(main(), TEST_TIMEOUT))
        except BaseException as err:  # noqa: BLE001 - of another thread
            errors.append(err)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_selection_among_old_tools_is_not_cached_for_new_ones() -> None:
    class ReadAgain:
        """Registry that is reloaded by another thread just after a lookup."""

        now = tools("search", "old")

        @property
        def fingerprint(self) -> str:
            return self.now.fingerprint

        def tools_for(self, item_type: str, site: str | None = None, /) -> Any:
            was, self.now = self.now, tools("search", "new")
            return was.tools_for(item_type, site)

    async def main() -> list[str]:
        selector = ToolSelector(ReadAgain(), ScriptedScorer([named("old"), named("new")]))
        selections = [await selector.select("x") for _ in range(2)]
        return [one.tool.name for one in selections if one.tool is not None]

    assert asyncio.run(main()) == ["old", "new"]


def test_one_snapshot_of_a_registry_is_used_for_a_selection() -> None:
    class ReadAgain:
        """Registry that changes with every access."""

        count = 0

        @property
        def snapshot(self) -> RegistrySnapshot:
            self.count += 1
            return tools("search", f"tool{self.count}")

        @property
        def fingerprint(self) -> str:
            return self.snapshot.fingerprint

        def tools_for(self, item_type: str, site: str | None = None, /) -> Any:
            return self.snapshot.tools_for(item_type, site)

    async def main() -> list[str]:
        selector = ToolSelector(ReadAgain(), ScriptedScorer([named("tool1"), named("tool2")]))
        selections = [await selector.select("x") for _ in range(2)]
        return [one.tool.name for one in selections if one.tool is not None]

    assert asyncio.run(main()) == ["tool1", "tool2"]
