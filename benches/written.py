"""Replies with the same calls, as the models of each dialect write them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from replies import CITIES, CODE, PROSE, ROW, TOKEN_CHARS, call, cut, repeated

Call = tuple[str, dict[str, Any]]
"""Name and arguments."""

SPECIAL = re.compile(r"(<\|\w+\|>|<｜[\w▁]+｜>|｜DSML｜|\[TOOL_CALLS\]|</?tool_call>)")
"""Tokens of a tokenizer, which always arrive whole."""


@dataclass(frozen=True)
class Frame:
    """Text around calls in a dialect."""

    before: str = ""
    """Text before the calls."""
    between: str = ""
    """Text between two calls."""
    after: str = ""
    """Text after the calls."""
    text: tuple[str, str] = ("", "")
    """Markup around text."""
    opener: str = ""
    """Text that may open a call."""
    leads: bool = False
    """True if calls count only at the beginning of a reply."""


_BEGIN, _END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
FRAMES = {
    "natural": Frame(opener="<GetWeather>"),
    "hermes": Frame(between="\n", opener="<tool_call>"),
    "qwen3_coder": Frame(between="\n", opener="<tool_call>"),
    "harmony": Frame(
        "<|start|>assistant",
        between="<|start|>assistant",
        text=("<|channel|>commentary<|message|>", "<|end|>"),
        opener="<|channel|>",
    ),
    "mistral": Frame("[TOOL_CALLS] [", ", ", "]", opener="[TOOL_CALLS]"),
    "deepseek_v31": Frame(_BEGIN, "", _END, opener=_BEGIN),
    "deepseek_v32": Frame(
        "<｜DSML｜tool_calls>\n",
        "\n",
        "\n</｜DSML｜tool_calls>",
        opener="<｜DSML｜tool_calls>",
    ),
    "pythonic": Frame("[", ", ", "]", opener="[", leads=True),
}
DIALECTS = tuple(name for name in FRAMES if name != "natural")
"""Dialects that are measured against the parsers of servers."""


@dataclass(frozen=True)
class Written:
    """Reply in a dialect, with the expected calls and text."""

    dialect: str
    case: str
    size: str
    chunks: tuple[str, ...]
    calls: tuple[Call, ...] = ()
    prose: str = ""

    @property
    def tokens(self) -> float:
        """Length in tokens of four characters, however it is cut."""
        return sum(map(len, self.chunks)) / TOKEN_CHARS


def chunks(text: str) -> tuple[str, ...]:
    """Cut a reply into tokens of four characters, except for special tokens."""
    return tuple(
        piece
        for part in SPECIAL.split(text)
        for piece in ([part] if SPECIAL.fullmatch(part) else cut(part))
    )


def dumps(value: object) -> str:
    """Return JSON as models write it."""
    return json.dumps(value, ensure_ascii=False)


def written(dialect: str, name: str, arguments: dict[str, Any]) -> str:
    """Write one call, without what is around all calls of a reply."""
    text = dumps(arguments)
    match dialect:
        case "natural":
            return call(name, text)
        case "hermes":
            return f'<tool_call>\n{{"name": "{name}", "arguments": {text}}}\n</tool_call>'
        case "mistral":
            return f'{{"name": "{name}", "arguments": {text}}}'
        case "harmony":
            header = f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
            return f"{header}{text}<|call|>"
        case "deepseek_v31":
            return f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{text}<｜tool▁call▁end｜>"
        case "qwen3_coder":
            parts = "".join(
                f"<parameter={key}>\n{_plain(value)}\n</parameter>\n"
                for key, value in arguments.items()
            )
            return f"<tool_call>\n<function={name}>\n{parts}</function>\n</tool_call>"
        case "deepseek_v32":
            parts = "".join(
                f'<｜DSML｜parameter name="{key}" string="{str(isinstance(value, str)).lower()}">'
                f"{_plain(value)}</｜DSML｜parameter>\n"
                for key, value in arguments.items()
            )
            return f'<｜DSML｜invoke name="{name}">\n{parts}</｜DSML｜invoke>'
        case "pythonic":
            return f"{name}({', '.join(f'{key}={_python(arguments[key])}' for key in arguments)})"
    raise ValueError(f"no calls are written in {dialect}")


def _plain(value: object) -> str:
    return value if isinstance(value, str) else dumps(value)


def _python(value: object) -> str:
    return repr(value) if not isinstance(value, str) else dumps(value)


def reply(dialect: str, case: str, size: str, prose: str, calls: list[Call]) -> Written:
    """Return a reply with calls after a text, which is left out where calls have to lead."""
    frame = FRAMES[dialect]
    if calls and frame.leads:
        prose = ""
    opening, closing = frame.text
    text = f"{opening}{prose}{closing}" if prose else ""
    if calls:
        body = frame.between.join(written(dialect, *each) for each in calls)
        # Where text has markup, what comes before calls stands between the two.
        before = frame.before if prose or not opening else ""
        text += f"{before}{body}{frame.after}"
    return Written(dialect, case, size, chunks(text), tuple(calls), prose)


def text_reply(dialect: str, size: str, tokens: int) -> Written:
    """Return a reply of pure text."""
    return reply(dialect, "text", size, repeated(PROSE, tokens * TOKEN_CHARS), [])


def calls_reply(dialect: str, size: str, number: int) -> Written:
    """Return a text of 220 tokens, and many small calls."""
    calls: list[Call] = [
        ("GetWeather", {"location": CITIES[at % len(CITIES)], "unit": "celsius"})
        for at in range(number)
    ]
    return reply(dialect, "calls", size, repeated(PROSE, 880) + "\n\n", calls)


def string_reply(dialect: str, size: str, chars: int) -> Written:
    """Return one call with one long string of source code."""
    arguments = {"path": "src/main.py", "content": repeated(CODE, chars - 1) + ";"}
    return reply(dialect, "string", size, "I'll write the file.\n\n", [("WriteFile", arguments)])


def array_reply(dialect: str, size: str, chars: int) -> Written:
    """Return one call with a long array of small objects."""
    rows = [json.loads(ROW.replace("{n}", str(at))) for at in range(chars // len(ROW))]
    calls: list[Call] = [("Report", {"rows": rows})]
    return reply(dialect, "array", size, "Here is the report.\n\n", calls)


def replies(dialect: str, *, quick: bool) -> dict[str, list[Written]]:
    """Return all cases of a dialect, in growing sizes."""
    tokens = {"1k": 1_000, "10k": 10_000, "100k": 100_000}
    numbers = {"10": 10, "100": 100, "1,000": 1_000}
    sizes = {"10 KB": 10_000, "100 KB": 100_000, "1 MB": 1_000_000}
    if quick:
        for larger in (tokens, numbers, sizes):
            larger.popitem()
    return {
        "text": [text_reply(dialect, size, count) for size, count in tokens.items()],
        "calls": [calls_reply(dialect, size, number) for size, number in numbers.items()],
        "string": [string_reply(dialect, size, chars) for size, chars in sizes.items()],
        "array": [array_reply(dialect, size, chars) for size, chars in sizes.items()],
    }


def floods(dialect: str, chars: int) -> dict[str, tuple[str, ...]]:
    """Return replies that are meant to be slow to parse: openers, and strings without an end."""
    whole = "".join(reply(dialect, "", "", "", [("WriteFile", {"path": "PATH"})]).chunks)
    start, closer = whole.split("PATH")
    opener = FRAMES[dialect].opener
    repeats = {
        "openers": ("", start),
        "half openers": ("", start[: len(start) // 2]),
        "white space after an opener": (opener, " "),
        "`<` in a string": (start, "<"),
        "closers in a string": (start, closer),
        "a string that never ends": (start, "words "),
    }
    return {
        name: chunks(before + repeat * (chars // len(repeat)))
        for name, (before, repeat) in repeats.items()
    }
