"""Result of a selection, with the reason for it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Unpack

    from .._core import ToolEntry, UsageUpdate
    from ..handlers import HandlerOptions, HandlerRun
    from ._policy import SelectionPolicy
    from ._sources import ToolSource

Decision: TypeAlias = Literal["threshold", "early_stop", "single", "fallback", "none"]
"""Rule that decided: a score, a single tool, or the lack of a better one."""

_MAX_WIDTH = 60


@dataclass(frozen=True, init=False)
class Score:
    """Score of one tool."""

    tool: ToolEntry
    """The tool."""
    score: float | None
    """Score from 0 to 100; None if there is none."""
    parameters: dict[str, Any]
    """Parameters for its handler, as far as a reply gave them."""
    error: str | None
    """Reason why there is no score, or why the parameters are invalid."""
    note: str
    """Reason why there is no score although nothing failed."""
    reply: str | Mapping[str, Any] | None = field(repr=False, compare=False)
    """Reply about the tool as received, including members that its structure does not name."""

    def __init__(
        self,
        tool: ToolEntry,
        score: float | None = None,
        parameters: dict[str, Any] | None = None,
        error: str | None = None,
        note: str = "",
        reply: str | Mapping[str, Any] | None = None,
    ) -> None:
        # One is created for each tool and query, and the generated method of a frozen dataclass
        # takes three times as long.
        fields = self.__dict__
        fields["tool"] = tool
        fields["score"] = score
        fields["parameters"] = {} if parameters is None else parameters
        fields["error"] = error
        fields["note"] = note
        fields["reply"] = reply


@dataclass(frozen=True)
class Selection:
    """Tool selected for a query, with the ranking and the reason."""

    query: str
    """The query."""
    item_type: str
    """Type of the query, in its short form."""
    site: str | None
    """Site of the query, if any."""
    tool: ToolEntry | None
    """Selected tool; None if no tool reached the threshold and there is no fallback."""
    score: float | None
    """Score of the tool, from 0 to 100; None for a fallback without a score."""
    parameters: dict[str, Any]
    """Parameters for the handler of the tool."""
    ranking: tuple[Score, ...]
    """All applicable tools, the best first: those with scores, then the others."""
    decision: Decision
    """Rule that decided."""
    reason: str
    """Reason for the decision, as a sentence."""
    ties: tuple[ToolEntry, ...]
    """Other tools with the same score as the winner."""
    strategy: str
    """Strategy of the policy, or ``single`` if there was only one tool."""
    calls: int
    """Number of calls made, including cancelled ones."""
    usage: UsageUpdate | None
    """Tokens used, as far as the model reported them."""
    duration: float
    """Duration in seconds."""
    policy: SelectionPolicy = field(repr=False)
    """Policy of the selector."""
    registry: ToolSource = field(repr=False, compare=False)
    """Registry that has the tools."""
    identified: bool = False
    """True if a model was asked for the type, since the caller gave none."""
    type_note: str = ""
    """Remark on the type: that it was identified, could not be identified, or is unknown."""
    cached: bool = False
    """True if it comes from the cache or was shared with an identical question in flight."""

    @property
    def fallback(self) -> bool:
        """True if no tool reached the threshold."""
        return self.decision in ("fallback", "none")

    @property
    def errors(self) -> tuple[Score, ...]:
        """Entries of the ranking with an error."""
        return tuple(score for score in self.ranking if score.error is not None)

    @property
    def top(self) -> tuple[Score, ...]:
        """Best tools that reach the threshold, else the fallback; at most ``policy.top``."""
        if self.fallback:
            return tuple(one for one in self.ranking if one.tool is self.tool)
        threshold = self.policy.threshold
        good = [one for one in self.ranking if one.score is not None and one.score >= threshold]
        return tuple(good[: self.policy.top])

    async def run(
        self,
        handler: object = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        **options: Unpack[HandlerOptions],
    ) -> HandlerRun:
        """Run the tool with `toolweave.handlers.run_handler`.

        Args:
            handler: The application's object for the tool's handler.
            parameters: Parameters that replace those of the selection.
            **options: The options of `run_handler`. ``allowed_handlers``, and the ``fallback`` for
                a tool that cannot start, default to those of the policy.

        Returns:
            The tool that ran and its return value.

        Raises:
            LookupError: There is no tool to run.
            Exception: Any exception of `run_handler`.
        """
        from ..handlers import run_handler

        if self.tool is None:
            raise LookupError(f"no tool was selected, so there is none to run: {self.reason}")
        given: HandlerOptions = {
            "allowed_handlers": self.policy.allowed_handlers,
            "fallback": self.policy.fallback,
            **options,
        }
        return await run_handler(self.registry, self, parameters, handler, **given)

    def explain(self) -> str:
        """Return the ranking as a table, with the reason and the cost."""
        kind = self.item_type if self.site is None else f"{self.item_type}, {self.site}"
        chosen = "no tool" if self.tool is None else self.tool.name
        lines = [_line(f"{_quoted(self.query)} ({kind}) -> {chosen}"), _line(self.reason)]
        lines += [_line(self.type_note), ""] if self.type_note else [""]
        lines += _table([_row(place, one) for place, one in enumerate(self.ranking, 1)])
        if self.ranking:
            lines.append("")
        return "\n".join([*lines, self._took()])

    def __str__(self) -> str:
        return self.explain()

    def _took(self) -> str:
        took = f"strategy {self.strategy}, {_count(self.calls, 'call')}, {self.duration:.3g} s"
        if self.usage is not None:
            took += f", {self.usage.input_tokens} tokens in and {self.usage.output_tokens} out"
        return f"{took}, kept from before" if self.cached else took


def _row(place: int, one: Score) -> tuple[str, ...]:
    why = one.error or one.note
    if one.parameters:
        shown = json.dumps(one.parameters, ensure_ascii=False)
        why = f"{shown}; {why}" if why else shown
    score = "-" if one.score is None else f"{one.score:g}"
    return (str(place), one.tool.name, score, one.tool.type, why)


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Return rows in aligned columns; the last column has no maximum width."""
    if not rows:
        return []
    rows = [("", "tool", "score", "from", "parameters, or why not"), *rows]
    rows = [tuple(_line(cell) for cell in row) for row in rows]
    widths = [min(_MAX_WIDTH, max(len(row[at]) for row in rows)) for at in range(4)]
    return [
        (
            f"{row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  "
            f"{row[3]:<{widths[3]}}  {row[4]}"
        ).rstrip()
        for row in rows
    ]


def _line(text: str) -> str:
    """Replace control characters, since names and replies are untrusted."""
    return "".join(char if char.isprintable() else " " for char in text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
