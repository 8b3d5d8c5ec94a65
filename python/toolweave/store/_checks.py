"""Checks of stored values, and their serialization."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from ..exceptions import MessageError
from ._columns import MAX_ID_LENGTH, is_id


def checked_id(value: object, name: str) -> str:
    """Return an id if every database accepts it.

    Raises:
        TypeError: The id is not a string.
        ValueError: The id is empty, too long, or contains control characters or lone surrogates.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}")
    if not value or len(value) > MAX_ID_LENGTH:
        raise ValueError(f"{name} must be 1 to {MAX_ID_LENGTH} characters long, got {len(value)}")
    if not is_id(value):
        raise ValueError(
            f"{name} must not contain control characters or lone surrogates, got {value!r}"
        )
    return value


def optional_id(value: object, name: str) -> str | None:
    """Return an id as `checked_id` does; None is accepted as well."""
    return None if value is None else checked_id(value, name)


def to_json(value: object, what: str, limit: int) -> str:
    """Serialize a value as JSON text that every database accepts.

    Args:
        value: The value.
        what: Name of the value, for errors.
        limit: Maximum size, in bytes.

    Raises:
        MessageError: The value is not JSON, or is too long.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"{what} cannot be written as JSON: {error}") from error
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            # A lone surrogate can only be stored as an escape sequence.
            text = json.dumps(value, separators=(",", ":"))
    return check_size(text, what, limit)


def check_size(text: str, what: str, limit: int) -> str:
    """Return a text unless it is too long.

    Raises:
        MessageError: The text is too long.
    """
    # Encode only texts that may be too long.
    if len(text) * 4 > limit and (size := len(text.encode())) > limit:
        raise MessageError(f"{what} must be at most {limit} bytes long as JSON, got {size}")
    return text


def checked_object(value: object, name: str) -> dict[str, Any]:
    """Return a mapping as a dict.

    Raises:
        TypeError: The value is not a mapping.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping, got {type(value).__name__}")
    return dict(cast("Mapping[str, Any]", value))
