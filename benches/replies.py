"""The replies that every parser is given: the same text, cut into the same tokens."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

TOKEN_CHARS = 4

WEATHER = {
    "type": "object",
    "properties": {
        "location": {"type": "string"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
    },
    "required": ["location"],
    "additionalProperties": False,
}
WRITE_FILE = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
    "additionalProperties": False,
}
REPORT = {
    "type": "object",
    "properties": {
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "name": {"type": "string"},
                    "price": {"type": "number"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "active": {"type": "boolean"},
                },
                "required": ["id", "name", "price", "tags", "active"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["rows"],
    "additionalProperties": False,
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "GetWeather": WEATHER,
    "WriteFile": WRITE_FILE,
    "Report": REPORT,
}

WORDS = re.findall(
    r"\S+",
    "the a of and to in is that for on with as by at from weather table answer model which "
    "result before after every number street please evening morning today tomorrow however "
    "because between several another temperature reservation, quickly. slowly. perhaps; maybe: "
    "Oslo Lima Rome Tokyo it's don't (roughly) 12 3.5 2025",
)
CODE = (
    'def run(self, value):\n    return {"key": [value, \'x\'], "path": "C:\\\\tmp"}\n\n'
    'for item in items:\n    print(f"{item!r}")\t# naïve\n'
)


@dataclass(frozen=True)
class Reply:
    """One reply in the `natural` dialect, and what a parser must make of it."""

    case: str
    size: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()
    """Name and arguments text of every call, in order."""
    prose: str = ""
    """The text around the calls."""
    tokens: list[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", cut(self.text))

    @property
    def arguments(self) -> str | None:
        """The arguments, where the reply is one call: all that a parser of JSON is given."""
        return self.calls[0][1] if len(self.calls) == 1 else None


def cut(text: str, width: int = TOKEN_CHARS) -> list[str]:
    """Cut a text into tokens of `width` characters."""
    return [text[at : at + width] for at in range(0, len(text), width)]


def prose(chars: int, seed: int = 1) -> str:
    """Plain sentences of exactly `chars` characters."""
    pick = random.Random(seed)
    parts: list[str] = []
    length = 0
    while length < chars:
        word = pick.choice(WORDS) + ("\n\n" if pick.random() < 0.02 else " ")
        parts.append(word)
        length += len(word)
    return "".join(parts)[:chars]


def call(name: str, arguments: str) -> str:
    """A call as a well-behaved model writes it."""
    return f"<{name}>\n```json\n{arguments}\n```\n</{name}>\n"


@cache
def text_reply(size: str, tokens: int) -> Reply:
    """Pure text."""
    text = prose(tokens * TOKEN_CHARS)
    return Reply("text", size, text, prose=text)


@cache
def mixed_reply(size: str, tokens: int) -> Reply:
    """A call after every 240 tokens or so of text."""
    parts: list[str] = []
    calls: list[tuple[str, str]] = []
    around: list[str] = []
    length = 0
    while length < tokens * TOKEN_CHARS:
        said = prose(880, seed=len(calls)).rstrip() + "\n\n"
        arguments = json.dumps({"location": WORDS[len(calls) % len(WORDS)], "unit": "celsius"})
        written = call("GetWeather", arguments)
        calls.append(("GetWeather", arguments))
        around.append(said)
        parts += (said, written)
        length += len(said) + len(written)
    return Reply("mixed", size, "".join(parts), tuple(calls), "".join(around))


@cache
def string_reply(size: str, chars: int) -> Reply:
    """One call with one long string: source code, dense in quotes and backslashes."""
    content = (CODE * (chars // len(CODE) + 1))[:chars]
    arguments = json.dumps({"path": "src/main.py", "content": content}, ensure_ascii=False)
    said = "I'll write the file.\n\n"
    return Reply(
        "string", size, said + call("WriteFile", arguments), (("WriteFile", arguments),), said
    )


@cache
def array_reply(size: str, chars: int) -> Reply:
    """One call with a long array of small objects."""
    rows: list[dict[str, Any]] = []
    length = 0
    while length < chars:
        number = len(rows)
        row = {
            "id": number,
            "name": f"item {number}",
            "price": number * 1.25,
            "tags": ["new", "sale"],
            "active": number % 2 == 0,
        }
        rows.append(row)
        length += len(json.dumps(row)) + 2
    arguments = json.dumps({"rows": rows})
    said = "Here is the report.\n\n"
    return Reply("array", size, said + call("Report", arguments), (("Report", arguments),), said)


def all_replies(*, quick: bool) -> dict[str, list[Reply]]:
    """Every case, in growing sizes."""
    counts = {"1k": 1_000, "10k": 10_000, "100k": 100_000, "1M": 1_000_000}
    sizes = {"10 KB": 10_000, "100 KB": 100_000, "1 MB": 1_000_000}
    if quick:
        counts.popitem()
        sizes.popitem()
    return {
        "text": [text_reply(size, count) for size, count in counts.items()],
        "mixed": [mixed_reply(size, count) for size, count in counts.items()],
        "string": [string_reply(size, chars) for size, chars in sizes.items()],
        "array": [array_reply(size, chars) for size, chars in sizes.items()],
    }
