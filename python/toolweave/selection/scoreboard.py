"""The findings about the tools of an offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .result import Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .._core import RankingResult, ScoredReply
    from .candidates import Candidates


class Scoreboard:
    """The findings about each tool, by position.

    Args:
        offer: The tools.
        note: What is said of tools that nothing is found out about.
    """

    def __init__(self, candidates: Candidates, note: str) -> None:
        self.results: list[Score | None] = [None] * len(candidates.tools)
        """The findings; None where there are none."""
        self.unreadable = False
        """True if a reply about all tools could not be used."""
        self._candidates = candidates
        self._note = note

    @property
    def scores(self) -> list[float | None]:
        """The scores, as far as there are any."""
        return [None if one is None else one.score for one in self.results]

    def read(
        self,
        position: int,
        reading: ScoredReply,
        reply: str | Mapping[str, Any],
        score: float | None = None,
    ) -> Score:
        """Take down what a reply says about a tool.

        The parameters of a tool that does not reach the threshold do not matter: a model is asked
        for those of the others only.

        Args:
            position: The tool.
            reading: What the reply says.
            reply: The reply as it came.
            score: The score, where it has been read already.
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
        """Takes down what went wrong, with these tools or with all."""
        tools = self._candidates.tools
        for at in range(len(tools)) if positions is None else positions:
            self.results[at] = Score(tools[at], error=error)

    def rank(self, order: Iterable[int]) -> tuple[Score, ...]:
        """All that is known about the tools, in this order."""
        tools, results = self._candidates.tools, self.results
        return tuple([results[at] or Score(tools[at], note=self._note) for at in order])


class StrategyResult:
    """Which tool won, and what is known about all."""

    __slots__ = ("result", "scoreboard")

    def __init__(self, scoreboard: Scoreboard, result: RankingResult) -> None:
        self.scoreboard = scoreboard
        self.result = result
