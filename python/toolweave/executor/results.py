r"""What tools return, as the text that the model reads.

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
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from uuid import UUID

from ..exceptions import ResultError
from ..slices import has_many_parts

if TYPE_CHECKING:
    from types import ModuleType

MAX_DEPTH = 128
"""How deep any result may be nested, as deep as the arguments of a call."""

# The steps to a place in a value; None is one from a value to what it converts itself to.
_Path: TypeAlias = tuple[str | int | None, ...]


def to_text(value: object) -> str:
    """The text of a result: a string as it is, anything else as JSON.

    Besides JSON values it knows pydantic models, dataclasses, named tuples (objects), enums (their
    values), dates, times and durations (ISO 8601), bytes (their text, or Base64), decimals, UUIDs
    and paths (strings), sets (sorted), NumPy's scalars and arrays, any mapping or sequence, and
    whatever has a ``to_dict``. JSON has no NaN and no infinities: these are the strings ``NaN``,
    ``Infinity`` and ``-Infinity``.

    Args:
        value: What the tool returned.

    Raises:
        ResultError: Something in it is nothing of that, is nested too deep (128 levels are always
            fine), or contains itself; the message says what and where.
    """
    # Most results are one of these.
    if type(value) is str:
        return utf8(value)
    if type(value) is int:
        return str(_integer(value, ()))
    if type(value) in (dict, list):
        # A fast encoder writes JSON values, and refuses all that is ours.
        text = _quick(value)
        if text is not None:
            return text
    plain = to_json_value(value)
    return plain if isinstance(plain, str) else _dump(plain)


async def to_text_off_loop(value: Any) -> str:
    """Return what `to_text` does, without keeping the event loop for a value of many parts.

    Raises:
        ResultError: As `to_text`.
    """
    if type(value) is str or type(value) is int:
        return to_text(value)
    if type(value) is dict or type(value) is list:
        # The fast encoder takes less time for most values than a thread takes to begin.
        text = _quick(cast("object", value))
        if text is not None:
            return text
    value = cast("object", value)
    if not has_many_parts(value):
        return to_text(value)
    try:
        return await asyncio.to_thread(to_text, value)
    except RuntimeError:
        # Somebody has changed it meanwhile, as nobody can while the loop waits.
        return to_text(value)


def to_json_value(value: object) -> Any:
    """The result as plain JSON values: dicts, lists, strings, numbers, booleans and None.

    They share nothing with the value.

    Raises:
        ResultError: As `to_text`.
    """
    return _plain(value, ())


def progress_text(value: object, max_chars: int) -> str:
    """The text of what a tool shows while it runs, which may be anything.

    Args:
        value: What the tool yielded.
        max_chars: How much of it is kept.
    """
    try:
        text = to_text(value)
    except Exception:  # noqa: BLE001 - the tool's own value: there is no telling
        text = f"({type(value).__name__})"
    return truncate(text, max_chars)


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


def utf8(text: str) -> str:
    """The text with U+FFFD for halves of characters, which no encoder would take."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    # Of subclasses only the characters.
    return str.__str__(text)


@functools.cache
def _orjson() -> ModuleType | None:
    try:
        return importlib.import_module("orjson")
    except ImportError:
        return None


def _quick(value: object) -> str | None:
    orjson = _orjson()
    if orjson is None:
        return None
    try:
        options = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
        text: bytes = orjson.dumps(value, None, options)
    except TypeError:
        return None
    # NaN and infinities became null as well, which nobody would notice.
    if b"null" in text and _is_unwritable(value):
        return None
    return text.decode()


def _is_unwritable(value: object) -> bool:
    """Whether there is a number in a value that JSON does not have."""
    try:
        _STRICT.encode(value)
    except ValueError:
        return True
    return False


def _dump(plain: Any) -> str:
    # Without it, or where an integer has more than 64 bits.
    return _quick(plain) or _ENCODER.encode(plain)


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

# Made once: `json.dumps` makes one for every call with options.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_STRICT = json.JSONEncoder(allow_nan=False, skipkeys=True, default=str)


def _plain(value: Any, path: _Path) -> Any:
    if value is None or value is True or value is False:
        return value
    if isinstance(value, Enum):
        return _plain(value.value, path)
    if isinstance(value, str):
        return utf8(value)
    if isinstance(value, int):
        return _integer(int(value), path)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _NOT_FINITE[str(float(value))]
    if len(path) >= MAX_DEPTH:
        raise _error(path, "is nested too deep, or contains itself")
    inner: Any = value
    # A named tuple says what its items are.
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
            # Python does not write numbers that are so long, for the time it takes.
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
        return _plain(converted, (*path, None))
    if isinstance(value, AbstractSet):
        items = _array(cast("Iterable[Any]", value), path)
        return sorted(items, key=lambda item: (type(item).__name__, _dump(item)))
    if isinstance(value, Sequence):
        return _array(cast("Iterable[Any]", value), path)
    raise _error(path, f"is of the type {cast('object', value).__class__.__name__}")


def _converted(value: Any, path: _Path) -> Any:
    """The value as it converts itself, or the value if it does not."""
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
            # NumPy's, and whatever looks like it: a scalar of Python, or a list.
            return value.tolist()
    except Exception as error:
        raise _error(path, f"is of the type {kind.__name__}, which failed to convert") from error
    return value


def _array(items: Iterable[Any], path: _Path) -> list[Any]:
    return [_plain(item, (*path, position)) for position, item in enumerate(items)]


def _object(items: Iterable[tuple[Any, Any]], path: _Path) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in items:
        name = _key(key, path)
        if name in result:
            raise _error(path, f"has two keys that are both written {name!r}")
        result[name] = _plain(value, (*path, name))
    return result


def _key(key: Any, path: _Path) -> str:
    plain = _plain(key, path)
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
