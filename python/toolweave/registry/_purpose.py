"""Extraction of a tool's purpose from the prompt that asks a model to score it.

A prompt of NLWeb is about one tool: it introduces the query, describes the tool and demands a
score. A model that chooses among several tools, or calls them, needs only the description. These
parts are left out:

- an introduction of the query, such as "The user has the following query: {request.query}.";
- a demand for a score, such as "Assign a score from 0 to 100". The criterion of the demand is
  kept, unless every word of it occurs elsewhere.

    >>> purpose("Assign a score from 0 to 100 for whether {request.query} asks for a refund.", "a")
    'Whether {request.query} asks for a refund.'
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

QUERY_PLACEHOLDERS = frozenset({"request.query", "request.rawQuery"})
"""Placeholders for the query."""

_QUERY = (
    r"\{[ \t]*(?:" + "|".join(re.escape(name) for name in sorted(QUERY_PLACEHOLDERS)) + r")[ \t]*\}"
)
_PLACEHOLDER = re.compile(r"\{[ \t]*[A-Za-z_][\w.]*[ \t]*\}", re.ASCII)
_WORD = re.compile(r"\w+")

# The end of a sentence, of a line, or of the heading of a list. A line that continues in lower case
# belongs to the same sentence.
_BREAK = re.compile(r"(?<=[.!?])[ \n]|(?<=[:;])\n(?!\{)|\n(?![a-z{])")

# "The user asks: {request.query}": the query comes last, after words that only introduce it.
_INTRODUCTION = re.compile(rf"(?P<before>[^{{}}]*){_QUERY}[\"'`>)\].,;:!]*\Z")
_INTRODUCING = frozenset(
    _WORD.findall(
        "a an and as ask asked asks current following from gave given gives has have here input is "
        "it just message new now of original query question request s said says sent that the "
        "their this to typed user users was with wrote"
    )
)

# Without one of these, "ask {request.query}" may be an instruction.
_INTRODUCED = frozenset({"user", "users", "query", "question", "request", "message", "input"})

_DEMAND = re.compile(
    r"(?:(?:please|then|now|and|also)[ \n])*"
    r"(?:assign|give|return|provide|output|produce|answer[ \n]with)[ \n]"
    r"(?:(?:it|this[ \n]tool|the[ \n]tool|me)[ \n])?"
    r"(?:a|an|the)[ \n](?:(?:relevance|integer|numeric|single)[ \n])?score\b"
    r"(?:,?[ \n](?:(?:from|between|of)[ \n])?\(?0[ \n]?(?:to|and|-|\N{EN DASH})[ \n]?100\)?)?"
    r"(?:[ \n]?(?P<end>[.!:;]|\Z)|,?[ \n](?:(?:for|on|of|as[ \n]to|saying|indicating)[ \n])?"
    r"(?=(?:how|whether|if|that)\b))",
    re.IGNORECASE,
)
_FIT = frozenset(
    _WORD.findall(
        "a an and answers applies appropriate fits for how if is it or query question relevant "
        "right serves suitable suits that the this to tool useful user well whether"
    )
)


def purpose(prompt: str | None, name: str) -> str:
    """Return the sentences of a prompt that describe its tool, with their placeholders.

    Every word is kept except introductions of the query and demands for a score.

    Args:
        prompt: The prompt, if the tool has one.
        name: The name of the tool. A sentence that only says that this tool fits is left out.

    Returns:
        The text in the lines of the prompt, without indentation and empty lines; empty if the
        prompt does not describe the tool.
    """
    lines = (" ".join(line.split()) for line in (prompt or "").splitlines())
    text = "\n".join(line for line in lines if line)
    known = set(_FIT | _words(name.replace("_", " ")))
    kept: list[tuple[str, str, bool]] = []
    for sentence, ending in _sentences(text):
        demand = _DEMAND.match(sentence)
        if demand is not None:
            reason = sentence[demand.end() :].strip()
            kept.append((reason[:1].upper() + reason[1:], ending, "{" not in reason))
        elif not _introduces(sentence):
            kept.append((sentence, ending, False))
            known |= _words(sentence)
    text = "".join(
        sentence + ending
        for sentence, ending, may_go in kept
        if sentence and not (may_go and _words(sentence) <= known)
    )
    return text.strip()


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a text, each with the space or newline that follows it."""
    start = 0
    for found in _BREAK.finditer(text):
        yield text[start : found.start()], found.group()
        start = found.end()
    yield text[start:], ""


def _introduces(sentence: str) -> bool:
    """Return True if a sentence only introduces the query."""
    found = _INTRODUCTION.match(sentence)
    if found is None:
        return False
    words = _words(found["before"])
    return not words or (words <= _INTRODUCING and not words.isdisjoint(_INTRODUCED))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_PLACEHOLDER.sub(" ", text).casefold()))
