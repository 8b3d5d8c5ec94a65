"""Properties that hold for any scores, failures and orders of completion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import example, given
from hypothesis import strategies as st

from sample_selections import Scores, entry
from toolweave import RegistrySnapshot, Selection, SelectionPolicy, ToolSelector
from virtual_time import run

THRESHOLD = 70
TIMEOUT = 10.0

NAMES = ("search", "a", "b", "c", "d")
# Two types: those of the second are more specific, and come after the others.
TYPES = ("Thing", "Thing", "Recipe", "Thing", "Recipe")
REGISTRY = RegistrySnapshot.of(
    [entry(name, type=kind) for name, kind in zip(NAMES, TYPES, strict=True)]
)
ORDER = [tool.name for tool in REGISTRY.tools_for("Recipe")]


@dataclass(frozen=True)
class Outcome:
    """Outcome of asking about one tool."""

    reply: Any
    score: float | None
    after: float


def scored(score: float, form: str, after: float) -> Outcome:
    forms = {"number": score, "text": str(score), "percent": f"{score}%"}
    return Outcome({"score": forms[form]}, float(score), after)


def failed(how: Literal["raises", "nonsense", "empty", "late"], after: float) -> Outcome:
    match how:
        case "raises":
            return Outcome(OSError("down"), None, after)
        case "nonsense":
            return Outcome("I would rather not say", None, after)
        case "empty":
            return Outcome({"score": None}, None, after)
        case "late":
            return Outcome({"score": 100}, None, TIMEOUT + 1 + after)


DELAYS = st.sampled_from([0.0, 1.0, 2.0, 3.0])
# Few values, so that there are ties.
POINTS = st.sampled_from([0, 30, 69, 69.5, 70, 80, 80.5, 90, 100])
SCORED = st.builds(scored, POINTS, st.sampled_from(["number", "text", "percent"]), DELAYS)
FAILED = st.builds(failed, st.sampled_from(["raises", "nonsense", "empty", "late"]), DELAYS)
OUTCOMES = st.lists(SCORED | FAILED, min_size=len(NAMES), max_size=len(NAMES))


def select(outcomes: list[Outcome], **policy: Any) -> tuple[Selection, Scores]:
    scorer = Scores(
        {name: outcome.reply for name, outcome in zip(NAMES, outcomes, strict=True)},
        {name: outcome.after for name, outcome in zip(NAMES, outcomes, strict=True)},
    )
    asked = SelectionPolicy(strategy="each", timeout=TIMEOUT, threshold=THRESHOLD, **policy)
    selector = ToolSelector(REGISTRY, scorer, asked)
    return run(selector.select("?", item_type="Recipe")), scorer


def expected_winner(outcomes: list[Outcome]) -> str:
    """Return the winner by score, then type, then position; else the fallback."""
    by_name = dict(zip(NAMES, outcomes, strict=True))
    kinds = dict(zip(NAMES, TYPES, strict=True))

    def rank(name: str) -> tuple[float, bool, int]:
        score = by_name[name].score
        return (-math.inf if score is None else score, kinds[name] == "Recipe", -ORDER.index(name))

    first = max(NAMES, key=rank)
    score = by_name[first].score
    return first if score is not None and score >= THRESHOLD else "search"


@given(OUTCOMES, st.lists(DELAYS, min_size=len(NAMES), max_size=len(NAMES)), st.integers(1, 8))
def test_the_same_scores_give_the_same_winner_in_every_order(
    outcomes: list[Outcome], delays: list[float], slots: int
) -> None:
    one, _ = select(outcomes, early_stop=None)
    shuffled = [
        Outcome(outcome.reply, outcome.score, outcome.after if outcome.after > TIMEOUT else delay)
        for outcome, delay in zip(outcomes, delays, strict=True)
    ]
    other, _ = select(shuffled, early_stop=None, max_concurrency=slots)
    assert [x.tool.name for x in one.ranking] == [x.tool.name for x in other.ranking]
    assert (one.tool, one.score, one.ties) == (other.tool, other.score, other.ties)


@given(OUTCOMES)
@example([failed("late", 0.0)] * len(NAMES))
def test_failures_do_not_change_the_winner_among_other_scores(
    outcomes: list[Outcome],
) -> None:
    selection, scorer = select(outcomes, early_stop=None)
    assert selection.tool is not None
    assert selection.tool.name == expected_winner(outcomes)
    assert selection.calls == len(NAMES)
    by_name = dict(zip(NAMES, outcomes, strict=True))
    for one in selection.ranking:
        assert one.score == by_name[one.tool.name].score
        assert (one.error is None) == (one.score is not None)
    late = {name for name, outcome in by_name.items() if outcome.after > TIMEOUT}
    assert set(scorer.cancelled) == late


@given(OUTCOMES, st.integers(1, 8))
def test_early_stop_saves_calls_and_selects_the_best_received_score(
    outcomes: list[Outcome], slots: int
) -> None:
    selection, scorer = select(outcomes, early_stop=90, max_concurrency=slots)
    assert selection.tool is not None
    by_name = dict(zip(NAMES, outcomes, strict=True))
    assert selection.calls == len(scorer.asked)
    if selection.decision == "early_stop":
        assert selection.score is not None
        assert selection.score >= 90
        known = [one.score for one in selection.ranking if one.score is not None]
        assert selection.score == max(known)
        unknown = {one.tool.name for one in selection.ranking if one.score is one.error is None}
        in_time = {name for name in unknown if by_name[name].after < TIMEOUT}
        # Of those in flight, each was stopped; the others never began.
        assert set(scorer.cancelled) >= in_time & set(scorer.asked)
    else:
        assert selection.tool.name == expected_winner(outcomes)


@given(st.lists(POINTS, min_size=len(NAMES), max_size=len(NAMES)), DELAYS)
def test_replies_of_one_loop_iteration_are_ranked_together(
    points: list[float], delay: float
) -> None:
    outcomes = [scored(score, "number", delay) for score in points]
    selection, _ = select(outcomes, early_stop=90, max_concurrency=len(NAMES))
    assert selection.tool is not None
    assert selection.tool.name == expected_winner(outcomes)
