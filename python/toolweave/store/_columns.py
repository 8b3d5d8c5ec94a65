"""Column types for text that no database rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import String, Text
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

MAX_ID_LENGTH = 255
"""Maximum length of an id, in characters."""

_INVALID_ID = "\ufffd" * (MAX_ID_LENGTH + 1)


class Id(TypeDecorator[str]):
    """Column type of ids. An invalid id, for example from a URL, matches no row."""

    impl = String(MAX_ID_LENGTH)
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
    return 0 < len(value) <= MAX_ID_LENGTH and not any(
        character < " " or "\ud800" <= character <= "\udfff" for character in value
    )


def safe_text(value: str) -> str:
    """Return a text as a `SafeText` column stores it."""
    if value.isascii():
        return value.replace("\0", "\ufffd")
    return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
