"""Construction of the `Selection` that a caller receives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ._result import Score, Selection
from ._sources import snapshot_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core import ToolEntry
    from ._calls import CallScheduler
    from ._candidates import Candidates
    from ._identify import IdentifiedType
    from ._policy import SelectionPolicy
    from ._prompts import Question
    from ._result import Decision
    from ._rounds import RoundResult
    from ._sources import ToolSource

_QUERY_PARAMETERS = ("search_query", "query")


class SelectionBuilder:
    """Builder of the selection that answers a question.

    Args:
        question: The question.
        registry: The registry that has the tools.
        policy: The policy of the selector.
        note: The remark on the type; see `type_note`.
    """

    def __init__(
        self, question: Question, registry: ToolSource, policy: SelectionPolicy, note: TypeNote
    ) -> None:
        self._question = question
        self._policy = policy
        self._registry = registry
        self._note = note

    def without_model(
        self, candidates: Candidates, calls: CallScheduler | None, duration: float
    ) -> Selection:
        """Return the selection among at most one tool, without asking a model."""
        if not candidates.tools:
            reason = f"There are no tools for the type {self._about()}."
            return self._selection(calls, duration, "none", reason)
        return self._single(Score(candidates.tools[0]), calls, duration)

    def from_result(
        self, candidates: Candidates, result: RoundResult, calls: CallScheduler, duration: float
    ) -> Selection:
        """Return the selection from the scores of a model."""
        if len(candidates.tools) == 1:
            return self._single(result.ranking[0], calls, duration)
        winner = result.winner
        if winner is not None and result.decision == "fallback":
            winner = self._with_query(winner)
        return self._selection(
            calls,
            duration,
            result.decision,
            self._reason(result),
            winner=winner,
            ranking=result.ranking,
            ties=tuple(one.tool for one in result.ties),
            strategy=self._policy.strategy,
        )

    def _single(self, found: Score, calls: CallScheduler | None, duration: float) -> Selection:
        """Return the selection of the only tool: only its parameters matter, not its score."""
        reason = f"{found.tool.name} is the only tool for the type {self._about()}."
        if found.error is not None:
            reason += f" Its parameters are not complete: {found.error}."
        only = self._with_query(Score(found.tool, 100.0, found.parameters, found.error))
        winner = Score(only.tool, 100.0, dict(only.parameters))
        return self._selection(calls, duration, "single", reason, winner=winner, ranking=(only,))

    def _selection(
        self,
        calls: CallScheduler | None,
        duration: float,
        decision: Decision,
        reason: str,
        *,
        winner: Score | None = None,
        ranking: tuple[Score, ...] = (),
        ties: tuple[ToolEntry, ...] = (),
        strategy: str = "single",
    ) -> Selection:
        question = self._question
        return Selection(
            query=question.query,
            item_type=question.item_type,
            site=question.site,
            tool=None if winner is None else winner.tool,
            score=None if winner is None else winner.score,
            parameters={} if winner is None else winner.parameters,
            ranking=ranking,
            decision=decision,
            reason=reason,
            ties=ties,
            strategy=strategy,
            calls=0 if calls is None else calls.started,
            usage=None if calls is None else calls.usage,
            duration=duration,
            policy=self._policy,
            registry=self._registry,
            identified=self._note.identified,
            type_note=self._note.text,
        )

    def _with_query(self, found: Score) -> Score:
        """Fill the query into the search parameters of a tool that no reply has filled."""
        properties: Mapping[str, Any] = found.tool.parameters.get("properties") or {}
        known = {
            name: self._question.query
            for name in _QUERY_PARAMETERS
            if name not in found.parameters and _takes_text(properties.get(name))
        }
        return Score(found.tool, found.score, {**found.parameters, **known}, found.error)

    def _about(self) -> str:
        question = self._question
        about = question.item_type
        return about if question.site is None else f"{about} at the site {question.site}"

    def _reason(self, result: RoundResult) -> str:
        policy, tool = self._policy, None if result.winner is None else result.winner.tool
        need = f"the threshold of {policy.threshold:g}"
        # The winner's, unless it is the fallback.
        first = result.ranking[0]
        if first.score is not None and result.decision == "early_stop":
            return (
                f"{first.tool.name} scored {first.score:g}: enough to stop at "
                f"({policy.early_stop:g})."
            )
        if first.score is not None and result.decision == "threshold":
            won = f"{first.tool.name} has the highest score, {first.score:g}, which reaches {need}"
            also = ", ".join(tied.tool.name for tied in result.ties)
            return f"{won}; tied with {also}." if also else f"{won}."
        if result.unreadable:
            why = f"No score could be had ({first.error})"
        elif first.score is None:
            why = "No tool has a score"
        else:
            why = f"The best score, {first.score:g} of {first.tool.name}, is below {need}"
        if tool is not None:
            return f"{why}, so it is the fallback {tool.name}."
        if policy.fallback is None:
            return f"{why}, and there is no fallback."
        return f"{why}, and the fallback {policy.fallback} is not among the tools."


class TypeNote(NamedTuple):
    """Remark on the type of a question."""

    text: str = ""
    """A sentence, or an empty string."""
    identified: bool = False
    """True if a model was asked for the type."""


def type_note(
    source: ToolSource, question: Question, found: IdentifiedType | None = None
) -> TypeNote:
    """Return a remark on a type that a model identified, or that is unknown.

    Args:
        source: The registry.
        question: The question, with its type.
        found: The outcome of the identification, if a model was asked for the type.
    """
    name = question.item_type
    if found is not None:
        if found.error is not None:
            text = f"The type could not be identified ({found.error}), so it is {name}."
        else:
            text = f"The model says that the query is about the type {name}."
        return TypeNote(text, identified=True)
    suggest_type: object = getattr(snapshot_of(source), "suggest_type", None)
    meant = None
    if callable(suggest_type):
        meant = cast("Callable[[str], str | None]", suggest_type)(name)
    if meant is None:
        return TypeNote()
    return TypeNote(f"There is no type {name!r}, so it has the tools of Thing; {meant!r} is one.")


def _takes_text(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    return cast("Mapping[str, object]", schema).get("type") == "string"
