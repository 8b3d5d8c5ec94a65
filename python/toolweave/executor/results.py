r"""What tools return, as the text that the model reads.

Example:
    >>> to_text("sunny"), to_text({"degrees": 20}), to_text(None)
    ('sunny', '{"degrees":20}', 'null')
    >>> truncate("0123456789", 4)
    '0123\n[truncated: 6 of 10 characters left out]'
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from os import PathLike, fspath
from typing import Any
from uuid import UUID

from ..exceptions import ResultError

MAX_DEPTH = 128
"""How deep a result may be nested, as deep as the arguments of a call."""


def to_text(value: object) -> str:
    """The text of a result: a string as it is, anything else as JSON.

    Besides JSON values it knows pydantic models, dataclasses, named tuples (objects), enums (their
    values), dates and times (ISO 8601), bytes (their text, or Base64), decimals, UUIDs and paths
    (strings), sets (sorted), NumPy's scalars and arrays, any mapping or sequence, and whatever has
    a ``to_dict``. NaN and infinities are null, as in JavaScript.

    Args:
        value: What the tool returned.

    Raises:
        ResultError: Something in it is nothing of that, is nested deeper than 128 levels, or
            contains itself; the message says what and where.
    """
    if not isinstance(value, str):
        value = to_json_value(value)
        if not isinstance(value, str):
            return _dump(value)
    return _clean(value)


def to_json_value(value: object) -> Any:
    """The result as plain JSON values: dicts, lists, strings, numbers, booleans and None.

    Raises:
        ResultError: As `to_text`.
    """
    return _plain(value, ())


def truncate(text: str, max_chars: int | None) -> str:
    """The beginning of a text that is too long, and a line that says so.

    Args:
        text: The text.
        max_chars: How much of it is kept, in characters; None for all.
    """
    if max_chars is None or len(text) <= max_chars:
        return text
    left_out = len(text) - max_chars
    notice = f"[truncated: {left_out} of {len(text)} characters left out]"
    return f"{text[:max_chars]}\n{notice}"


def _dump(value: Any) -> str:
    try:
        import orjson

        return orjson.dumps(value).decode()
    except (ImportError, TypeError):
        # TypeError: integers beyond 64 bits.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _clean(text: str) -> str:
    """The text without halves of characters, which nothing could send."""
    if text.isascii():
        return str.__str__(text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _plain(value: Any, path: tuple[str | int, ...]) -> Any:
    if value is None or value is True or value is False:
        return value
    if isinstance(value, Enum):
        return _plain(value.value, path)
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if len(path) >= MAX_DEPTH:
        raise _error(path, f"is nested deeper than {MAX_DEPTH} levels, or contains itself")
    if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict"):
        return [_plain(item, (*path, at)) for at, item in enumerate(value)]
    if isinstance(value, Mapping):
        return _object(value.items(), path)
    return _other(value, path)


def _other(value: Any, path: tuple[str | int, ...]) -> Any:
    if isinstance(value, type):
        raise _error(path, f"is the class {value.__name__}")
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{value.total_seconds():.15g}S"
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if isinstance(value, PathLike):
        return _plain(fspath(value), path)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _text_of(bytes(value))
    if isinstance(value, AbstractSet):
        items = [_plain(item, path) for item in value]
        return sorted(items, key=lambda item: (type(item).__name__, _dump(item)))
    if is_dataclass(value):
        return _object(((each.name, getattr(value, each.name)) for each in fields(value)), path)
    converted = _converted(value, path)
    if converted is not value:
        return _plain(converted, path)
    if isinstance(value, Sequence):
        return [_plain(item, (*path, at)) for at, item in enumerate(value)]
    raise _error(path, f"is of the type {type(value).__name__}")


def _converted(value: Any, path: tuple[str | int, ...]) -> Any:
    """The value as it converts itself, or the value if it does not."""
    of = type(value)
    try:
        if hasattr(of, "model_dump"):
            return value.model_dump(mode="json")
        for method in ("_asdict", "to_dict"):
            if hasattr(of, method):
                return getattr(value, method)()
        if hasattr(of, "dtype"):
            # NumPy and whatever looks like it: a scalar becomes a scalar, an array a list.
            return value.tolist()
    except Exception as error:
        raise _error(path, f"cannot be converted: {of.__name__}: {error}") from error
    return value


def _object(items: Iterable[tuple[Any, Any]], path: tuple[str | int, ...]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in items:
        name = _key(key, path)
        if name in result:
            raise _error(path, f"has two keys that are written {name!r}")
        result[name] = _plain(value, (*path, name))
    return result


def _key(key: object, path: tuple[str | int, ...]) -> str:
    plain = _plain(key, path) if not isinstance(key, str) or isinstance(key, Enum) else _clean(key)
    if isinstance(plain, str):
        return plain
    if plain is None or isinstance(plain, (bool, int, float)):
        return _dump(plain)
    raise _error(path, f"has a key of the type {type(key).__name__}")


def _text_of(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return base64.b64encode(content).decode()


def _error(path: tuple[str | int, ...], what: str) -> ResultError:
    pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path[:20])
    place = f"{pointer} of the result" if pointer else "the result"
    return ResultError(f"not JSON: {place} {what}", pointer)
