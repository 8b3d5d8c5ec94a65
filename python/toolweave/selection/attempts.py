"""One question about several tools, put again where the reply cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .prompts import build_prompt
from .scoreboard import Scoreboard, StrategyResult
from .scorer import ScorerRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .calls import CallScheduler
    from .candidates import Candidates
    from .policy import Strategy
    from .question import Question


class InvalidReply(NamedTuple):
    """Reply that cannot be used, or only its scores."""

    error: str
    """The same as a sentence, which a model is told that is asked again."""
    has_scores: bool = False
    """True if the reply has scores all the same: only parameters do not fit."""


class CombinedStrategy(NamedTuple):
    """A way to ask about all tools at once."""

    name: Strategy
    build: Callable[[Candidates], tuple[str, dict[str, Any]]]
    """The first part of the prompt and the schema of the reply: the same for every query."""
    read: Callable[[Candidates, Scoreboard, str | Mapping[str, Any]], InvalidReply | None]
    """Takes down what a reply says; gives what is wrong with it."""
    missing_note: str
    """The note on a tool that the reply says nothing of."""


async def ask_combined(
    strategy: CombinedStrategy, candidates: Candidates, question: Question, calls: CallScheduler
) -> StrategyResult:
    """Asks about all tools.

    Where the reply cannot be used, the model is told why and asked again, as often as the policy
    says. A score whose parameters do not fit counts in the end, with what is wrong with them.

    Args:
        strategy: How to ask.
        offer: The tools.
        question: What is asked.
        calls: Makes the calls; whoever made it closes it.
    """
    if strategy.name not in candidates.prompt_cache:
        candidates.prompt_cache[strategy.name] = strategy.build(candidates)
    head, schema = candidates.prompt_cache[strategy.name]
    best: Scoreboard | None = None
    error: str | None = None
    for _ in range(candidates.policy.attempts):
        prompt = build_prompt(head, candidates, question, error)
        request = ScorerRequest(prompt, schema, strategy.name, question.query, candidates.tools)
        calls.start([(0, request)])
        [(_, (content, error))] = await calls.next()
        if content is None:
            break
        scoreboard = Scoreboard(candidates, strategy.missing_note)
        invalid = strategy.read(candidates, scoreboard, content)
        if invalid is None or invalid.has_scores:
            best = scoreboard
        if invalid is None:
            break
        error = invalid.error
    if best is None:
        best = Scoreboard(candidates, strategy.missing_note)
        best.unreadable = True
        best.fail(error or "no reply")
    scoreboard = best
    ranking = candidates.ranking()
    ranking.offer(list(enumerate(scoreboard.scores)))
    return StrategyResult(scoreboard, ranking.finish())
