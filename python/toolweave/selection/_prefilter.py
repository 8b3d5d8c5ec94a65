"""Prefilter that selects tools by the words of the query before a model is asked.

It narrows the choice only if the tools it finds cover enough of the query. A query in another
language, or a paraphrase, may share hardly a word with the tool that it is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ._candidates import Candidates

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
