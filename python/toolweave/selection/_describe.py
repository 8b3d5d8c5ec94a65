"""Descriptions of tools for prompts about several tools.

A description is the prompt of a tool without the query and the demand for a score; see
`toolweave.registry._purpose`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from .._core import PromptTemplate
from ..registry._purpose import QUERY_PLACEHOLDERS, purpose
from ._reply_format import example_reply, is_score

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._core import ToolEntry

TYPE_PLACEHOLDERS = frozenset({"request.itemType", "site.itemType"})
"""Placeholders for the type."""


class Description(NamedTuple):
    """Description of a tool for a model."""

    text: str
    """Purpose of the tool, from its prompt."""
    block: str
    """Name, text and parameters."""
    examples: tuple[str, ...]
    """Example queries."""
    facts: tuple[str, ...]
    """Placeholders in it whose values depend on the request, other than the query."""


def describe(
    tool: ToolEntry,
    *,
    item_type: str,
    site: str | None,
    examples: int,
    prompt_chars: int | None,
) -> Description:
    """Describe a tool for a model. The description is the same for every query.

    Args:
        tool: The tool.
        item_type: The type of the query.
        site: The site, if any.
        examples: Maximum number of examples.
        prompt_chars: Maximum length of the text, in characters; None for no limit.
    """
    facts = tuple(
        name
        for name in tool.placeholders
        if name not in (*QUERY_PLACEHOLDERS, *TYPE_PLACEHOLDERS, "request.site")
    )
    text = _purpose(tool, item_type, site, facts)
    if prompt_chars is not None:
        text = _cut(text, prompt_chars)
    lines = [f"## {_one_line(tool.name)}"]
    if text:
        lines.append(text)
    parameters = _parameters(tool)
    if parameters:
        lines.append(f"Parameters: {json.dumps(parameters, ensure_ascii=False)}")
    shown = [_one_line(example) for example in tool.examples if example.strip()]
    return Description(text, "\n".join(lines), tuple(shown[:examples]), facts)


def _purpose(tool: ToolEntry, item_type: str, site: str | None, facts: Iterable[str]) -> str:
    """Return the purpose of a tool with its placeholders filled in."""
    values = {name: f"[{name}]" for name in facts}
    values.update(dict.fromkeys(QUERY_PLACEHOLDERS, "the query"))
    values.update(dict.fromkeys(TYPE_PLACEHOLDERS, item_type))
    values["request.site"] = site or ""
    return PromptTemplate(purpose(tool.prompt, tool.name)).render(values)


def _parameters(tool: ToolEntry) -> dict[str, Any]:
    """Return the parameters of the handler, each with its value described in words."""
    if not isinstance(tool.return_struc, dict):
        return tool.arguments
    required = frozenset(tool.parameters.get("required", ()))
    return {
        name: f"{value} (required)" if name in required and isinstance(value, str) else value
        for name, value in example_reply(tool).items()
        if not is_score(name)
    }


def _cut(text: str, most: int) -> str:
    """Truncate a text to `most` characters, at the end of a line if possible."""
    if len(text) <= most:
        return text
    kept = text[:most]
    lines = kept.splitlines()[:-1]
    # The heading of a list is useless without its items.
    while lines and lines[-1].endswith(":"):
        lines.pop()
    return "\n".join(lines) or kept.rpartition(" ")[0] or kept


def _one_line(text: str) -> str:
    return " ".join(text.split())
