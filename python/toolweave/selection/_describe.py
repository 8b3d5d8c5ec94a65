"""Descriptions of tools for a model, and of the replies about them.

A description is the prompt of a tool without the query and the demand for a score; see
`toolweave.registry._purpose`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._core import PromptTemplate
from ..registry._purpose import QUERY_PLACEHOLDERS, purpose

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._core import ToolEntry

TYPE_PLACEHOLDERS = frozenset({"request.itemType", "site.itemType"})
"""Placeholders for the type."""

SCORE: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 100}
"""JSON Schema of a score."""

_SCORE_TEXT = "integer from 0 to 100"

_MAX_DEPTH = 6
# The example of a schema that refers to itself in many places would be endless.
_MAX_PARTS = 1000
_ANYTHING = "any value"


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


def is_score(name: str) -> bool:
    """Return True if a member of a structure or a reply is the score."""
    return name.casefold() == "score"


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has all of the properties, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


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


def schema_example(schema: object, *, root: object = None) -> Any:
    """Return an example for a JSON Schema, in which each value describes itself in words.

    Example:
        >>> schema_example({"type": "object", "properties": {"days": {"type": "integer"}}})
        {'days': 'integer'}

    Args:
        schema: The schema.
        root: The schema that contains it, with the ``$defs`` that it may refer to.
    """
    return _ExampleBuilder(schema if root is None else root).of(schema, 0)


class _ExampleBuilder:
    def __init__(self, root: object) -> None:
        self._root = root
        self._cancelled = _MAX_PARTS

    def of(self, schema: object, depth: int) -> Any:
        self._cancelled -= 1
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH or self._cancelled < 0:
            return _ANYTHING
        part = cast("Mapping[str, Any]", schema)
        reference: object = part.get("$ref")
        if isinstance(reference, str):
            return self.of(self._referred(reference), depth + 1)
        for key in ("anyOf", "oneOf", "allOf"):
            options: object = part.get(key)
            if isinstance(options, list) and options:
                return self.of(_merged(part, key, cast("list[object]", options)), depth + 1)
        properties: object = part.get("properties")
        if isinstance(properties, Mapping):
            members = cast("Mapping[str, Any]", properties)
            return {name: self.of(value, depth + 1) for name, value in members.items()}
        if "items" in part:
            return [self.of(part["items"], depth + 1)]
        return _in_words(part)

    def _referred(self, reference: str) -> object:
        """Resolve a reference within the schema."""
        found: object = self._root
        for name in reference.removeprefix("#").split("/")[1:]:
            within = isinstance(found, Mapping)
            found = cast("Mapping[str, Any]", found).get(name) if within else None
        return found


def _merged(schema: Mapping[str, Any], key: str, options: list[object]) -> Mapping[str, Any]:
    """Merge a schema with the first of its options that is not null."""
    rest = {name: value for name, value in schema.items() if name != key}
    known = [each for each in options if each != {"type": "null"}] or options
    first = known[0]
    return {**rest, **cast("Mapping[str, Any]", first)} if isinstance(first, Mapping) else rest


def _in_words(schema: Mapping[str, Any]) -> str:
    options: object = [schema["const"]] if "const" in schema else schema.get("enum")
    kind: object = schema.get("type", "")
    if isinstance(options, list) and options:
        values = cast("list[object]", options)
        kind = " or ".join(json.dumps(one, ensure_ascii=False) for one in values)
    elif isinstance(kind, list):
        kind = " or ".join(str(each) for each in cast("list[object]", kind) if each != "null")
    description: object = schema.get("description")
    if not isinstance(description, str) or not description.strip():
        return str(kind) or _ANYTHING
    return description if kind in ("", "string") else f"{kind}: {description}"
