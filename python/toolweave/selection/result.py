"""What a selection came to, and why."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Unpack

    from .._core import ToolEntry, UsageUpdate
    from ..handlers import HandlerOptions, HandlerRun
    from .policy import SelectionPolicy
    from .sources import ToolSource

Decision: TypeAlias = Literal["threshold", "early_stop", "single", "fallback", "none"]
"""What decided: a score, being alone, or that there was nothing better."""

_WIDEST = 60


@dataclass(frozen=True, init=False)
class Score:
    """What was found out about one tool."""

    tool: ToolEntry
    """The tool."""
    score: float | None
    """How well it fits the query, from 0 to 100; None if it has no score."""
    parameters: dict[str, Any]
    """What its handler is to be given, as far as a reply said."""
    error: str | None
    """What went wrong: why there is no score, or why the parameters do not fit."""
    note: str
    """Why there is no score where nothing went wrong."""
    reply: str | Mapping[str, Any] | None = field(repr=False, compare=False)
    """What was replied about it, as it came: also what its structure does not ask for."""

    def __init__(
        self,
        tool: ToolEntry,
        score: float | None = None,
        parameters: dict[str, Any] | None = None,
        error: str | None = None,
        note: str = "",
        reply: str | Mapping[str, Any] | None = None,
    ) -> None:
        # There is one for each tool and query, and what a dataclass that is frozen would have here
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
    """The tool for a query, and how it came to be that one."""

    query: str
    """The query."""
    item_type: str
    """The type that it is about, in its short form."""
    site: str | None
    """The site, if it is about one."""
    tool: ToolEntry | None
    """The tool; None if there is none for the type, and no fallback among those there are."""
    score: float | None
    """Its score, from 0 to 100; None for a fallback that has none."""
    parameters: dict[str, Any]
    """What its handler is to be given."""
    ranking: tuple[Score, ...]
    """All tools that apply, the best first: those with scores, then the others."""
    decision: Decision
    """What decided."""
    reason: str
    """The same as a sentence."""
    ties: tuple[ToolEntry, ...]
    """Other tools with the very score of the winner: the query did not decide between them."""
    strategy: str
    """How the model was asked: that of the policy, or ``single`` where there was one tool only."""
    calls: int
    """How many calls were made, those that were cancelled included."""
    usage: UsageUpdate | None
    """The tokens they took, as far as the model said."""
    duration: float
    """Seconds."""
    policy: SelectionPolicy = field(repr=False)
    """What it was decided by."""
    registry: ToolSource = field(repr=False, compare=False)
    """Where the tools are from."""
    identified: bool = False
    """True if a model was asked for the type, since the caller did not say it."""
    type_note: str = ""
    """A sentence on the type: that it was identified or could not be, or that it is unknown."""
    cached: bool = False
    """Whether it was kept from an earlier time, or made for somebody else who asked the same."""

    @property
    def fallback(self) -> bool:
        """Whether no tool reached the threshold, so that it is the fallback or none."""
        return self.decision in ("fallback", "none")

    @property
    def errors(self) -> tuple[Score, ...]:
        """Those in the ranking that something went wrong with."""
        return tuple(score for score in self.ranking if score.error is not None)

    @property
    def top(self) -> tuple[Score, ...]:
        """The best that reach the threshold, or else the fallback; at most ``policy.top``."""
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
        """Runs the tool; see `toolweave.handlers.run_handler`, which does it.

        Args:
            handler: What the tool's handler is given beside its parameters.
            parameters: Instead of those of the selection.
            **options: Those of `run_handler`. Those that the policy has too are taken from there:
                ``allowed_handlers``, and the ``fallback`` of a tool that cannot start.

        Returns:
            What ran, and what it returned.

        Raises:
            LookupError: There is no tool to run.
            Exception: What `run_handler` raises.
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
        """The ranking as a table, with what decided, and what it took."""
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
    """Columns, of which the last is as wide as it likes."""
    if not rows:
        return []
    rows = [("", "tool", "score", "from", "parameters, or why not"), *rows]
    rows = [tuple(_line(cell) for cell in row) for row in rows]
    widths = [min(_WIDEST, max(len(row[at]) for row in rows)) for at in range(4)]
    return [
        (
            f"{row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  "
            f"{row[3]:<{widths[3]}}  {row[4]}"
        ).rstrip()
        for row in rows
    ]


def _line(text: str) -> str:
    """The same without what a terminal would act on: names and replies are not ours."""
    return "".join(char if char.isprintable() else " " for char in text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
