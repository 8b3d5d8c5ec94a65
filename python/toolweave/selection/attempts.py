"""One question about several tools, put again where the reply cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .listed import asked
from .scorer import ScorerRequest
from .tally import Decided, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .calls import Calls
    from .offer import Offer
    from .policy import Strategy
    from .question import Question


class Fault(NamedTuple):
    """A fault of a reply."""

    error: str
    """The same as a sentence, which a model is told that is asked again."""
    usable: bool = False
    """True if the reply has scores all the same: only parameters do not fit."""


class Listing(NamedTuple):
    """A way to ask about all tools at once."""

    strategy: Strategy
    parts: Callable[[Offer], tuple[str, dict[str, Any]]]
    """The first part of the prompt and the schema of the reply: the same for every query."""
    read: Callable[[Offer, Tally, str | Mapping[str, Any]], Fault | None]
    """Takes down what a reply says; gives what is wrong with it."""
    silence: str
    """The note on a tool that the reply says nothing of."""


async def ask_at_once(listing: Listing, offer: Offer, question: Question, calls: Calls) -> Decided:
    """Asks about all tools.

    Where the reply cannot be used, the model is told why and asked again, as often as the policy
    says. A score whose parameters do not fit counts in the end, with what is wrong with them.

    Args:
        listing: How to ask.
        offer: The tools.
        question: What is asked.
        calls: Makes the calls; whoever made it closes it.
    """
    if listing.strategy not in offer.kept:
        offer.kept[listing.strategy] = listing.parts(offer)
    head, schema = offer.kept[listing.strategy]
    best: Tally | None = None
    error: str | None = None
    for _ in range(offer.policy.attempts):
        prompt = asked(head, offer, question, error)
        request = ScorerRequest(prompt, schema, listing.strategy, question.query, offer.tools)
        calls.start([(0, request)])
        [(_, (content, error))] = await calls.next()
        if content is None:
            break
        tally = Tally(offer, listing.silence)
        fault = listing.read(offer, tally, content)
        if fault is None or fault.usable:
            best = tally
        if fault is None:
            break
        error = fault.error
    if best is None:
        best = Tally(offer, listing.silence)
        best.unread = True
        best.fail(error or "no reply")
    tally = best
    ranking = offer.ranking()
    ranking.offer(list(enumerate(tally.scores)))
    return Decided(tally, ranking.finish())
