"""The fenced code blocks of Markdown texts."""

from __future__ import annotations

import re
from typing import NamedTuple

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)$")


class Block(NamedTuple):
    """A fenced block and the line on which its code begins."""

    language: str
    line: int
    code: str


def blocks(markdown: str) -> list[Block]:
    """Return the fenced blocks of a Markdown text; an unclosed fence is an error."""
    found: list[Block] = []
    opened: re.Match[str] | None = None
    start, code = 0, list[str]()
    for number, line in enumerate(markdown.splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None:
            if fence:
                opened, start, code = fence, number + 1, []
        elif fence and fence["fence"].startswith(opened["fence"]) and not fence["info"].strip():
            words = opened["info"].split()
            found.append(Block(words[0] if words else "", start, "\n".join(code) + "\n"))
            opened = None
        else:
            code.append(line.removeprefix(opened["indent"]))
    if opened:
        raise ValueError(f"the block that begins on line {start} is never closed")
    return found
