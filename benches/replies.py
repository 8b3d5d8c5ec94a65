"""Replies for all parsers: the same text, cut into the same tokens."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOKEN_CHARS = 4

# The Rust benchmarks read the same file, and build the same replies.
_DATA = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
SCHEMAS: dict[str, dict[str, Any]] = _DATA["tools"]
PROSE: str = _DATA["prose"]
CODE: str = _DATA["code"]
ROW: str = _DATA["row"]
CITIES = ("Oslo", "Lima", "Rome", "Tokyo")


@dataclass(frozen=True)
class Reply:
    """Reply in the `natural` dialect, with the expected calls and text."""

    case: str
    size: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()
    """Name and JSON arguments of every call, in order."""
    prose: str = ""
    """Text around the calls."""
    tokens: list[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", cut(self.text))

    @property
    def arguments(self) -> str | None:
        """Arguments of the only call, which is all that a parser of JSON is given."""
        return self.calls[0][1] if len(self.calls) == 1 else None


def cut(text: str, width: int = TOKEN_CHARS) -> list[str]:
    """Cut a text into tokens of `width` characters."""
    return [text[at : at + width] for at in range(0, len(text), width)]


def repeated(text: str, chars: int, start: int = 0) -> str:
    """Repeat a text, from a position on, for `chars` characters."""
    start %= len(text)
    return (text * ((start + chars) // len(text) + 1))[start : start + chars]


def call(name: str, arguments: str) -> str:
    """Return a call as a well-behaved model writes it."""
    return f"<{name}>\n```json\n{arguments}\n```\n</{name}>\n"


def text_reply(size: str, tokens: int) -> Reply:
    """Return a reply of pure text."""
    text = repeated(PROSE, tokens * TOKEN_CHARS)
    return Reply("text", size, text, prose=text)


def mixed_reply(size: str, tokens: int) -> Reply:
    """Return a reply with a call after every 220 tokens of text."""
    parts: list[str] = []
    calls: list[tuple[str, str]] = []
    around: list[str] = []
    length = 0
    while length < tokens * TOKEN_CHARS:
        number = len(calls)
        intro = repeated(PROSE, 880, start=880 * number) + "\n\n"
        city = CITIES[number % len(CITIES)]
        arguments = f'{{"location": "{city}", "unit": "celsius"}}'
        written = call("GetWeather", arguments)
        calls.append(("GetWeather", arguments))
        around.append(intro)
        parts += (intro, written)
        length += len(intro) + len(written)
    return Reply("mixed", size, "".join(parts), tuple(calls), "".join(around))


def string_reply(size: str, chars: int) -> Reply:
    """Return one call with one long string: source code, dense in quotes and backslashes."""
    content = json.dumps(repeated(CODE, chars), ensure_ascii=False)
    arguments = f'{{"path": "src/main.py", "content": {content}}}'
    intro = "I'll write the file.\n\n"
    written = call("WriteFile", arguments)
    return Reply("string", size, intro + written, (("WriteFile", arguments),), intro)


def array_reply(size: str, chars: int) -> Reply:
    """Return one call with a long array of small objects."""
    rows = [ROW.replace("{n}", str(number)) for number in range(chars // len(ROW))]
    arguments = f'{{"rows": [{", ".join(rows)}]}}'
    intro = "Here is the report.\n\n"
    return Reply("array", size, intro + call("Report", arguments), (("Report", arguments),), intro)


def all_replies(*, quick: bool) -> dict[str, list[Reply]]:
    """Return all cases, in growing sizes."""
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
