"""Scores of candidates, by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._result import Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .._core import RankingResult, ScoredReply
    from ._candidates import Candidates


class Scoreboard:
    """Scores of candidates, by position.

    Args:
        candidates: The tools.
        note: The note on tools without a score or an error.
    """

    def __init__(self, candidates: Candidates, note: str) -> None:
        self.results: list[Score | None] = [None] * len(candidates.tools)
        """Scores and errors; None for tools that have neither."""
        self.unreadable = False
        """True if the reply about all tools was invalid."""
        self._candidates = candidates
        self._note = note

    @property
    def scores(self) -> list[float | None]:
        """Scores of the tools; None for tools without one."""
        return [None if one is None else one.score for one in self.results]

    def read(
        self,
        position: int,
        reading: ScoredReply,
        reply: str | Mapping[str, Any],
        score: float | None = None,
    ) -> Score:
        """Record the score of a tool from a reply.

        Errors in the parameters of a tool below the threshold are ignored, since a model is asked
        for the parameters of the others only.

        Args:
            position: The position of the tool.
            reading: The score and parameters read from the reply.
            reply: The reply as received.
            score: The score, if it has been read already.
        """
        error = reading.error
        if score is None:
            score = reading.score
        if score is not None and score < self._candidates.threshold:
            error = None
        tool = self._candidates.tools[position]
        found = self.results[position] = Score(tool, score, reading.parameters, error, reply=reply)
        return found

    def fail(self, error: str, positions: Iterable[int] | None = None) -> None:
        """Record an error for the given tools, or for all."""
        tools = self._candidates.tools
        for at in range(len(tools)) if positions is None else positions:
            self.results[at] = Score(tools[at], error=error)

    def rank(self, order: Iterable[int]) -> tuple[Score, ...]:
        """Return the scores in the given order."""
        tools, results = self._candidates.tools, self.results
        return tuple([results[at] or Score(tools[at], note=self._note) for at in order])


class StrategyResult:
    """Scores of a strategy, with the ranking."""

    __slots__ = ("result", "scoreboard")

    def __init__(self, scoreboard: Scoreboard, result: RankingResult) -> None:
        self.scoreboard = scoreboard
        self.result = result
