"""One request about several tools, repeated when the reply is invalid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ._prompts import build_prompt
from ._scoreboard import Scoreboard, StrategyResult
from ._scorer import ScorerRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ._calls import CallScheduler
    from ._candidates import Candidates
    from ._policy import Strategy
    from ._question import Question


class ReplyProblem(NamedTuple):
    """Reply that cannot be used, or only its scores."""

    error: str
    """Error as a sentence, for the model that is asked again."""
    has_scores: bool = False
    """True if the scores are valid and only parameters do not match their schema."""


class CombinedStrategy(NamedTuple):
    """Strategy that asks about all tools in one request."""

    name: Strategy
    build: Callable[[Candidates], tuple[str, dict[str, Any]]]
    """Function that builds the start of the prompt and the schema of the reply. Both are the same
    for every query."""
    read: Callable[[Candidates, Scoreboard, str | Mapping[str, Any]], ReplyProblem | None]
    """Function that records the scores of a reply and returns what is wrong with it."""
    missing_note: str
    """Note on a tool that the reply does not mention."""


async def ask_combined(
    strategy: CombinedStrategy, candidates: Candidates, question: Question, calls: CallScheduler
) -> StrategyResult:
    """Ask about all tools in one request.

    If the reply is invalid, the model is asked again with the reason, up to the number of attempts
    of the policy. After the last attempt, a score with invalid parameters still counts and is
    reported with the error.

    Args:
        strategy: The strategy that builds the request and reads the reply.
        candidates: The tools.
        question: The query and its context.
        calls: The scheduler that makes the calls. The caller closes it.
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
