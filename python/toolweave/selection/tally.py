"""What has been found out about the tools of an offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .result import Score

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._core import RankingResult, ScoreReading
    from .offer import Offer


class Tally:
    """Scores, parameters and errors, by position.

    Args:
        offer: The tools.
        note: What is said of tools that nothing is found out about.
    """

    def __init__(self, offer: Offer, note: str) -> None:
        count = len(offer.tools)
        self.scores: list[float | None] = [None] * count
        """The scores."""
        self.parameters: list[dict[str, Any]] = [{} for _ in range(count)]
        """What the handlers are to be given."""
        self.errors: list[str | None] = [None] * count
        """What went wrong."""
        self.notes = [note] * count
        """Why there is no score where nothing went wrong."""
        self.unread = False
        """Whether a reply about all tools could not be used."""
        self._offer = offer

    def read(self, position: int, reading: ScoreReading) -> float | None:
        """Takes down what a reply says about a tool; gives its score."""
        self.scores[position] = reading.score
        self.parameters[position] = reading.parameters
        self.errors[position] = reading.error
        return reading.score

    def fail(self, error: str, positions: Iterable[int] | None = None) -> None:
        """Takes down what went wrong, with these tools or with all."""
        for at in range(len(self.errors)) if positions is None else positions:
            self.errors[at] = error

    def rank(self, order: Iterable[int]) -> tuple[Score, ...]:
        """All that is known about the tools, in this order."""
        return tuple(
            Score(
                self._offer.tools[at],
                self.scores[at],
                self.parameters[at],
                self.errors[at],
                "" if self.scores[at] is not None or self.errors[at] else self.notes[at],
            )
            for at in order
        )


class Decided:
    """Which tool won, and what is known about all."""

    __slots__ = ("result", "tally")

    def __init__(self, tally: Tally, result: RankingResult) -> None:
        self.tally = tally
        self.result = result
