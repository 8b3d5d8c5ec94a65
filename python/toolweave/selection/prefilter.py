"""Which tools to ask about, by the words of the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .offer import Offer


def best_by_words(offer: Offer, query: str, limit: int) -> list[int]:
    """The tools that have most of what the query says, by BM25, the best first.

    Fewer where fewer have any word of it.

    Args:
        offer: The tools.
        query: The query.
        limit: How many.
    """
    return [at for at, _ in offer.index.search(query, limit)]


def prefilter(offer: Offer, query: str, limit: int) -> list[int]:
    """The tools that a model is asked about: `limit` of them, in document order, and the fallback.

    Where too few have a word of the query, the first ones in the document fill up.

    Args:
        offer: The tools.
        query: The query.
        limit: How many.
    """
    kept = dict.fromkeys(best_by_words(offer, query, limit))
    for at in range(len(offer.tools)):
        if len(kept) >= limit:
            break
        kept[at] = None
    if offer.policy.fallback in offer.names:
        kept[offer.names.index(offer.policy.fallback)] = None
    return sorted(kept)
