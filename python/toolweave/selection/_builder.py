"""Construction of the `Selection` that a caller receives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ._result import Score, Selection
from ._sources import snapshot_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core import ToolEntry
    from ._calls import CallScheduler
    from ._candidates import Candidates
    from ._identify import IdentifiedType
    from ._policy import SelectionPolicy
    from ._question import Question
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
            return self._selection(None, None, {}, (), "none", reason, "single", calls, duration)
        tool = candidates.tools[0]
        parameters = _fill_query(tool, {}, self._question.query)
        return self._single(Score(tool, 100.0, parameters), calls, duration)

    def from_result(
        self, candidates: Candidates, result: RoundResult, calls: CallScheduler, duration: float
    ) -> Selection:
        """Return the selection from the scores of a model."""
        query = self._question.query
        if len(candidates.tools) == 1:
            # With a single tool only its parameters matter, not its score.
            [found] = result.ranking
            parameters = _fill_query(found.tool, found.parameters, query)
            return self._single(Score(found.tool, 100.0, parameters, found.error), calls, duration)
        winner, decision = result.winner, result.decision
        tool = None if winner is None else winner.tool
        score = None if winner is None else winner.score
        parameters = {} if winner is None else winner.parameters
        if tool is not None and decision == "fallback":
            parameters = _fill_query(tool, parameters, query)
        return self._selection(
            tool,
            score,
            parameters,
            result.ranking,
            decision,
            self._reason(result),
            self._policy.strategy,
            calls,
            duration,
            ties=tuple(one.tool for one in result.ties),
        )

    def _single(self, found: Score, calls: CallScheduler | None, duration: float) -> Selection:
        tool, parameters = found.tool, dict(found.parameters)
        reason = f"{tool.name} is the only tool for the type {self._about()}."
        if found.error is not None:
            reason += f" Its parameters are not complete: {found.error}."
        ranking = (found,)
        return self._selection(
            tool, 100.0, parameters, ranking, "single", reason, "single", calls, duration
        )

    def _selection(
        self,
        tool: ToolEntry | None,
        score: float | None,
        parameters: dict[str, Any],
        ranking: tuple[Score, ...],
        decision: Any,
        reason: str,
        strategy: str,
        calls: CallScheduler | None,
        duration: float,
        ties: tuple[ToolEntry, ...] = (),
    ) -> Selection:
        question = self._question
        return Selection(
            query=question.query,
            item_type=question.item_type,
            site=question.site,
            tool=tool,
            score=score,
            parameters=parameters,
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


class TypeNote:
    """Remark on the type of a question."""

    def __init__(self, text: str = "", *, identified: bool = False) -> None:
        self.text = text
        """A sentence, or an empty string."""
        self.identified = identified
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


def _fill_query(tool: ToolEntry, parameters: dict[str, Any], query: str) -> dict[str, Any]:
    """Fill the query into the search parameters of a tool that no reply has filled."""
    properties: Mapping[str, Any] = tool.parameters.get("properties") or {}
    known = {
        name: query
        for name in _QUERY_PARAMETERS
        if name not in parameters and _takes_text(properties.get(name))
    }
    return {**parameters, **known}


def _takes_text(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return False
    return cast("Mapping[str, object]", schema).get("type") == "string"
