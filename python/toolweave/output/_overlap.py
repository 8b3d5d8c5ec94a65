"""Check that the members of a union can be distinguished by a JSON value.

Two members can be distinguished if no value fits both, where an object has only the properties that
its schema names. Values that are the same in both, such as 1 as an integer and as a number, count
as distinguished.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from ..tools._plain import is_array, is_object

# References and nested unions that are followed.
_MAX_DEPTH = 16

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_KEYWORDS_BY_TYPE = {"properties": "object", "items": "array", "prefixItems": "array"}


class Shape:
    """A schema with the root that its references refer to."""

    def __init__(self, schema: Any, root: Mapping[str, Any] | None = None, depth: int = 0) -> None:
        self.root: Mapping[str, Any] = (
            root if root is not None else (schema if is_object(schema) else {})
        )
        self.depth = depth
        self.schema: Mapping[str, Any] = self._resolved(schema)

    def _resolved(self, schema: Any) -> Mapping[str, Any]:
        while is_object(schema) and isinstance(schema.get("$ref"), str):
            self.depth += 1
            reference: str = schema["$ref"]
            if not reference.startswith("#") or self.depth > _MAX_DEPTH:
                return {}
            found: Any = self.root
            for step in reference[1:].split("/")[1:]:
                step = step.replace("~1", "/").replace("~0", "~")
                found = found.get(step) if is_object(found) else None
            schema = found
        return schema if is_object(schema) else {}

    def inner(self, schema: Any) -> Shape:
        """Return the shape of a schema inside this one."""
        return Shape(schema, self.root, self.depth + 1)

    @property
    def alternatives(self) -> tuple[Shape, ...]:
        """The members of an ``anyOf`` or ``oneOf``; the shape itself if it has none."""
        members = self.schema.get("anyOf") or self.schema.get("oneOf")
        if not is_array(members) or self.depth > _MAX_DEPTH:
            return (self,)
        return tuple(found for each in members for found in self.inner(each).alternatives)

    @property
    def values(self) -> list[Any] | None:
        """The values that the schema lists; None if it does not."""
        if "const" in self.schema:
            return [self.schema["const"]]
        listed = self.schema.get("enum")
        return listed if is_array(listed) else None

    @property
    def types(self) -> frozenset[str]:
        """The JSON types of the values."""
        given = self.schema.get("type")
        if isinstance(given, str):
            return frozenset({given})
        if is_array(given):
            return frozenset(cast("list[str]", given))
        if self.values is not None:
            return frozenset(_type_of(value) for value in self.values)
        for keyword, name in _KEYWORDS_BY_TYPE.items():
            if keyword in self.schema:
                return frozenset({name})
        return frozenset(_TYPES)

    @property
    def properties(self) -> Mapping[str, Any]:
        """The schemas of the properties by name."""
        found = self.schema.get("properties")
        return found if is_object(found) else {}

    @property
    def required(self) -> frozenset[str]:
        """The names of the properties that values must have."""
        return frozenset(self.schema.get("required") or ())

    def member(self, name: str) -> Shape | None:
        """Return the shape of a property; None if objects do not have it."""
        if name in self.properties:
            return self.inner(self.properties[name])
        more = self.schema.get("additionalProperties")
        if is_object(more):
            return self.inner(more)
        return self.inner({}) if more is True or not self.properties else None


def are_distinct(first: Shape, second: Shape) -> bool:
    """Return True if values of two schemas can be distinguished."""
    return _Comparison().are_distinct(first, second)


def types_of(schema: Any) -> frozenset[str]:
    """Return the JSON types that a schema accepts."""
    found: frozenset[str] = frozenset()
    for each in Shape(schema).alternatives:
        found |= each.types
    return found


class _Comparison:
    """The comparison of two schemas, which compares two of their parts once.

    Types that contain themselves have exponentially many paths to the same parts.
    """

    def __init__(self) -> None:
        # With the parts, so that their ids stay theirs.
        self._known: dict[tuple[int, int], tuple[Shape, Shape, bool]] = {}

    def are_distinct(self, first: Shape, second: Shape) -> bool:
        """Return True if values of two schemas can be distinguished."""
        return all(
            self._is_pair_distinct(one, other)
            for one in first.alternatives
            for other in second.alternatives
        )

    def _is_pair_distinct(self, one: Shape, other: Shape) -> bool:
        key = id(one.schema), id(other.schema)
        if key not in self._known:
            # What distinguishes two types is not found inside them in the same two types.
            self._known[key] = one, other, False
            self._known[key] = one, other, self._compare(one, other)
        return self._known[key][2]

    def _compare(self, one: Shape, other: Shape) -> bool:
        common = one.types & other.types
        if not common:
            return True
        if one.values is not None and other.values is not None:
            values = {_key(value) for value in one.values}
            return values.isdisjoint(_key(value) for value in other.values)
        if max(one.depth, other.depth) > _MAX_DEPTH:
            return False
        tests = {"array": self._are_arrays_distinct, "object": self._are_objects_distinct}
        return all(name in tests and tests[name](one, other) for name in common)

    def _are_arrays_distinct(self, one: Shape, other: Shape) -> bool:
        # Both are equal where they are empty.
        first, second = (each.inner(each.schema.get("items")) for each in (one, other))
        return self.are_distinct(first, second)

    def _are_objects_distinct(self, one: Shape, other: Shape) -> bool:
        return any(self._distinguishing(one, other)) or any(self._distinguishing(other, one))

    def _distinguishing(self, one: Shape, other: Shape) -> Iterator[bool]:
        """Yield, for each property that `one` requires, true if it distinguishes the two."""
        for name in one.required:
            mine, found = one.member(name), other.member(name)
            yield found is None or (mine is not None and self.are_distinct(mine, found))


def _type_of(value: Any) -> str:
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "array" if is_array(value) else "object"


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
