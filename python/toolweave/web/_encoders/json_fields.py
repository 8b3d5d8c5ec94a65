"""Reading fields of events, and writing payloads.

Events may come from a later version, so a field of an unexpected type counts as absent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping


def text_of(fields: Mapping[str, object], name: str) -> str | None:
    """Return a string field; None if it is absent or of another type."""
    value = fields.get(name)
    return value if isinstance(value, str) else None


def number_of(fields: Mapping[str, object], name: str) -> int:
    """Return an integer field; 0 if it is absent or of another type."""
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def fields_of(fields: Mapping[str, object], name: str) -> dict[str, object] | None:
    """Return an object field; None if it is absent or of another type."""
    value = fields.get(name)
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def items_of(fields: Mapping[str, object], name: str) -> list[dict[str, object]]:
    """Return the objects in an array field; empty if it is absent or of another type."""
    value = fields.get(name)
    if not isinstance(value, list):
        return []
    found = cast("list[object]", value)
    return [cast("dict[str, object]", item) for item in found if isinstance(item, dict)]


def pick(fields: Mapping[str, object], *names: str) -> dict[str, object]:
    """Return the named fields, without those that are absent or None."""
    return {name: fields[name] for name in names if fields.get(name) is not None}


def to_text(value: object) -> str:
    """Return a value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def payload(type_: str, **fields: object) -> str:
    """Return a payload of a type, without fields that are None: clients reject null."""
    present = {name: value for name, value in fields.items() if value is not None}
    return to_text({"type": type_, **present})


def is_json_of(text: str, value: object) -> bool:
    """Return True if a text is the JSON of a value."""
    try:
        # Compared as text, since Python considers 1, 1.0 and True equal.
        return to_text(json.loads(text)) == to_text(value)
    except (ValueError, RecursionError):
        return False
