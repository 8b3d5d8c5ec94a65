"""Schemas and conversion of types that are not plain, by pydantic.

Imported lazily, so that pydantic is loaded only if it is needed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaWarningKind

from ._binding import ConversionError

_RULES = {"missing": "required", "extra_forbidden": "additionalProperties"}
# Exceptions that pydantic raises about types.
_NO_SCHEMA = (PydanticUserError, PydanticUndefinedAnnotation, TypeError, NameError)
_ALIASES = ("alias", "validation_alias")


class UnsupportedTypeError(Exception):
    """Pydantic has no schema for a type; the text has the reason."""


class PydanticType:
    """Type with its pydantic adapter, which is built once."""

    is_self_validating = True
    """True, since `convert` accepts any JSON value and does not rely on the schema."""

    def __init__(self, hint: Any) -> None:
        try:
            self.adapter: TypeAdapter[Any] = TypeAdapter(hint)
        except _NO_SCHEMA as error:
            raise UnsupportedTypeError(_first_sentence(error)) from error

    def convert(self, value: Any) -> Any:
        """Convert a JSON value to a value of the type.

        Raises:
            ConversionError: Pydantic rejects the value.
        """
        try:
            # As JSON text, since strict types are stricter about Python objects.
            return self.adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            raise ConversionError(
                [_error_of(entry) for entry in error.errors(include_url=False)]
            ) from error
        except ValueError as error:
            raise ConversionError([((), "type", str(error))]) from error

    def to_json(self, value: Any) -> Any:
        """Convert a value of the type to a JSON value.

        Raises:
            ValueError: The value has no JSON form.
        """
        return json.loads(self.adapter.dump_json(value, by_alias=True, warnings="error"))

    def default(self) -> Any:
        """Return the default that `Field` defines."""
        found = self.adapter.get_default_value()
        return None if found is None else found.value


class _Schemas(GenerateJsonSchema):
    # A default without a JSON form is omitted, as for plain types.
    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012 - as declared there
        "skipped-choice",
        "non-serializable-default",
    }


def schemas_of(
    types: Sequence[PydanticType], mode: JsonSchemaMode = "validation"
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the JSON Schemas of types, and the definitions that they refer to (``#/$defs/...``).

    Raises:
        UnsupportedTypeError: A type has no JSON Schema.
    """
    adapters: list[tuple[int, JsonSchemaMode, TypeAdapter[Any]]] = [
        (index, mode, kind.adapter) for index, kind in enumerate(types)
    ]
    try:
        by_key, shared = TypeAdapter.json_schemas(adapters, schema_generator=_Schemas)
    except _NO_SCHEMA as error:
        raise UnsupportedTypeError(_first_sentence(error)) from error
    found = [by_key[index, mode] for index in range(len(types))]
    return found, shared.get("$defs", {})


def field_of(hint: Any) -> FieldInfo | None:
    """Return the `Field` of a parameter, if it has one."""
    if get_origin(hint) is not Annotated:
        return None
    field = next((note for note in get_args(hint)[1:] if isinstance(note, FieldInfo)), None)
    if field is not None and any(getattr(field, alias) is not None for alias in _ALIASES):
        raise UnsupportedTypeError(
            "an alias is only supported for fields of models; rename the parameter instead"
        )
    return field


def _error_of(entry: Any) -> tuple[tuple[int | str, ...], str, str]:
    message: str = entry["msg"]
    if entry["type"] in ("value_error", "assertion_error"):
        message = str(entry["ctx"]["error"]) or message
    kind: str = entry["type"]
    return entry["loc"], _RULES.get(kind, kind), message[:1].lower() + message[1:]


def _first_sentence(error: Exception) -> str:
    # The rest is advice on pydantic's settings.
    return str(error).partition("\n")[0].partition(". ")[0]
