"""What a model is told about a tool when it is asked about several at once.

The prompts of NLWeb are made to be asked alone: each says what the query is, what the tool does,
and to assign a score. Of that, a model that is asked about all tools needs what the tool does.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._core import PromptTemplate
from .form import QUERIES, is_score

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._core import ToolEntry

TYPES = frozenset({"request.itemType", "site.itemType"})
"""The placeholders that stand for the type."""

_PLACEHOLDER = re.compile(r"\{\s*(" + "|".join(re.escape(n) for n in sorted(QUERIES)) + r")\s*\}")
_SCORE_ME = re.compile(r"(?:assign|give|return)\s+a\s+score\b[^.\n]*\.?", re.IGNORECASE)
# "The user has the following query: {request.query}."
_MOST_INTRODUCTION = 10


class Description(NamedTuple):
    """What is told about a tool."""

    text: str
    """What it does, as its prompt says."""
    block: str
    """The name, the text and the parameters."""
    examples: tuple[str, ...]
    """Queries that it is for."""
    facts: tuple[str, ...]
    """The placeholders in it whose values differ from query to query; the query is none of them."""


def describe(
    tool: ToolEntry, *, item_type: str, site: str | None, examples: int, prompt_chars: int
) -> Description:
    """What a model is told about a tool. It is the same for every query.

    Args:
        tool: The tool.
        item_type: The type that is asked about.
        site: The site, if any.
        examples: How many of its examples to tell.
        prompt_chars: How much of its prompt.
    """
    facts = tuple(
        name for name in tool.placeholders if name not in (*QUERIES, *TYPES, "request.site")
    )
    text = _cut(_purpose(tool, item_type, site, facts), prompt_chars)
    lines = [f"## {_one_line(tool.name)}"]
    if text:
        lines.append(text)
    parameters = _parameters(tool)
    if parameters:
        lines.append(f"Parameters: {json.dumps(parameters, ensure_ascii=False)}")
    shown = [_one_line(example) for example in tool.examples if example.strip()]
    return Description(text, "\n".join(lines), tuple(shown[:examples]), facts)


def _purpose(tool: ToolEntry, item_type: str, site: str | None, facts: Iterable[str]) -> str:
    """The prompt without what is said in other words: the query, and to assign a score."""
    if not tool.prompt:
        return ""
    kept: list[str] = []
    for line in tool.prompt.splitlines():
        rest, number = _PLACEHOLDER.subn("", line)
        if number and len(rest.split()) <= _MOST_INTRODUCTION:
            continue
        line = _SCORE_ME.sub("", line).strip()
        # Indentation and empty lines only cost tokens.
        if line:
            kept.append(" ".join(line.split()))
    values = dict.fromkeys(facts, "")
    values.update({name: f"[{name}]" for name in facts})
    values.update(dict.fromkeys(QUERIES, "the query"))
    values.update(dict.fromkeys(TYPES, item_type))
    values["request.site"] = site or ""
    return PromptTemplate("\n".join(kept)).render(values)


def _parameters(tool: ToolEntry) -> dict[str, Any]:
    """What the handler is to be given: each with what its value should be."""
    structure = tool.return_struc
    if isinstance(structure, dict):
        fields = cast("dict[str, Any]", structure)
        return {name: value for name, value in fields.items() if not is_score(name)}
    return tool.arguments


def _cut(text: str, most: int) -> str:
    """At most so many characters, in whole lines if there are any."""
    if len(text) <= most:
        return text
    kept = text[:most]
    lines = kept.splitlines()[:-1]
    # The head of a list is of no use without its points.
    while lines and lines[-1].endswith(":"):
        lines.pop()
    return "\n".join(lines) or kept.rpartition(" ")[0] or kept


def _one_line(text: str) -> str:
    return " ".join(text.split())
