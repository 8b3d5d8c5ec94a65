"""Rounds of requests: one about some tools, or several and a last one about their winners.

A prefilter plans them by the words of the query. It narrows the choice only if the tools it finds
cover enough of the query. A query in another language, or a paraphrase, may share hardly a word
with the tool that it is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ._result import Score
from ._strategies import ask_combined, score_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._calls import CallScheduler
    from ._candidates import Candidates
    from ._prompts import Question
    from ._result import Decision

ENOUGH = 0.5
"""Share of the words of a query that the best tools must cover for the others to be left out."""


class RoundPlan(NamedTuple):
    """Plan of the requests to a model, with tools by position."""

    rounds: list[list[int]]
    """Tools of each request. Only the fallback is in more than one."""
    left_out: list[int]
    """Tools that are not asked about."""
    note: str
    """Reason why they are left out."""


def best_by_words(candidates: Candidates, query: str, limit: int) -> list[int]:
    """Return the tools that match the words of a query best by BM25, the best first.

    Tools that share no word with the query are left out.

    Args:
        candidates: The tools.
        query: The query.
        limit: Maximum number of tools.
    """
    return [at for at, _ in candidates.index.search(query, limit)]


def plan_rounds(candidates: Candidates, query: str) -> RoundPlan:
    """Plan the requests to a model; the tools of a request are in document order.

    If there are more than ``prefilter`` tools, and the best of them cover at least `ENOUGH` of the
    words of the query, only these and the fallback are asked about. Otherwise all tools are, with
    up to ``max_candidates`` in a request and up to ``max_rounds`` requests.

    Args:
        candidates: The tools.
        query: The query.
    """
    policy, count = candidates.policy, len(candidates.tools)
    limit = policy.prefilter
    if limit is None or count <= limit:
        return RoundPlan([list(range(count))], [], "")
    order = best_by_words(candidates, query, count)
    known = set(order)
    order += [at for at in range(count) if at not in known]
    if candidates.index.coverage(query, order[:limit]) >= ENOUGH:
        rounds, note = [order[:limit]], "left out by the prefilter"
    else:
        size = policy.max_candidates
        starts = range(0, count, size)[: policy.max_rounds]
        rounds = [order[start : start + size] for start in starts]
        note = f"left out after {len(rounds)} rounds"
    asked = {at for part in rounds for at in part}
    if policy.fallback in candidates.names:
        fallback = candidates.names.index(policy.fallback)
        for part in rounds:
            if fallback not in part:
                part.append(fallback)
        asked.add(fallback)
    left_out = [at for at in range(count) if at not in asked]
    return RoundPlan([sorted(part) for part in rounds], left_out, note)


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
    ask = score_each if candidates.policy.strategy == "each" else ask_combined
    scoreboard, result = await ask(candidates, question, calls)
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
