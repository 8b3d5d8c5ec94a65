"""Text for columns: whatever is given, no database refuses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import String, Text
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

MAX_ID_LENGTH = 255
"""In characters."""

_INVALID_ID = "\ufffd" * (MAX_ID_LENGTH + 1)


class Id(TypeDecorator[str]):
    """An id. What cannot be one, such as what somebody has put into a URL, is found nowhere."""

    impl = String(MAX_ID_LENGTH)
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """What is sent to the database."""
        del dialect
        return _INVALID_ID if value is not None and not is_id(value) else value


class SafeText(TypeDecorator[str]):
    """Text of anybody's. Characters that no database takes are replaced."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """What is sent to the database."""
        del dialect
        return None if value is None else safe_text(value)


def is_id(value: str) -> bool:
    """Whether all databases take it as an id: no control characters, no half characters."""
    return 0 < len(value) <= MAX_ID_LENGTH and not any(
        character < " " or "\ud800" <= character <= "\udfff" for character in value
    )


def safe_text(value: str) -> str:
    """The text as a `SafeText` column has it."""
    if value.isascii():
        return value.replace("\0", "\ufffd")
    return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
