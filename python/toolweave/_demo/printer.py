"""Formatting of events and results as readable lines."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from .._core import (
    Discarded,
    FabricatedResult,
    InvalidToolCall,
    ReasoningDelta,
    TextDelta,
    ToolAggregateMessage,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolResult,
)
from ..executor import ToolProgress, ToolStarted
from .screens import Line, LineKind, Screen, shortened, visible

if TYPE_CHECKING:
    from .._core import Repair
    from .._streams import Event
    from ..executor import ToolEvent

LEGEND: dict[LineKind, str] = {
    LineKind.TEXT: "what the model says to the user, as it streams",
    LineKind.HELD: "may begin or end a call: held back until that is certain",
    LineKind.ARGS: "the arguments of a call, as the model writes them",
    LineKind.REPAIRED: "repairs of the arguments: place, reason, old and new value",
    LineKind.STARTS: "the arguments fit the schema: the tool starts while the model still writes",
    LineKind.WORKS: "progress of a running tool",
    LineKind.RESULT: "the result of a tool, as soon as it is there",
    LineKind.FAILED: "the error of a tool",
    LineKind.INVALID: "a call that does not run, and the error that the model reads",
    LineKind.ALL: "the results in the order of the calls, for the history",
    LineKind.SKIPPED: "markup that is neither text nor part of a call",
    LineKind.HISTORY: "the reply and its results as text: what the model reads in the next request",
}
REPAIR_EXPLANATIONS: dict[str, str] = {
    "implicit_close": "no closing tag; the call ends where its JSON or its fence ends",
    "name_case": "the name is written in another case",
    "trailing_comma": "no comma before a closing bracket",
    "missing_comma": "a comma between two members",
    "comment": "JSON has no comments",
    "quotes": "keys and strings are written in double quotes",
    "inner_quote": "a quote inside a string is escaped",
    "bare_key": "a key is written in double quotes",
    "literal": "JSON writes true, false and null",
    "number": "JSON writes the number differently",
    "control_character": "line breaks and tabs inside a string are escaped",
    "escape": "JSON has no such escape",
    "lone_surrogate": "half of a character",
    "missing_closer": "a string or bracket was never closed",
    "wrong_closer": "a bracket that closes nothing",
    "debris": "not part of the JSON",
    "type": "the schema declares another type, and the meaning is certain",
    "enum_case": "the schema has the value in another case",
    "wrap_in_array": "the schema declares a list",
    "json_text": "the schema declares a structure, not its text",
    "null_member": "an optional argument without a value is omitted, and may not be null",
    "fallback": "another model was asked for the intended value",
}
DISCARD_EXPLANATIONS: dict[str, str] = {
    "reasoning_tag": "the tag around reasoning",
    "fence": "a code fence around nothing but calls",
    "orphan_close": "a closing tag, but the call has ended",
    "too_large": "the rest of something that is too large",
    "late_fragment": "more of a call that has ended",
}
VALUE_REPAIRS = ("type", "enum_case", "wrap_in_array", "json_text")
"""Kinds of repairs of JSON values; all others are repairs of text."""

MAX_SHOWN = 160
"""Maximum number of characters of a shown value."""


class EventPrinter:
    """A printer that writes replies and results to a screen.

    Text and arguments become lines as their line breaks arrive. The unfinished line grows at the
    bottom, next to the text that the parser holds back; progress and results are shown above it.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._kind: LineKind | None = None
        self._line = ""
        # Blank lines that are shown only if more text follows; None before the first line.
        self._blank: int | None = None
        self._held = ""
        self._held_for = 0
        self._notes: list[Line] = []
        self._started: set[str] = set()
        self._seen: Counter[str] = Counter()
        self._invalid: Counter[str] = Counter()

    def write(self, kind: LineKind, text: str) -> None:
        """Show finished lines of one kind."""
        self._close()
        for line in text.split("\n"):
            self._screen.show(Line(kind, line))

    def held(self, text: str) -> None:
        """Show the held-back text after a chunk."""
        self._held_for = self._held_for + 1 if text else 0
        self._held = text
        self._redraw()

    def event(self, event: Event) -> None:
        """Show an event of the parser."""
        match event:
            case TextDelta(text=text):
                self._report_held("it was text")
                self._grow(LineKind.TEXT, text)
            case ReasoningDelta(text=text):
                self._report_held("it was reasoning")
                self._grow(LineKind.THINKS, text)
            case ToolCallStart(name=name, id=call_id):
                self._report_held("it began a call")
                self.write(LineKind.CALL, f"{name} ({call_id})")
            case ToolCallDelta(fragment=fragment):
                self._report_held("it was part of the arguments")
                self._grow(LineKind.ARGS, fragment)
            case ToolCall():
                self._report_held("it ended the call")
                self._close()
                self._seen["repairs"] += len(event.repairs)
                for repair in event.repairs:
                    self.write(LineKind.REPAIRED, describe_repair(repair))
            case InvalidToolCall():
                cut = event.kind == "unclosed"
                self._report_held("the reply ended" if cut else "it ended the call")
                self._invalid[event.kind] += 1
                self.write(
                    LineKind.INVALID, f"{event.name} ({event.id}) does not run: {event.kind}"
                )
            case Discarded(raw=raw, reason=reason):
                self._report_held("it was markup")
                self.write(
                    LineKind.SKIPPED, f"{visible(raw)}   {DISCARD_EXPLANATIONS.get(reason, reason)}"
                )
            case FabricatedResult(name=name, raw=raw):
                self._report_held("it was an invented result")
                self._seen["invented"] += 1
                source = f"a result of {name}" if name else "a result"
                self.write(LineKind.INVENTED, f"{source} that no tool gave: {visible(raw)}")

    def tool(self, event: ToolEvent) -> None:
        """Show an event of the executor."""
        match event:
            case ToolStarted(call_id, name, arguments):
                self._started.add(call_id)
                self._show_above(LineKind.STARTS, f"{name} ({call_id})", as_json(dict(arguments)))
            case ToolProgress(call_id, value):
                self._show_above(LineKind.WORKS, call_id, str(value))
            case ToolResult(tool_call_id=call_id):
                kind = LineKind.RESULT if call_id in self._started else LineKind.INVALID
                if event.is_error and call_id in self._started:
                    kind = LineKind.FAILED
                    self._seen["failures"] += 1
                self._show_above(kind, call_id, event.result)
            case ToolAggregateMessage(_, results):
                self._close()
                self._seen["calls"] += len(self._started)
                self._started.clear()
                for number, result in enumerate(results, 1):
                    outcome = result.error_code.value if result.error_code else "done"
                    where = f"{number} of {len(results)}  {result.name} ({result.tool_call_id})"
                    self._show_above(LineKind.ALL, where, outcome)
            case _:
                pass

    def end_line(self) -> None:
        """End the growing line."""
        self._close()
        self._screen.grow(None, "")

    def summary(self) -> str:
        """Return a sentence that summarizes all calls so far."""
        ran, failed = self._seen["calls"], self._seen["failures"]
        parts = [
            f"{_count(ran, 'call')} ran after {_count(self._seen['repairs'], 'repair')}",
            f"{ran - failed} with a result, {failed} with an error of the tool",
        ]
        if self._invalid:
            kinds = ", ".join(f"{count} {kind}" for kind, count in self._invalid.items())
            parts.append(f"{_count(self._invalid.total(), 'call')} did not run ({kinds})")
        if self._seen["invented"]:
            parts.append(_count(self._seen["invented"], "invented result"))
        return "; ".join(parts)

    def _show_above(self, kind: LineKind, whose: str, text: str) -> None:
        """Show lines above the growing one."""
        for line in text.split("\n"):
            self._screen.show(Line(kind, f"{whose}  {line}"))
        self._redraw()

    def _redraw(self) -> None:
        line = Line(self._kind, self._line) if self._kind else None
        self._screen.grow(line, self._held if self._held_for else "")

    def _grow(self, kind: LineKind, text: str) -> None:
        if self._kind != kind:
            self._close()
            self._kind = kind
        *finished, self._line = (self._line + text).split("\n")
        for line in finished:
            self._show(kind, line)
            self._flush_notes()

    def _show(self, kind: LineKind, line: str) -> None:
        """Show a finished line, without blank lines around text."""
        if kind != LineKind.ARGS and not line.strip():
            if self._blank is not None:
                self._blank += 1
            return
        for _ in range(self._blank or 0):
            self._screen.show(Line(kind, ""))
        self._blank = 0
        self._screen.show(Line(kind, line))

    def _close(self) -> None:
        if self._kind is not None and self._line:
            self._show(self._kind, self._line)
        self._kind = None
        self._line = ""
        self._blank = None
        self._flush_notes()

    def _report_held(self, outcome: str) -> None:
        """Note the outcome of held-back text, to show once the current line is finished."""
        if self._held_for:
            wait = f"for {_count(self._held_for, 'delta')}, then {outcome}"
            self._notes.append(Line(LineKind.HELD, f"{visible(self._held)}   {wait}"))
            self._held_for = 0
            if self._kind is None:
                self._flush_notes()

    def _flush_notes(self) -> None:
        for line in self._notes:
            self._screen.show(line)
        self._notes.clear()


def describe_repair(repair: Repair) -> str:
    """Return a sentence on a repair: place, reason, old and new value."""
    why = REPAIR_EXPLANATIONS.get(repair.kind, repair.kind.replace("_", " "))
    sentence = f"{repair.path}: {why}" if repair.path else why
    render = as_json if repair.kind in VALUE_REPAIRS else _as_text
    before, after = render(repair.before), render(repair.after)
    if before and after:
        return f"{sentence}   {before} -> {after}"
    if before:
        return f"{sentence}   {before} removed"
    return f"{sentence}   {after} added" if after else sentence


def as_json(value: object) -> str:
    """Return a JSON value as text, shortened to fit a line."""
    return shortened(json.dumps(value, ensure_ascii=False), MAX_SHOWN)


def _as_text(value: object) -> str:
    return shortened(visible(value), MAX_SHOWN) if isinstance(value, str) else ""


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
