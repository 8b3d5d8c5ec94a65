"""Scores, and the ranking of tools by them."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, final

from typing_extensions import Self

from .call import Repair
from .validator import Violation

@final
class ScoredReply:
    """The parsed reply to a scoring prompt.

    Score and parameters are independent: if the parameters are invalid, the tool can still be
    ranked by its score, and `violations` lists the defects.
    """

    __match_args__ = ("score", "parameters", "error")
    __hash__: ClassVar[None]  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def score(self) -> float | None:
        """The score from 0 to 100; None if there is no valid one."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The rest of the reply, repaired. It is valid if there are no `violations`."""

    @property
    def error(self) -> str | None:
        """The reason why there is no score or, if there is one, why the parameters are invalid."""

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The violations of the schema by the parameters."""

    @property
    def ignored(self) -> tuple[str, ...]:
        """The members of the reply that are not among the parameters.

        These are members that the schema does not have, and optional members that are null although
        the schema requires a value.
        """

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """The repairs."""

@final
class ReplyReader:
    """A reader of replies that should match the schema of a `returnStruc`.

    A score may be ``85``, ``85.0``, ``"85"``, ``"85.5"`` or ``"85%"``, and is clamped to the range
    from 0 to 100. It is the member ``score`` or, without one, the only member with that name in
    another case. The rest is validated by the schema without the score, and repaired if it is
    invalid. The object may be in a fence, between sentences or after reasoning in ``<think>``, and
    its syntax is repaired if necessary.

    Args:
        schema: The schema; None accepts any object.

    Raises:
        SchemaError: `schema` is not a JSON Schema.
    """

    def __new__(cls, schema: Mapping[str, Any] | None = None) -> Self: ...
    def read(self, reply: str | Mapping[str, Any]) -> ScoredReply:
        """Read a reply. This never raises; defects are reported in the result."""

@final
class RankingResult:
    """The winner of a ranking, and the order of all tools.

    After an early stop, a score that arrives late may be higher than that of the winner; its tool
    then precedes the winner in the order.
    """

    __match_args__ = ("winner", "order", "reason", "ties")

    def __new__(
        cls,
        winner: int | None,
        order: Iterable[int],
        reason: Literal["threshold", "early_stop", "fallback", "none"],
        ties: Iterable[int],
    ) -> Self: ...
    @property
    def winner(self) -> int | None:
        """The position of the winner."""

    @property
    def order(self) -> tuple[int, ...]:
        """All positions: those with scores, best first, then failed and unfinished ones."""

    @property
    def reason(self) -> Literal["threshold", "early_stop", "fallback", "none"]:
        """The rule that decided; ``early_stop`` means that other scores were not awaited."""

    @property
    def ties(self) -> tuple[int, ...]:
        """The other tools with the winner's score, best first. Empty for a fallback."""

    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> RankingResult: ...

@final
class Ranking:
    """A ranking of tools by their scores, independent of the order of arrival.

    The highest score that reaches the threshold wins. Ties go to the more specific tool, then to
    the first one in `names`. So the same scores give the same winner in any order, unless one of
    them causes an early stop.

    Args:
        names: The tools, in document order. Elsewhere, a tool is identified by its position in it.
        specificity: The specificity of each tool; the greater wins. Equal by default.
        threshold: The lowest score that wins.
        early_stop: The lowest score that ends the wait for others; it must reach `threshold` as
            well. None waits for all.
        fallback: The tool that is selected if no score reaches `threshold`, even if it failed.

    Raises:
        ValueError: The number of specificities differs from that of names, or a limit is not
            finite.

    Example:
        >>> ranking = Ranking(["search", "details"])
        >>> ranking.offer([(1, 85.0)])
        False
        >>> ranking.offer([(0, None)])
        True
        >>> ranking.finish().winner
        1
    """

    def __new__(
        cls,
        names: Iterable[str],
        specificity: Iterable[int] | None = None,
        *,
        threshold: float = 70.0,
        early_stop: float | None = 90.0,
        fallback: str | None = "search",
    ) -> Self: ...
    def offer(self, outcomes: Iterable[tuple[int, float | None]]) -> bool:
        """Add outcomes that arrived together: scores, or None for a failure.

        Returns:
            True once the result is final, because a score causes an early stop or all outcomes have
            arrived. Later outcomes are ranked, but do not change the winner.

        Raises:
            IndexError: There is no tool at a position.
            ValueError: A tool has an outcome already.
        """

    def finish(self) -> RankingResult:
        """Return the result so far. Outcomes that have not arrived count as failed."""
