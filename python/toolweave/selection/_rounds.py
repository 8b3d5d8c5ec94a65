"""Rounds of requests: one about some tools, or several and a last one about their winners."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ._batch import score_batch
from ._choose import choose
from ._each import score_each
from ._prefilter import plan_rounds
from ._result import Score

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ._calls import CallScheduler
    from ._candidates import Candidates
    from ._question import Question
    from ._result import Decision
    from ._scoreboard import StrategyResult

_STRATEGIES: dict[
    str, Callable[[Candidates, Question, CallScheduler], Awaitable[StrategyResult]]
] = {
    "choose": choose,
    "each": score_each,
    "batch": score_batch,
}


class RoundResult(NamedTuple):
    """Result of one round, or of all rounds."""

    winner: Score | None
    """Winner or fallback; None if there is neither."""
    decision: Decision
    """Rule that decided."""
    ties: tuple[Score, ...]
    """Other tools with the same score as the winner."""
    ranking: tuple[Score, ...]
    """All tools, the best first."""
    unreadable: bool
    """True if a reply about several tools was invalid."""


async def ask_in_rounds(
    candidates: Candidates, question: Question, calls: CallScheduler
) -> RoundResult:
    """Ask about the tools that the query may be for.

    Args:
        candidates: The tools.
        question: The query and its context.
        calls: The scheduler that makes the calls. The caller closes it.
    """
    asked = plan_rounds(candidates, question.query)
    if len(asked.rounds[0]) == len(candidates.tools):
        # The cached descriptions and prompts are reused.
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
    # A round that the fallback wins says nothing about the other rounds.
    winners = [one for one in results if _has_won(one) and _name(one) != candidates.policy.fallback]
    if len(winners) < 2:
        last = winners[0] if winners else _best(results)
    elif candidates.policy.strategy == "each":
        # Scores of single tools are comparable between rounds.
        last = _best(winners)
    else:
        names = {*map(_name, winners), candidates.policy.fallback}
        part = [at for at, name in enumerate(candidates.names) if name in names]
        last = await _ask_round(candidates.subset(part), question, calls)
        if last.unreadable:
            # Use the best score of the earlier rounds.
            last = _best(winners)
    others = [score for one in results if one is not last for score in one.ranking]
    others.sort(key=lambda one: (one.score is None, -(one.score or 0.0)))
    return _with_others(last, [*others, *left_out])


def _has_won(result: RoundResult) -> bool:
    return result.decision not in ("fallback", "none")


def _is_enough(candidates: Candidates, result: RoundResult) -> bool:
    """Return True if a tool other than the fallback has a score to stop at."""
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
    """Append the scores of tools that a result was not about."""
    ranked = {id(one.tool) for one in result.ranking}
    more: list[Score] = []
    for one in others:
        if id(one.tool) not in ranked:
            ranked.add(id(one.tool))
            more.append(one)
    return result._replace(ranking=(*result.ranking, *more))
