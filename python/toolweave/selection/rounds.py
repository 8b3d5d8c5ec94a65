"""One question about some tools, or several of them and a last one about their winners."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .batch import score_batch
from .choose import choose
from .each import score_each
from .prefilter import plan_rounds
from .result import Score

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from .calls import CallScheduler
    from .candidates import Candidates
    from .question import Question
    from .result import Decision
    from .scoreboard import StrategyResult

_STRATEGIES: dict[
    str, Callable[[Candidates, Question, CallScheduler], Awaitable[StrategyResult]]
] = {
    "choose": choose,
    "each": score_each,
    "batch": score_batch,
}


class RoundResult(NamedTuple):
    """Which tool won, and what was found out about all of them."""

    winner: Score | None
    """The winner, or the fallback; None if there is neither."""
    decision: Decision
    """The rule that decided."""
    ties: tuple[Score, ...]
    """Others with the winner's very score."""
    ranking: tuple[Score, ...]
    """All tools, the best first."""
    unreadable: bool
    """True if a reply about several tools could not be used."""


async def ask_in_rounds(
    candidates: Candidates, question: Question, calls: CallScheduler
) -> RoundResult:
    """Ask about the tools that the query may be for.

    Args:
        offer: The tools.
        question: What is asked.
        calls: Makes the calls; whoever made it closes it.
    """
    asked = plan_rounds(candidates, question.query)
    if len(asked.rounds[0]) == len(candidates.tools):
        # What is worked out about them is kept.
        return await _ask_round(candidates, question, calls)
    left_out = [Score(candidates.tools[at], note=asked.note) for at in asked.left_out]
    results: list[RoundResult] = []
    for part in asked.rounds:
        results.append(await _ask_round(candidates.subset(part), question, calls))
        if _is_enough(candidates, results[-1]):
            break
    if len(results) == 1 == len(asked.rounds):
        return _with_others(results[0], left_out)
    left_out += [
        Score(tool, note="not asked about: another tool had won") for tool in candidates.tools
    ]
    # That the fallback is best among some says nothing of the others.
    winners = [one for one in results if _has_won(one) and _name(one) != candidates.policy.fallback]
    if len(winners) < 2:
        last = winners[0] if winners else _best(results)
    elif candidates.policy.strategy == "each":
        # Each score is of one tool alone, whichever others were asked about.
        last = _best(winners)
    else:
        names = {*map(_name, winners), candidates.policy.fallback}
        part = [at for at, name in enumerate(candidates.names) if name in names]
        last = await _ask_round(candidates.subset(part), question, calls)
        if last.unreadable:
            # Each has won once: the best of these scores is as good as can be had.
            last = _best(winners)
    others = [score for one in results if one is not last for score in one.ranking]
    others.sort(key=lambda one: (one.score is None, -(one.score or 0.0)))
    return _with_others(last, [*others, *left_out])


def _has_won(result: RoundResult) -> bool:
    return result.decision not in ("fallback", "none")


def _is_enough(candidates: Candidates, result: RoundResult) -> bool:
    """True if no more tools are asked about: one has a score to stop at, which is its own."""
    policy, winner = candidates.policy, result.winner
    if policy.strategy != "each" or policy.early_stop is None or winner is None:
        return False
    if not _has_won(result) or winner.tool.name == policy.fallback:
        return False
    return winner.score is not None and winner.score >= policy.early_stop


def _name(result: RoundResult) -> str | None:
    return None if result.winner is None else result.winner.tool.name


def _best(winners: Sequence[RoundResult]) -> RoundResult:
    return max(winners, key=lambda one: (one.winner and one.winner.score) or 0.0)


async def _ask_round(
    candidates: Candidates, question: Question, calls: CallScheduler
) -> RoundResult:
    outcome = await _STRATEGIES[candidates.policy.strategy](candidates, question, calls)
    result, scoreboard = outcome.result, outcome.scoreboard
    ranking = scoreboard.rank(result.order)
    winner = None
    if result.winner is not None:
        tool = candidates.tools[result.winner]
        winner = scoreboard.results[result.winner] or Score(tool)
    ties = tuple(found for at in result.ties if (found := scoreboard.results[at]) is not None)
    return RoundResult(winner, result.reason, ties, ranking, scoreboard.unreadable)


def _with_others(result: RoundResult, others: Sequence[Score]) -> RoundResult:
    """The same with what is known of tools that it was not about."""
    ranked = {id(one.tool) for one in result.ranking}
    more: list[Score] = []
    for one in others:
        if id(one.tool) not in ranked:
            ranked.add(id(one.tool))
            more.append(one)
    return result._replace(ranking=(*result.ranking, *more))
