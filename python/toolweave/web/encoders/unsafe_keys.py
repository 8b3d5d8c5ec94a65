"""Keys that the parser of the AI SDK refuses, for fear of the prototypes of its objects.

It gives up the whole stream at one, wherever that stands, and models may write anything.
"""

from __future__ import annotations

from typing import cast

from .json_fields import to_text

_UNSAFE = ('"__proto__":', '"constructor":{')


def has_unsafe_key(text: str) -> bool:
    """Whether clients refuse a JSON text."""
    return any(each in text for each in _UNSAFE)


def sanitize(value: object) -> object:
    """What clients take in place of a value: where they refuse it, its JSON as text.

    Nothing is left out, since somebody may be asked to approve of it.
    """
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        value = {name: _as_text_if_unsafe(each) for name, each in fields.items()}
    return _as_text_if_unsafe(value)


def _as_text_if_unsafe(value: object) -> object:
    text = to_text(value)
    return text if has_unsafe_key(text) else value
