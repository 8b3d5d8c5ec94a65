"""Sessions that read a reply in a dialect, and report what they kept of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from replies import SCHEMAS
from toolweave import FunctionContract, Limits, Parser, TextDelta, ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from written import Written

CONTRACTS = [FunctionContract(name, parameters=schema) for name, schema in SCHEMAS.items()]
LIMITS = Limits(max_argument_bytes=4 << 20, max_repair_bytes=4 << 20)
"""Limits above the largest arguments, since the other parsers have none."""


@dataclass
class Kept:
    """Text and calls that a parser has reported."""

    text: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    """Name of each call, by index."""
    arguments: dict[int, list[str]] = field(default_factory=dict)
    """Pieces of the arguments of each call as JSON, by index."""

    def add(self, index: int, name: str | None, arguments: str) -> None:
        """Add a piece of a call; the first has the name."""
        self.names[index] = name or self.names.get(index, "")
        self.arguments.setdefault(index, []).append(arguments)

    def fault(self, reply: Written) -> str | None:
        """Return what is missing of a reply, if anything is."""
        calls = [
            (name, _value("".join(self.arguments[index])))
            for index, name in sorted(self.names.items())
        ]
        text, prose = "".join(self.text).strip(), reply.prose.strip()
        faults: list[str] = []
        if len(calls) != len(reply.calls):
            faults.append(f"{len(calls)} of {len(reply.calls)} calls")
        else:
            wrong = sum(found != call for found, call in zip(calls, reply.calls, strict=True))
            faults += [f"{wrong} wrong calls"] if wrong else []
        if text != prose:
            faults.append(f"{len(text)} of {len(prose)} characters")
        return ", ".join(faults) or None


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


class Push(Protocol):
    """Protocol of a parser that takes one chunk."""

    def push(self, chunk: str, /) -> Any:
        """Take a chunk."""

    def finish(self) -> Any:
        """End the reply."""


@dataclass
class Chunked:
    """Session that pushes each chunk."""

    parser: Push

    def feed(self, tokens: Sequence[str]) -> None:
        """Push each chunk."""
        push = self.parser.push
        for token in tokens:
            push(token)

    def finish(self) -> None:
        """End the reply."""
        self.parser.finish()

    def kept(self, chunks: Sequence[str]) -> Kept:
        """Read a reply, and return what is reported."""
        kept = Kept()
        for events in (*map(self.parser.push, chunks), self.parser.finish()):
            if not events:
                continue
            text, pieces = events
            kept.text.append(text)
            for piece in pieces:
                kept.add(*piece)
        return kept


class Own(Chunked):
    """Session of this package's parser."""

    def __init__(self, dialects: Any) -> None:
        super().__init__(Parser(CONTRACTS, dialects=dialects, limits=LIMITS))

    def kept(self, chunks: Sequence[str]) -> Kept:
        """Read a reply, and return what is reported."""
        kept = Kept()
        for events in (*map(self.parser.push, chunks), self.parser.finish()):
            for event in events:
                if isinstance(event, TextDelta):
                    kept.text.append(event.text)
                elif isinstance(event, ToolCall):
                    kept.add(event.index, event.name, json.dumps(event.arguments))
        return kept


class Many(Own):
    """Session of this package's parser that crosses the boundary once for many chunks."""

    def feed(self, tokens: Sequence[str]) -> None:
        """Push all chunks at once."""
        self.parser.push_many(tokens)  # type: ignore[attr-defined]
