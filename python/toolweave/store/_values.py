"""Values that every database accepts: column types, ids and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import String, Text
from sqlalchemy.types import TypeDecorator

from ..exceptions import MessageError

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

_MAX_ID_LENGTH = 255
"""Maximum length of an id, in characters."""

_INVALID_ID = "\ufffd" * (_MAX_ID_LENGTH + 1)


class Id(TypeDecorator[str]):
    """Column type of ids. An invalid id, for example from a URL, matches no row."""

    impl = String(_MAX_ID_LENGTH)
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Convert a value for the database."""
        del dialect
        return _INVALID_ID if value is not None and not is_id(value) else value


class SafeText(TypeDecorator[str]):
    """Column type of arbitrary text. Characters that databases reject are replaced."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Convert a value for the database."""
        del dialect
        return None if value is None else safe_text(value)


def is_id(value: str) -> bool:
    """Return True if every database accepts an id: no control characters, no lone surrogates."""
    return 0 < len(value) <= _MAX_ID_LENGTH and not any(
        character < " " or "\ud800" <= character <= "\udfff" for character in value
    )


def safe_text(value: str) -> str:
    """Return a text as a `SafeText` column stores it."""
    if value.isascii():
        return value.replace("\0", "\ufffd")
    return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def checked_id(value: object, name: str) -> str:
    """Return an id if every database accepts it.

    Raises:
        TypeError: The id is not a string.
        ValueError: The id is empty, too long, or contains control characters or lone surrogates.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}")
    if not value or len(value) > _MAX_ID_LENGTH:
        raise ValueError(f"{name} must be 1 to {_MAX_ID_LENGTH} characters long, got {len(value)}")
    if not is_id(value):
        raise ValueError(
            f"{name} must not contain control characters or lone surrogates, got {value!r}"
        )
    return value


def optional_id(value: object, name: str) -> str | None:
    """Return an id as `checked_id` does; None is accepted as well."""
    return None if value is None else checked_id(value, name)


def checked_object(value: object, name: str) -> dict[str, Any]:
    """Return a mapping as a dict.

    Raises:
        TypeError: The value is not a mapping.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping, got {type(value).__name__}")
    return dict(cast("Mapping[str, Any]", value))


def to_json(value: object, what: str, limit: int | None = None) -> str:
    """Serialize a value as JSON text that every database accepts.

    Args:
        value: The value.
        what: Name of the value, for errors.
        limit: Maximum size, in bytes; None for no limit.

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
    return text if limit is None else check_size(text, what, limit)


def check_size(text: str, what: str, limit: int) -> str:
    """Return a text unless it is too long.

    Raises:
        MessageError: The text is too long.
    """
    # Encode only texts that may be too long.
    if len(text) * 4 > limit and (size := len(text.encode())) > limit:
        raise MessageError(f"{what} must be at most {limit} bytes long as JSON, got {size}")
    return text
