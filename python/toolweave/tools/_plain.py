"""Plain types, which correspond to JSON types: their schemas and conversions.

``str``, ``int``, ``float``, ``bool``, ``None``, ``Any``, ``list``, ``dict`` with string keys,
``Literal`` and unions of these are plain. All other types are handled by pydantic, which produces
schemas of the same form.

JSON has one number type: to a schema, ``1.0`` is an integer and ``1`` is a number, so numbers are
converted to the type that the function expects. Lists and dicts are copied, so that a tool that
modifies its arguments does not modify the call.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, TypeGuard, Union, get_args, get_origin

from .._core import _copy_json

Convert: TypeAlias = "Callable[[Any], Any]"
"""Function that converts a valid JSON value to the value for the function."""


class Plain(NamedTuple):
    """Type that corresponds to a JSON type."""

    schema: dict[str, Any]
    """JSON Schema of the type."""
    convert: Convert | None
    """Converter of its values; None if they need no conversion."""
    accepts: frozenset[type]
    """Python types of its values before conversion."""


def plain(hint: Any) -> Plain | None:
    """Return the plain type of a type hint, or None if it is not plain."""
    if hint is None or isinstance(hint, type):
        scalar = _SCALARS.get(hint)
        if scalar is not None:
            return scalar
    if hint is Any or hint is object:
        return Plain({}, copy_json, _ANYTHING)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _literal(arguments)
    if origin is Union or origin is types.UnionType:
        return _union([plain(argument) for argument in arguments])
    if hint is list or origin is list:
        return _list(plain(arguments[0] if arguments else Any))
    if hint is dict or origin is dict:
        key, value = arguments or (str, Any)
        return _dict(plain(value)) if key is str else None
    return None


def number_converter(hint: Any) -> Convert:
    """Return a converter that copies JSON values and converts numbers to a type hint's type.

    For functions whose arguments are validated by a given schema rather than by their types.
    """
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if int in members and float not in members:
        return _copy_whole
    if float in members and int not in members:
        return _copy_real
    return copy_json


def unchanged_types(convert: Convert | None) -> frozenset[type]:
    """Return the types whose values a converter leaves unchanged."""
    return _ATOMS if convert is None else _UNCHANGED_TYPES.get(convert, frozenset())


copy_json: Convert = _copy_json
"""Return a deep copy of a JSON value."""


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Return True if a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Return True if a JSON value is an array."""
    return isinstance(value, list)


def _whole(value: Any) -> Any:
    return int(value) if type(value) is float and value.is_integer() else value


def _real(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _copy_whole(value: Any) -> Any:
    return copy_json(_whole(value))


def _copy_real(value: Any) -> Any:
    return copy_json(_real(value))


_ATOMS: frozenset[type] = frozenset({str, int, float, bool, type(None)})
_UNCHANGED_TYPES: dict[Convert, frozenset[type]] = {
    copy_json: _ATOMS,
    _whole: _ATOMS - {float},
    _copy_whole: _ATOMS - {float},
    _real: _ATOMS - {int},
    _copy_real: _ATOMS - {int},
}

_NUMBERS: frozenset[type] = frozenset({int, float})
_ANYTHING: frozenset[type] = frozenset({str, int, float, bool, list, dict, type(None)})
_NULL = Plain({"type": "null"}, None, frozenset({type(None)}))
_NUMBER = Plain({}, None, _NUMBERS)

_SCALARS: dict[Any, Plain] = {
    str: Plain({"type": "string"}, None, frozenset({str})),
    bool: Plain({"type": "boolean"}, None, frozenset({bool})),
    int: Plain({"type": "integer"}, _whole, _NUMBERS),
    float: Plain({"type": "number"}, _real, _NUMBERS),
    None: _NULL,
    type(None): _NULL,
}

_NAMES = {str: "string", bool: "boolean", int: "integer", type(None): "null"}


def _literal(members: tuple[Any, ...]) -> Plain | None:
    # An Enum member is serialized as its value, which pydantic would not accept as input.
    values = [member.value if isinstance(member, enum.Enum) else member for member in members]
    kinds: list[type] = [type(value) for value in values]
    if not all(kind in _NAMES for kind in kinds):
        return None
    schema: dict[str, Any] = {"const": values[0]} if len(values) == 1 else {"enum": values}
    if len(set(kinds)) == 1:
        schema["type"] = _NAMES[kinds[0]]
    accepts = frozenset(kinds) | _NUMBERS if int in kinds else frozenset(kinds)
    if not any(isinstance(member, enum.Enum) for member in members):
        return Plain(schema, _whole if int in kinds else None, accepts)
    meant: dict[tuple[type, Any], Any] = {
        (type(value), value): member for value, member in zip(values, members, strict=True)
    }

    def convert(value: Any) -> Any:
        whole = _whole(value)
        return meant[whole.__class__, whole]

    return Plain(schema, convert, accepts)


def _list(item: Plain | None) -> Plain | None:
    if item is None:
        return None
    convert = item.convert

    def convert_all(items: list[Any]) -> list[Any]:
        return items.copy() if convert is None else [convert(entry) for entry in items]

    return Plain({"type": "array", "items": item.schema}, convert_all, frozenset({list}))


def _dict(value: Plain | None) -> Plain | None:
    if value is None:
        return None
    convert = value.convert

    def convert_all(entries: dict[str, Any]) -> dict[str, Any]:
        if convert is None:
            return entries.copy()
        return {key: convert(entry) for key, entry in entries.items()}

    schema = {"type": "object", "additionalProperties": value.schema or True}
    return Plain(schema, convert_all, frozenset({dict}))


def _union(members: list[Plain | None]) -> Plain | None:
    """Return a union in which the type of a JSON value determines its converter."""
    found = [member for member in members if member is not None]
    if len(found) < len(members):
        return None
    schema = {"anyOf": [member.schema for member in found]}
    if _SCALARS[int] in found and _SCALARS[float] in found:
        # Both number types are accepted, so neither is converted.
        found = [_NUMBER if member.accepts == _NUMBERS else member for member in found]
    by_type: dict[type, Convert | None] = {}
    for member in found:
        for kind in member.accepts:
            # Two members accept the same JSON type. Leave it to pydantic to choose, unless both
            # have the same converter.
            if by_type.setdefault(kind, member.convert) is not member.convert:
                return None
    accepts = frozenset(by_type)
    if not any(by_type.values()):
        return Plain(schema, None, accepts)

    def convert(value: Any) -> Any:
        chosen = by_type.get(value.__class__)
        return value if chosen is None else chosen(value)

    return Plain(schema, convert, accepts)
