"""The golden cases of `tests/cases/dialects`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import toolweave as tw
from paths import CASES

FOLDER = CASES / "dialects"
TOOLS: list[dict[str, Any]] = json.loads((FOLDER / "tools.json").read_text("utf-8"))
FILES: dict[str, list[dict[str, Any]]] = {
    path.stem: json.loads(path.read_text("utf-8"))
    for path in sorted(FOLDER.glob("*.json"))
    if path.stem != "tools"
}


@dataclass
class Seen:
    """Parts of a reply as a reader sees them, which do not depend on how it was cut."""

    text: str = ""
    reasoning: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    invalid: list[dict[str, Any]] = field(default_factory=list)
    dialects: list[str] = field(default_factory=list)
    deltas: dict[int, str] = field(default_factory=dict)
    whole: str = ""
    """Text of all events, which is the reply."""

    def add(self, event: tw.Event) -> None:
        """Add an event of the parser."""
        if isinstance(event, tw.TextDelta):
            self.text += event.text
            self.whole += event.text
        elif isinstance(event, tw.ReasoningDelta):
            self.reasoning += event.text
            self.whole += event.text
        elif isinstance(event, tw.ToolCallStart):
            self.deltas[event.index] = ""
        elif isinstance(event, tw.ToolCallDelta):
            self.deltas[event.index] += event.fragment
        else:
            self.whole += event.raw
        if isinstance(event, tw.ToolCall):
            call: dict[str, Any] = {"name": event.name, "arguments": event.arguments}
            if event.id != f"call_{event.index}":
                call["id"] = event.id
            self.calls.append(call)
            self.dialects.append(event.dialect)
        elif isinstance(event, tw.InvalidToolCall):
            self.invalid.append({"name": event.name, "kind": event.kind})
            self.dialects.append(event.dialect)


def dialects_of(name: str) -> Any:
    """Return the option `dialects` for a name in `read_by`."""
    return name if name == "auto" else (name,)


def options_of(case: dict[str, Any], dialects: str) -> tuple[dict[str, Any], bool]:
    """Return the options of a parser for a case, and whether its reply is truncated."""
    given = dict(case.get("options", {}))
    truncated = given.pop("truncated", False)
    if "limits" in given:
        given["limits"] = tw.Limits(**given["limits"])
    return {"dialects": dialects_of(dialects), **given}, truncated


def read(parser: tw.Parser, chunks: list[str], *, truncated: bool = False) -> Seen:
    """Read a whole reply."""
    seen = Seen()
    for chunk in chunks:
        for event in parser.push(chunk):
            seen.add(event)
    for event in parser.finish(truncated=truncated):
        seen.add(event)
    return seen
