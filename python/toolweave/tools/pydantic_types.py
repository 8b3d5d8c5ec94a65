"""Types that JSON does not have itself, as pydantic sees them.

Imported at first need only: this is the one place in the package that names pydantic.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaWarningKind

from .binding import ConversionError

_RULES = {"missing": "required", "extra_forbidden": "additionalProperties"}
# All that pydantic raises about types, some of it under names of its own.
_NO_SCHEMA = (PydanticUserError, PydanticUndefinedAnnotation, TypeError, NameError)
_ALIASES = ("alias", "validation_alias")


class UnsupportedTypeError(Exception):
    """Pydantic has no schema for a type; the text says why."""


class PydanticType:
    """A type by its adapter, which is built once."""

    is_self_validating = True
    """It takes any JSON value, and does not rely on the schema."""

    def __init__(self, hint: Any) -> None:
        try:
            self.adapter: TypeAdapter[Any] = TypeAdapter(hint)
        except _NO_SCHEMA as error:
            raise UnsupportedTypeError(_first_sentence(error)) from error

    def convert(self, value: Any) -> Any:
        """The value of the type for a JSON value.

        Raises:
            Refusal: Pydantic does not take it.
        """
        try:
            # As JSON and not as Python objects: what is strict about those is not about text.
            return self.adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            raise ConversionError(
                [_error_of(entry) for entry in error.errors(include_url=False)]
            ) from error
        except ValueError as error:
            raise ConversionError([((), "type", str(error))]) from error

    def to_json(self, value: Any) -> Any:
        """The JSON value for a value of the type.

        Raises:
            ValueError: There is none.
        """
        return json.loads(self.adapter.dump_json(value, by_alias=True, warnings="error"))

    def default(self) -> Any:
        """What `Field` says the value is where there is none."""
        found = self.adapter.get_default_value()
        return None if found is None else found.value


class _Schemas(GenerateJsonSchema):
    # A default that JSON cannot hold is left out, as everywhere.
    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012 - as declared there
        "skipped-choice",
        "non-serializable-default",
    }


def schemas_of(
    types: Sequence[PydanticType], mode: JsonSchemaMode = "validation"
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The JSON Schemas of some types, and the definitions that they refer to as ``#/$defs/...``.

    Raises:
        UnsupportedTypeError: One of them has none.
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
    """What `Field` says about a parameter."""
    if get_origin(hint) is not Annotated:
        return None
    field = next((note for note in get_args(hint)[1:] if isinstance(note, FieldInfo)), None)
    if field is not None and any(getattr(field, alias) is not None for alias in _ALIASES):
        raise UnsupportedTypeError("an alias is for the fields of models; name the parameter so")
    return field


def _error_of(entry: Any) -> tuple[tuple[int | str, ...], str, str]:
    message: str = entry["msg"]
    if entry["type"] in ("value_error", "assertion_error"):
        message = str(entry["ctx"]["error"]) or message
    kind: str = entry["type"]
    return entry["loc"], _RULES.get(kind, kind), message[:1].lower() + message[1:]


def _first_sentence(error: Exception) -> str:
    # What follows is advice on pydantic's own settings.
    return str(error).partition("\n")[0].partition(". ")[0]
