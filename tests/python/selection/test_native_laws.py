"""Tests that native calls and calls in tasks give the same selections with any server."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from coroutine_tests import TEST_TIMEOUT
from effort import effort
from sample_selections import tools
from servers.scorers import Clock, Director, HttpResponse, refused, scored, scoring
from toolweave import Selection, SelectionPolicy, ToolSelector
from toolweave.models.http import HttpModel
from toolweave.selection import CallLimiter, Scorer, as_scorer
from toolweave.selection._model import ModelScorer, NativeScorer
from virtual_time import run

NAMES = ("search", "a", "b", "c", "d")
REGISTRY = tools(*NAMES)
TIMEOUT = 3.0

# Few values, so that there are ties.
SCORED = st.builds(
    scored,
    st.sampled_from([0, 30, 69.5, 70, 80, 90, 100, "90%", "I would rather not say", ""]),
    pieces=st.integers(1, 3),
)
CUT_OFF = st.builds(
    scored,
    st.just('{"score": 9'),
    finish=st.sampled_from(["length", "content_filter", "tool_calls"]),
)
REFUSED = st.builds(refused, st.sampled_from([400, 401, 404, 429, 500, 503]))
LATE = st.none()
OUTCOMES = st.lists(SCORED | CUT_OFF | REFUSED | LATE, min_size=5, max_size=5)


def select(
    native: bool,
    outcomes: Sequence[HttpResponse | None],
    order: Sequence[str],
    slots: int,
    most: int = 8,
    **policy: Any,
) -> tuple[Selection, list[str]]:
    """Return a selection, and the names of the tools that were asked about."""
    clock = Clock()

    async def main() -> tuple[Selection, list[str]]:
        limiter = CallLimiter(slots)
        replies: dict[str, HttpResponse | None] = dict(zip(NAMES, outcomes, strict=True))
        async with scoring() as served, HttpModel(served.url, "m", "k", max_retries=0) as model:
            scorer: Scorer = as_scorer(model) if native else ModelScorer(model)
            assert isinstance(scorer, NativeScorer) == native
            asked = SelectionPolicy(
                strategy="each", timeout=TIMEOUT, max_concurrency=most, **policy
            )
            selector = ToolSelector(REGISTRY, scorer, asked, limiter=limiter)
            task = asyncio.create_task(selector.select("?"))
            director = Director(served, limiter, replies, order, TIMEOUT, most)
            await asyncio.wait_for(director.direct(task), TEST_TIMEOUT * 5)
            selection = await task
            # Nothing is left: all slots are free, and no connection is open.
            assert limiter.free == slots
            await served.until(lambda: not served.open)
            assert served.most <= slots
            return selection, served.asked

    return run(main(), clock)


def assert_equal_selections(one: Selection, other: Selection) -> None:
    """Compare selections except for their durations and servers."""
    assert normalized(one) == normalized(other)


def normalized(selection: Selection) -> Selection:
    ranking = [
        dataclasses.replace(each, error=each.error and re.sub(r":\d+/v1", "/v1", each.error))
        for each in selection.ranking
    ]
    return dataclasses.replace(selection, duration=0, ranking=tuple(ranking))


@settings(max_examples=effort(40), deadline=None)
@given(OUTCOMES, st.permutations(NAMES), st.integers(1, 6), st.integers(1, 8))
@example([None] * 5, NAMES, 2, 8)
@example([scored(95)] * 5, NAMES, 1, 1)
def test_native_calls_and_tasks_give_equal_results_for_any_server(
    outcomes: list[HttpResponse | None], order: list[str], slots: int, most: int
) -> None:
    one, asked = select(True, outcomes, order, slots, most)
    other, also_asked = select(False, outcomes, order, slots, most)
    assert_equal_selections(one, other)
    assert sorted(asked) == sorted(also_asked)
    assert one.calls == len(asked)


@settings(max_examples=effort(20), deadline=None)
@given(OUTCOMES, st.permutations(NAMES), st.permutations(NAMES), st.integers(1, 6))
def test_the_same_outcomes_give_the_same_winner_in_every_order(
    outcomes: list[HttpResponse | None], order: list[str], another: list[str], slots: int
) -> None:
    # A call that waits for the slot of one that never answers may time out.
    assume(slots >= len(outcomes) or None not in outcomes)
    one, _ = select(True, outcomes, order, 6, early_stop=None)
    other, _ = select(True, outcomes, another, slots, early_stop=None)
    assert_equal_selections(one, other)
