"""Replies made to be slow to parse: each must cost the same a token at any length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replies import cut

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Attack:
    """A hostile reply that can be made as long as wanted."""

    name: str
    build: Callable[[int], str]
    """From a number of characters to a reply of about that many."""
    whole: bool = False
    """Whether it comes as one single chunk."""

    def tokens(self, chars: int) -> list[str]:
        """The reply, as it is fed."""
        text = self.build(chars)
        return [text] if self.whole else cut(text)


def repeat(unit: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """A reply that repeats one thing."""
    return lambda chars: before + unit * (chars // len(unit)) + after


OPEN = "<WriteFile>\n```json\n"
CLOSE = "\n```\n</WriteFile>\n"
TINY = '<GetWeather>{"location": "x"}</GetWeather>\n'

ATTACKS = [
    Attack("white space after an opening tag", repeat(" ", "<GetWeather>")),
    Attack("white space inside a payload", repeat("\n", OPEN + "{", "}" + CLOSE)),
    Attack("line breaks only", repeat("\n")),
    Attack("`<` only", repeat("<")),
    Attack("half opening tags", repeat("<GetWeathe")),
    Attack("half `<tool_call`", repeat('<tool_call name="')),
    Attack("opening tags without a payload", repeat("<GetWeather>")),
    Attack("opening tags, each with a brace", repeat("<GetWeather>{")),
    Attack("closing tags only", repeat("</GetWeather>")),
    Attack("backticks only", repeat("`")),
    Attack("code fences only", repeat("```json\n")),
    Attack("reasoning tags only", repeat("<think></think>")),
    Attack("results only", repeat('<tool_response name="x">')),
    Attack("closing tags inside a string", repeat("</WriteFile>\\n", OPEN + '{"path": "')),
    Attack(
        "closing tags inside a string that closes",
        repeat("</WriteFile>\\n", OPEN + '{"path": "a", "content": "', '"}' + CLOSE),
    ),
    Attack(
        "backslashes in a string",
        repeat("\\\\", OPEN + '{"path": "a", "content": "', '"}' + CLOSE),
    ),
    Attack("brackets that open", repeat("[", OPEN + '{"path": ')),
    Attack("keys that repeat", repeat('"path": "a", ', OPEN + "{", '"content": ""}' + CLOSE)),
    Attack("a payload that breaks at once", repeat("'a': True, ", OPEN + "{", "}" + CLOSE)),
    Attack("a payload that breaks late", repeat("x", OPEN + '{"path": "', '\n", }' + CLOSE)),
    Attack("many tiny calls", repeat(TINY)),
    Attack("many empty calls", repeat("<GetWeather/>")),
    Attack("many unknown calls", repeat('<tool_call name="No">{}</tool_call>\n')),
    Attack("many tiny calls in one chunk", repeat(TINY), whole=True),
    Attack("half opening tags in one chunk", repeat("<GetWeathe"), whole=True),
    Attack("opening tags in one chunk", repeat("<GetWeather>{"), whole=True),
    Attack("prose in one chunk", repeat("some words and a < b, "), whole=True),
]
