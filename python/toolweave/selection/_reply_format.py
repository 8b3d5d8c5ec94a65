"""Formats of replies about single tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..registry._purpose import QUERY_PLACEHOLDERS
from ._example import schema_example

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import ToolEntry

SCORE: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 100}
"""JSON Schema of a score."""

_SCORE_TEXT = "integer from 0 to 100"


def is_score(name: str) -> bool:
    """Return True if a member of a structure or a reply is the score."""
    return name.casefold() == "score"


class ReplyFormat(NamedTuple):
    """Format of the reply about a tool."""

    text: str
    """Description for the model."""
    schema: dict[str, Any]
    """JSON Schema for the provider."""
    mentions_query: bool
    """True if the prompt of the tool contains the query."""


def reply_format(tool: ToolEntry) -> ReplyFormat:
    """Return the format of the reply about a tool: its structure, always with a score."""
    structure = example_reply(tool)
    if not any(is_score(name) for name in structure):
        structure = {"score": _SCORE_TEXT, **structure}
    example = json.dumps(structure, ensure_ascii=False)
    text = f"Reply with one JSON object and nothing else, in this form:\n{example}"
    return ReplyFormat(text, tool.schema, not QUERY_PLACEHOLDERS.isdisjoint(tool.placeholders))


def example_reply(tool: ToolEntry) -> dict[str, Any]:
    """Return an example of the reply, even if the structure is a JSON Schema.

    A model that is shown a schema tends to write a schema.
    """
    given: object = tool.return_struc
    structure = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    asked: Mapping[str, Any] = tool.schema["properties"]
    if {name for name in asked if not is_score(name)} == {
        name for name in structure if not is_score(name)
    }:
        return structure
    return {
        name: _SCORE_TEXT if is_score(name) else schema_example(schema, root=structure)
        for name, schema in asked.items()
    }
