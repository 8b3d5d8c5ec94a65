"""What a model is told about a tool when it is asked about several at once.

That is what its prompt says of it, without the query and the demand for a score; see
`toolweave.registry.purpose`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from .._core import PromptTemplate
from ..registry.purpose import QUERY_PLACEHOLDERS, purpose
from .reply_format import example_reply, is_score

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._core import ToolEntry

TYPE_PLACEHOLDERS = frozenset({"request.itemType", "site.itemType"})
"""The placeholders that stand for the type."""


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
    tool: ToolEntry,
    *,
    item_type: str,
    site: str | None,
    examples: int,
    prompt_chars: int | None,
) -> Description:
    """What a model is told about a tool. It is the same for every query.

    Args:
        tool: The tool.
        item_type: The type that is asked about.
        site: The site, if any.
        examples: How many of its examples to tell.
        prompt_chars: How much of what its prompt says of it; None for all.
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
    """The text that says what a tool is for, with placeholders filled in."""
    values = {name: f"[{name}]" for name in facts}
    values.update(dict.fromkeys(QUERY_PLACEHOLDERS, "the query"))
    values.update(dict.fromkeys(TYPE_PLACEHOLDERS, item_type))
    values["request.site"] = site or ""
    return PromptTemplate(purpose(tool.prompt, tool.name)).render(values)


def _parameters(tool: ToolEntry) -> dict[str, Any]:
    """The parameters of the handler, each with what its value should be, in words."""
    if not isinstance(tool.return_struc, dict):
        return tool.arguments
    required = frozenset(tool.parameters.get("required", ()))
    return {
        name: f"{value} (required)" if name in required and isinstance(value, str) else value
        for name, value in example_reply(tool).items()
        if not is_score(name)
    }


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
