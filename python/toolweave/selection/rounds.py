"""One question about some tools, or several of them and a last one about their winners."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .batch import score_batch
from .plan_rounds import plan_rounds
from .choose import choose
from .each import score_each
from .result import Score

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from .calls import Calls
    from .offer import Offer
    from .question import Question
    from .result import Decision
    from .tally import Decided

_STRATEGIES: dict[str, Callable[[Offer, Question, Calls], Awaitable[Decided]]] = {
    "choose": choose,
    "each": score_each,
    "batch": score_batch,
}


class Choice(NamedTuple):
    """Which tool won, and what was found out about all of them."""

    winner: Score | None
    """The winner, or the fallback; None if there is neither."""
    decision: Decision
    """The rule that decided."""
    ties: tuple[Score, ...]
    """Others with the winner's very score."""
    ranking: tuple[Score, ...]
    """All tools, the best first."""
    unread: bool
    """True if a reply about several tools could not be used."""


async def decide(offer: Offer, question: Question, calls: Calls) -> Choice:
    """Ask about the tools that the query may be for.

    Args:
        offer: The tools.
        question: What is asked.
        calls: Makes the calls; whoever made it closes it.
    """
    asked = plan_rounds(offer, question.query)
    if len(asked.rounds[0]) == len(offer.tools):
        # What is worked out about them is kept.
        return await _play(offer, question, calls)
    left_out = [Score(offer.tools[at], note=asked.note) for at in asked.left_out]
    played: list[Choice] = []
    for part in asked.rounds:
        played.append(await _play(offer.part(part), question, calls))
        if _is_enough(offer, played[-1]):
            break
    if len(played) == 1 == len(asked.rounds):
        return _with_others(played[0], left_out)
    left_out += [Score(tool, note="not asked about: another tool had won") for tool in offer.tools]
    # That the fallback is best among some says nothing of the others.
    winners = [one for one in played if _has_won(one) and _name(one) != offer.policy.fallback]
    if len(winners) < 2:
        last = winners[0] if winners else _best(played)
    elif offer.policy.strategy == "each":
        # Each score is of one tool alone, whichever others were asked about.
        last = _best(winners)
    else:
        names = {*map(_name, winners), offer.policy.fallback}
        part = [at for at, name in enumerate(offer.names) if name in names]
        last = await _play(offer.part(part), question, calls)
        if last.unread:
            # Each has won once: the best of these scores is as good as can be had.
            last = _best(winners)
    others = [score for one in played if one is not last for score in one.ranking]
    others.sort(key=lambda one: (one.score is None, -(one.score or 0.0)))
    return _with_others(last, [*others, *left_out])


def _has_won(choice: Choice) -> bool:
    return choice.decision not in ("fallback", "none")


def _is_enough(offer: Offer, choice: Choice) -> bool:
    """True if no more tools are asked about: one has a score to stop at, which is its own."""
    policy, winner = offer.policy, choice.winner
    if policy.strategy != "each" or policy.early_stop is None or winner is None:
        return False
    if not _has_won(choice) or winner.tool.name == policy.fallback:
        return False
    return winner.score is not None and winner.score >= policy.early_stop


def _name(choice: Choice) -> str | None:
    return None if choice.winner is None else choice.winner.tool.name


def _best(winners: Sequence[Choice]) -> Choice:
    return max(winners, key=lambda one: (one.winner and one.winner.score) or 0.0)


async def _play(offer: Offer, question: Question, calls: Calls) -> Choice:
    decided = await _STRATEGIES[offer.policy.strategy](offer, question, calls)
    result, tally = decided.result, decided.tally
    ranking = tally.rank(result.order)
    winner = None
    if result.winner is not None:
        tool = offer.tools[result.winner]
        winner = tally.found[result.winner] or Score(tool)
    ties = tuple(found for at in result.ties if (found := tally.found[at]) is not None)
    return Choice(winner, result.reason, ties, ranking, tally.unread)


def _with_others(choice: Choice, others: Sequence[Score]) -> Choice:
    """The same with what is known of tools that it was not about."""
    ranked = {id(one.tool) for one in choice.ranking}
    more: list[Score] = []
    for one in others:
        if id(one.tool) not in ranked:
            ranked.add(id(one.tool))
            more.append(one)
    return choice._replace(ranking=(*choice.ranking, *more))
