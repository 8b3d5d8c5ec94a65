"""Which tools a model is asked about: those that the words of the query find, or more.

Words only narrow the choice where they say enough. A query in another language, or one that says
the same in other words, has hardly a word in common with the tool that it is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .candidates import Candidates

ENOUGH = 0.5
"""The share of the words of a query that the tools have to have that are asked about alone."""


class RoundPlan(NamedTuple):
    """The tools that a model is asked about, by their positions."""

    rounds: list[list[int]]
    """The tools of each question; a tool is in one of them only, but for the fallback."""
    left_out: list[int]
    """The other tools."""
    note: str
    """Why they are left out."""


def best_by_words(candidates: Candidates, query: str, limit: int) -> list[int]:
    """The tools that have most of what the query says, by BM25, the best first.

    Fewer where fewer have any word of it.

    Args:
        offer: The tools.
        query: The query.
        limit: How many.
    """
    return [at for at, _ in candidates.index.search(query, limit)]


def plan_rounds(candidates: Candidates, query: str) -> RoundPlan:
    """The tools that a model is asked about, each question in document order.

    Where there are more than ``prefilter`` tools, and the best of them by words have at least
    `ENOUGH` of what the query says, these are asked about, and the fallback. Otherwise all are, up
    to ``max_candidates`` in one question, and in up to ``max_rounds`` of them.

    Args:
        offer: The tools.
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
