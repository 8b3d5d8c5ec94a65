r"""Conversion of tool results to the text that the model reads.

Example:
    >>> to_text("sunny"), to_text({"degrees": 20}), to_text(None)
    ('sunny', '{"degrees":20}', 'null')
    >>> truncate("0123456789", 4)
    '0123\n[truncated: 6 of 10 characters left out]'
"""

from __future__ import annotations

import asyncio
import base64
import functools
import importlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast
from uuid import UUID

from .._slices import has_many_parts
from ..exceptions import ResultError

if TYPE_CHECKING:
    from types import ModuleType

_T = TypeVar("_T")

MAX_DEPTH = 128
"""Maximum nesting depth of a result, the same as of the arguments of a call."""

# The path to a value; None is the step from an object to what it converts itself to.
_Path: TypeAlias = tuple[str | int | None, ...]


def to_text(value: object) -> str:
    """Return the text of a result: a string unchanged, anything else as JSON.

    Besides JSON values, these types are supported: pydantic models, dataclasses, named tuples (as
    objects), enums (as their values), dates, times and durations (as ISO 8601), bytes (as text, or
    Base64), decimals, UUIDs and paths (as strings), sets (sorted), NumPy scalars and arrays, any
    mapping or sequence, and objects with a ``to_dict`` method. JSON has no NaN and no infinities,
    so these become the strings ``NaN``, ``Infinity`` and ``-Infinity``.

    Args:
        value: Return value of the tool.

    Raises:
        ResultError: The value contains an unsupported type, is nested too deep (128 levels are
            always fine), or contains itself. The message names the type and the path.
    """
    # Most results are one of these.
    if type(value) is str:
        return utf8(value)
    if type(value) is int:
        return str(_integer(value, ()))
    if type(value) in (dict, list):
        # The fast encoder handles JSON values and rejects all other types.
        text = _fast_json(value)
        if text is not None:
            return text
    plain = to_json_value(value)
    return plain if isinstance(plain, str) else _dump(plain)


async def result_text(value: Any, max_chars: int | None) -> str:
    """Return the text of a result, truncated, without blocking the event loop for a large value.

    Raises:
        ResultError: As `to_text`.
    """
    if type(value) is str or type(value) is int:
        return truncate(to_text(value), max_chars)
    return truncate(await _to_text_off_loop(value), max_chars)


async def _to_text_off_loop(value: Any) -> str:
    if type(value) is dict or type(value) is list:
        # For most values, the fast encoder takes less time than starting a thread.
        text = _fast_json(cast("object", value))
        if text is not None:
            return text
    return await off_loop(to_text, cast("object", value))


async def off_loop(convert: Callable[[object], _T], value: object) -> _T:
    """Return `convert(value)`, computed in a thread if the value is large."""
    if not has_many_parts(value):
        return convert(value)
    try:
        return await asyncio.to_thread(convert, value)
    except RuntimeError:
        # The value was modified meanwhile, which cannot happen on the event loop's thread.
        return convert(value)


def to_json_value(value: object) -> Any:
    """Return a result as plain JSON values: dicts, lists, strings, numbers, booleans and None.

    The returned values share no objects with the result.

    Raises:
        ResultError: As `to_text`.
    """
    return _to_json(value, ())


def progress_text(value: object, max_chars: int) -> str:
    """Return the text of a progress value, which may be of any type.

    Args:
        value: Value that the tool yielded.
        max_chars: Maximum length of the text.
    """
    try:
        text = to_text(value)
    except Exception:  # noqa: BLE001 - converting the tool's value may raise anything
        text = f"({type(value).__name__})"
    return truncate(text, max_chars)


def truncate(text: str, max_chars: int | None) -> str:
    """Return a text, truncated with a notice if it is too long.

    Args:
        text: The text.
        max_chars: Maximum length without the notice, in characters; None for no limit.
    """
    if max_chars is None or len(text) <= max_chars:
        return text
    left_out = len(text) - max_chars
    notice = f"[truncated: {left_out} of {len(text)} characters left out]"
    return f"{text[:max_chars]}\n{notice}"


def utf8(text: str) -> str:
    """Return a text with U+FFFD in place of lone surrogates, which cannot be encoded."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    # Converts a subclass to a plain str.
    return str.__str__(text)


@functools.cache
def _orjson() -> ModuleType | None:
    try:
        return importlib.import_module("orjson")
    except ImportError:
        return None


def _fast_json(value: object) -> str | None:
    orjson = _orjson()
    if orjson is None:
        return None
    try:
        options = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
        text: bytes = orjson.dumps(value, None, options)
    except TypeError:
        return None
    # The encoder also writes NaN and infinities as null, without an error.
    if b"null" in text and _has_non_finite(value):
        return None
    return text.decode()


def _has_non_finite(value: object) -> bool:
    """Return True if a value contains NaN or an infinity."""
    try:
        _STRICT.encode(value)
    except ValueError:
        return True
    return False


def _dump(plain: Any) -> str:
    # The slow encoder is used without orjson, and for integers of more than 64 bits.
    return _fast_json(plain) or _ENCODER.encode(plain)


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

# Created once, since `json.dumps` creates one for every call with options.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_STRICT = json.JSONEncoder(allow_nan=False, skipkeys=True, default=str)


def _to_json(value: Any, path: _Path) -> Any:
    if value is None or value is True or value is False:
        return value
    if isinstance(value, Enum):
        return _to_json(value.value, path)
    if isinstance(value, str):
        return utf8(value)
    if isinstance(value, int):
        return _integer(int(value), path)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _NOT_FINITE[str(float(value))]
    if len(path) >= MAX_DEPTH:
        raise _error(path, "is nested too deep, or contains itself")
    inner: Any = value
    # A named tuple becomes an object.
    if isinstance(value, (list, tuple)) and not hasattr(cast("object", value), "_asdict"):
        return _array(cast("Iterable[Any]", value), path)
    if isinstance(value, Mapping):
        return _object(inner.items(), path)
    return _other(value, path)


def _integer(value: int, path: _Path) -> int:
    if value.bit_length() > 64:
        try:
            str(value)
        except ValueError as error:
            # Python limits the length of integer strings, since the conversion is slow.
            raise _error(path, "is an integer with too many digits") from error
    return value


def _other(value: Any, path: _Path) -> Any:
    if isinstance(value, type):
        raise _error(path, f"is the class {value.__name__}")
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{value.total_seconds():.15g}S"
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _decoded(bytes(cast("bytes", value)))
    if is_dataclass(value):
        return _object([(each.name, getattr(value, each.name)) for each in fields(value)], path)
    converted = _converted(value, path)
    if converted is not value:
        return _to_json(converted, (*path, None))
    if isinstance(value, AbstractSet):
        items = _array(cast("Iterable[Any]", value), path)
        return sorted(items, key=lambda item: (type(item).__name__, _dump(item)))
    if isinstance(value, Sequence):
        return _array(cast("Iterable[Any]", value), path)
    raise _error(path, f"is of the type {cast('object', value).__class__.__name__}")


def _converted(value: Any, path: _Path) -> Any:
    """Return the result of the value's own conversion method, or the value if it has none."""
    kind: Any = value.__class__
    try:
        if hasattr(kind, "__fspath__"):
            return value.__fspath__()
        if hasattr(kind, "model_dump"):
            return value.model_dump(mode="json")
        if hasattr(kind, "_asdict"):
            return value._asdict()
        if hasattr(kind, "to_dict"):
            return value.to_dict()
        if hasattr(kind, "dtype"):
            # NumPy and similar libraries: a Python scalar, or a list.
            return value.tolist()
    except Exception as error:
        raise _error(path, f"is of the type {kind.__name__}, which failed to convert") from error
    return value


def _array(items: Iterable[Any], path: _Path) -> list[Any]:
    return [_to_json(item, (*path, position)) for position, item in enumerate(items)]


def _object(items: Iterable[tuple[Any, Any]], path: _Path) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in items:
        name = _key(key, path)
        if name in result:
            raise _error(path, f"has two keys that are both written {name!r}")
        result[name] = _to_json(value, (*path, name))
    return result


def _key(key: Any, path: _Path) -> str:
    plain = _to_json(key, path)
    if isinstance(plain, str):
        return plain
    if plain is None or isinstance(plain, (bool, int, float)):
        return _dump(plain)
    raise _error(path, f"has a key of the type {type(key).__name__}")


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return base64.b64encode(content).decode()


def _error(path: _Path, what: str) -> ResultError:
    steps = [str(step) for step in path if step is not None]
    shown = [step.replace("~", "~0").replace("/", "~1")[:50] for step in steps[:10]]
    pointer = "".join(f"/{step}" for step in shown) + ("/..." if len(steps) > 10 else "")
    return ResultError(f"the result is not JSON: {pointer or 'it'} {what}", pointer)
