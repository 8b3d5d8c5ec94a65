"""Reading events, and writing payloads.

Events may be of a later version, so a field of an unexpected type counts as absent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping


def text_of(fields: Mapping[str, object], name: str) -> str | None:
    """A field that is text; None if it is absent or something else."""
    value = fields.get(name)
    return value if isinstance(value, str) else None


def number_of(fields: Mapping[str, object], name: str) -> int:
    """A field that is a whole number; 0 if it is absent or something else."""
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def fields_of(fields: Mapping[str, object], name: str) -> dict[str, object] | None:
    """A field that is an object; None if it is absent or something else."""
    value = fields.get(name)
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def items_of(fields: Mapping[str, object], name: str) -> list[dict[str, object]]:
    """The objects in a field that is a list."""
    value = fields.get(name)
    if not isinstance(value, list):
        return []
    found = cast("list[object]", value)
    return [cast("dict[str, object]", item) for item in found if isinstance(item, dict)]


def pick(fields: Mapping[str, object], *names: str) -> dict[str, object]:
    """Some of the fields, as far as they are there."""
    return {name: fields[name] for name in names if fields.get(name) is not None}


def to_text(value: object) -> str:
    """JSON as short as it gets."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def payload(type_: str, **fields: object) -> str:
    """A payload of that type, without the fields that are None: clients take no null."""
    present = {name: value for name, value in fields.items() if value is not None}
    return to_text({"type": type_, **present})


def is_json_of(text: str, value: object) -> bool:
    """Whether a text is the JSON of a value."""
    try:
        # As text, since for Python 1 is 1.0, and even True.
        return to_text(json.loads(text)) == to_text(value)
    except (ValueError, RecursionError):
        return False
