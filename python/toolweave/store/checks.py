"""What may be stored, and how it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from ..exceptions import MessageError
from .columns import MAX_ID_LENGTH, is_id


def checked_id(value: object, name: str) -> str:
    """An id that every database takes.

    Raises:
        TypeError: It is no string.
        ValueError: It is empty, too long, or holds control characters or half a character.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} is a str, not {type(value).__name__}")
    if not value or len(value) > MAX_ID_LENGTH:
        raise ValueError(f"{name} is 1 to {MAX_ID_LENGTH} characters long, not {len(value)}")
    if not is_id(value):
        raise ValueError(f"{name} holds a control character or half of a character: {value!r}")
    return value


def optional_id(value: object, name: str) -> str | None:
    """As `checked_id`, where there may be none."""
    return None if value is None else checked_id(value, name)


def to_json(value: object, what: str, limit: int) -> str:
    """JSON text that every database takes.

    Raises:
        MessageError: It is no JSON, or too long; `what` says what it is.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"{what} cannot be written as JSON: {error}") from error
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            # Half a character: only as an escape.
            text = json.dumps(value, separators=(",", ":"))
    return check_size(text, what, limit)


def check_size(text: str, what: str, limit: int) -> str:
    """The text, if it is not too long.

    Raises:
        MessageError: It is.
    """
    # Only what may be too long is measured.
    if len(text) * 4 > limit and (size := len(text.encode())) > limit:
        raise MessageError(f"{what} is {size} bytes long as JSON; at most {limit} are stored")
    return text


def checked_object(value: object, name: str) -> dict[str, Any]:
    """A JSON object.

    Raises:
        TypeError: It is no mapping.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is a mapping, not {type(value).__name__}")
    return dict(cast("Mapping[str, Any]", value))
