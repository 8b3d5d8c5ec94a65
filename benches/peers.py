"""Contestants of streaming: this package, the floors, and alternatives in Python."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

import agent_tool_parser
import jiter
import json_repair
import partial_json_parser
import toolweave_floor

from kept import CONTRACTS, LIMITS
from replies import SCHEMAS, Reply
from toolweave import Parser, Validator, parse_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from measure import Start

ANYTHING = Validator({})


@dataclass(frozen=True)
class Peer:
    """Contestant."""

    name: str
    package: str
    start: Start
    arguments_only: bool = False
    """True if it parses JSON only, and is given only the arguments."""
    hermes: bool = False
    """True if it reads `<tool_call>{"name", "arguments"}</tool_call>` instead of named tags."""

    @property
    def label(self) -> str:
        """Name and version."""
        return f"{self.name} {version(self.package)}"

    def text(self, reply: Reply) -> str | None:
        """Return the text that it is given of a reply; None if it cannot take part."""
        if self.arguments_only:
            return reply.arguments
        return as_hermes(reply.text) if self.hermes else reply.text


def as_hermes(text: str) -> str:
    """Convert a reply to the tags that most models were trained on."""
    for name in SCHEMAS:
        opening = f'<tool_call>\n{{"name": "{name}", "arguments": '
        text = text.replace(f"<{name}>\n```json\n", opening)
        text = text.replace(f"\n```\n</{name}>", "}\n</tool_call>")
    return text


@dataclass
class Push:
    """Session that pushes one token at a time."""

    push: Callable[[str], object]
    finish: Callable[[], object] = tuple

    def feed(self, tokens: Sequence[str]) -> None:
        """Push each token."""
        push = self.push
        for token in tokens:
            push(token)


@dataclass
class PushMany:
    """Session of toolweave's parser that crosses the boundary once for many tokens."""

    parser: Parser

    def feed(self, tokens: Sequence[str]) -> None:
        """Push all tokens at once."""
        self.parser.push_many(tokens)

    def finish(self) -> None:
        """End the reply."""
        self.parser.finish()


class PulledStream:
    """Session of `parse_stream`, which pulls its tokens at the end."""

    def __init__(self, chunks: Callable[[list[str]], Iterable[str]] = list) -> None:
        self.chunks = chunks
        self.tokens: list[str] = []

    def feed(self, tokens: Sequence[str]) -> None:
        """Collect the tokens, which takes a few nanoseconds each that count."""
        self.tokens.extend(tokens)

    def finish(self) -> None:
        """Consume every event."""
        for _ in parse_stream(self.chunks(self.tokens), CONTRACTS, limits=LIMITS):
            pass


@dataclass
class ValueBuild:
    """Session that only converts the arguments to validated Python objects at the end."""

    arguments: str

    def feed(self, tokens: Sequence[str]) -> None:
        """Ignore the tokens."""

    def finish(self) -> None:
        """Build the value."""
        ANYTHING.validate_json(self.arguments)


@dataclass
class Reparse:
    """Session that parses the whole text so far again for every token."""

    parse: Callable[[str], object]
    text: str = ""

    def feed(self, tokens: Iterable[str]) -> None:
        """Parse the text so far, once for each token."""
        for token in tokens:
            self.text += token
            self.parse(self.text)

    def finish(self) -> None:
        """End the reply, without further work."""


def push_parser(*, deltas: bool = True, repair: str = "schema") -> Push:
    """Return a session of toolweave's parser that uses `push`."""
    parser = Parser(CONTRACTS, deltas=deltas, repair=repair, limits=LIMITS)
    return Push(parser.push, parser.finish)


PUSH = "toolweave push"
PUSH_WITHOUT_DELTAS = "toolweave push, deltas=False"
PUSH_MANY = "toolweave push_many"
PARSE_LIST = "toolweave parse_stream, list"
PARSE_ITERATOR = "toolweave parse_stream, iterator"
FLOOR_NOTHING = "floor (a): empty tuple"
FLOOR_EVENT = "floor (b): tuple of one event"

PEERS = [
    Peer(PUSH, "toolweave", push_parser),
    Peer(PUSH_WITHOUT_DELTAS, "toolweave", lambda: push_parser(deltas=False)),
    Peer(PUSH_MANY, "toolweave", lambda: PushMany(Parser(CONTRACTS, limits=LIMITS))),
    Peer(PARSE_LIST, "toolweave", PulledStream),
    Peer(PARSE_ITERATOR, "toolweave", lambda: PulledStream(iter)),
    Peer(FLOOR_NOTHING, "toolweave-floor", lambda: Push(toolweave_floor.Nothing().push)),
    Peer(FLOOR_EVENT, "toolweave-floor", lambda: Push(toolweave_floor.Echo().push)),
    Peer(
        "jiter re-parse",
        "jiter",
        lambda: Reparse(
            lambda text: jiter.from_json(text.encode(), partial_mode="trailing-strings")
        ),
        arguments_only=True,
    ),
    Peer(
        "partial-json-parser re-parse",
        "partial-json-parser",
        lambda: Reparse(partial_json_parser.loads),
        arguments_only=True,
    ),
    Peer(
        "json_repair re-parse",
        "json-repair",
        lambda: Reparse(lambda text: json_repair.loads(text, stream_stable=True)),
        arguments_only=True,
    ),
    Peer(
        "agent-tool-parser re-parse",
        "agent-tool-parser",
        lambda: Reparse(agent_tool_parser.try_parse_tool_calls),
        hermes=True,
    ),
]
