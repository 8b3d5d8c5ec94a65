"""Turns events and results into lines to read."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from .. import (
    Discarded,
    FabricatedResult,
    InvalidToolCall,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolResult,
)
from .screens import Kind, Line, Screen, visible

if TYPE_CHECKING:
    from .. import Event, Repair

WHY: dict[str, str] = {
    "implicit_close": "no closing tag; the call ends where its JSON or its fence ends",
    "name_case": "the name is spelled in another case",
    "trailing_comma": "a comma before a closing bracket",
    "missing_comma": "no comma between two members",
    "comment": "JSON has no comments",
    "quotes": "a string is written in double quotes",
    "bare_key": "a key is written in double quotes",
    "literal": "JSON writes true, false and null",
    "number": "JSON spells the number differently",
    "control_character": "a line break or tab inside a string is written as an escape",
    "escape": "JSON has no such escape",
    "lone_surrogate": "half of a character",
    "missing_closer": "a string or bracket was never closed",
    "wrong_closer": "a bracket that closes nothing",
    "debris": "not part of the JSON",
    "type": "the schema declares another type, and the meaning is certain",
    "enum_case": "the schema spells the value in another case",
    "wrap_in_array": "the schema declares a list",
    "json_text": "the schema declares a structure, not its text",
}
MAX_SHOWN = 160
"""Characters of a value that is only mentioned."""


class Narrator:
    """Tells one reply after another to a screen.

    Text and arguments become lines as their line breaks come; what has no line
    break yet grows at the bottom, next to what the parser holds back.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._kind: Kind | None = None
        self._line = ""
        self._held = ""
        self._held_for = 0
        self._asides: list[Line] = []
        self.counts: Counter[str] = Counter()
        """What came up so far."""

    def say(self, kind: Kind, text: str) -> None:
        """Show finished lines of one kind."""
        self._close()
        for line in text.split("\n"):
            self._screen.show(Line(kind, line))

    def held(self, text: str) -> None:
        """Note what is held back after a chunk, and show it while it is."""
        if text and text.startswith(self._held):
            self._held_for += 1
        else:
            self._let_go()
            self._held_for = 1 if text else 0
        self._held = text
        self._screen.grow(Line(self._kind, self._line) if self._kind else None, text)

    def event(self, event: Event) -> None:
        """Tell one event of the parser."""
        self._let_go()
        match event:
            case TextDelta(text=text):
                self.counts["characters of text"] += len(text)
                self._grow("text", text)
            case ReasoningDelta(text=text):
                self._grow("thinks", text)
            case ToolCallStart(name=name, id=call_id):
                self.say("call", f"{name} ({call_id})")
            case ToolCallDelta(fragment=fragment):
                self._grow("args", fragment)
            case ToolCall():
                self.counts["calls"] += 1
                self.say("ready", f"{event.name} {shortened(event.arguments)}")
                for repair in event.repairs:
                    self.counts["repairs"] += 1
                    self.say("mended", told(repair))
            case InvalidToolCall():
                self.counts[f"invalid: {event.kind}"] += 1
                self.say("invalid", f"{event.name}: {event.kind}")
                for violation in event.violations:
                    self.say("invalid", violation.message)
            case Discarded(raw=raw, reason=reason):
                self.say("skipped", f"{visible(raw)} ({reason})")
            case FabricatedResult(name=name, raw=raw):
                self.counts["invented results"] += 1
                self.say("invented", f"a result of {name} that no tool gave: {visible(raw)}")

    def think(self, text: str) -> None:
        """Tell thinking that did not come through the parser."""
        self._grow("thinks", text)

    def result(self, result: ToolResult) -> None:
        """Tell what a tool answered."""
        self.counts["failed tools" if result.is_error else "results"] += 1
        self.say("failed" if result.is_error else "result", result.result)

    def rest(self) -> None:
        """End the line that grows."""
        self._let_go()
        self._held = ""
        self._close()
        self._screen.grow(None, "")

    def _grow(self, kind: Kind, text: str) -> None:
        if self._kind != kind:
            self._close()
            self._kind = kind
        *finished, self._line = (self._line + text).split("\n")
        for line in finished:
            self._screen.show(Line(kind, line))
            self._tell_asides()

    def _close(self) -> None:
        if self._kind is not None and self._line:
            self._screen.show(Line(self._kind, self._line))
        self._kind = None
        self._line = ""
        self._tell_asides()

    def _let_go(self) -> None:
        """What was held back has been decided; say so once the line it stands in is done."""
        if self._held_for:
            pieces = "1 delta" if self._held_for == 1 else f"{self._held_for} deltas"
            self._asides.append(Line("held", f"{visible(self._held)} (for {pieces})"))
            self._held_for = 0
            self._held = ""
            if self._kind is None:
                self._tell_asides()

    def _tell_asides(self) -> None:
        for line in self._asides:
            self._screen.show(line)
        self._asides.clear()


def told(repair: Repair) -> str:
    """One repair as a sentence: where, why, and from what to what."""
    where = repair.path or "the call"
    change = f"{shortened(repair.before)} -> {shortened(repair.after)}"
    if repair.before is None and repair.after is None:
        change = ""
    why = WHY.get(repair.kind, repair.kind.replace("_", " "))
    return f"{where}: {why} {change}".rstrip()


def shortened(value: object) -> str:
    """A JSON value as text, not too long for a line."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
