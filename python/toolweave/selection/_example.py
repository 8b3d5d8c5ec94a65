"""Examples of values for a JSON Schema, for models that need to be shown what to write.

Example:
    >>> schema_example({"type": "object", "properties": {"days": {"type": "integer"}}})
    {'days': 'integer'}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

_MAX_DEPTH = 6
# The example of a schema that refers to itself in many places would be endless.
_MAX_PARTS = 1000
_ANYTHING = "any value"


def schema_example(schema: object, *, root: object = None) -> Any:
    """Return an example in which each value describes itself in words.

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
