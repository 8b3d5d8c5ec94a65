"""Keys that the AI SDK's parser rejects, to prevent prototype pollution.

The parser aborts the whole stream at such a key, wherever it is, and models may write any key.
"""

from __future__ import annotations

from typing import cast

from .json_fields import to_text

_UNSAFE = ('"__proto__":', '"constructor":{')


def has_unsafe_key(text: str) -> bool:
    """Return True if clients reject a JSON text."""
    return any(each in text for each in _UNSAFE)


def sanitize(value: object) -> object:
    """Return a value that clients accept: JSON that they would reject becomes a string.

    Nothing is omitted, since the user may have to approve the value.
    """
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        value = {name: _as_text_if_unsafe(each) for name, each in fields.items()}
    return _as_text_if_unsafe(value)


def _as_text_if_unsafe(value: object) -> object:
    text = to_text(value)
    return text if has_unsafe_key(text) else value
