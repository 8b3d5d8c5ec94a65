"""Generation of the JSON Schema of arguments, and of their converters, from resolved types."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

from ._binding import Binder
from ._plain import Convert, is_array, is_object, plain
from ._signature import EMPTY, Hints, Signature, annotated, is_union

if TYPE_CHECKING:
    from ._docstrings import Documentation
    from ._pydantic_types import PydanticType


class Arguments(NamedTuple):
    """Schema and converter of the arguments of a function."""

    schema: dict[str, Any]
    """JSON Schema of the arguments."""
    bind: Binder
    """Converter to keyword arguments."""


@dataclass
class _Argument:
    """Parameter for which a property of the schema is being built."""

    name: str
    schema: dict[str, Any]
    convert: Convert | None
    typed: PydanticType | None = None
    """Type whose schema pydantic has yet to generate."""
    default_factory: Callable[[], Any] | None = None
    required: bool = True


def arguments_of(signature: Signature, hints: Hints, docs: Documentation) -> Arguments:
    """Return the schema and the converter of the arguments of a function.

    Raises:
        ToolDefinitionError: A type has no JSON Schema.
    """
    found = [
        _argument(signature, parameter.name, parameter.hint, parameter.default)
        for parameter in hints.parameters
    ]
    named = list(found)
    if hints.extra is not EMPTY:
        found.append(_argument(signature, f"**{_extra_name(signature)}", hints.extra, EMPTY))
    definitions = _add_pydantic_schemas(signature, found)
    for argument in found:
        text = docs.parameters.get(argument.name.lstrip("*"))
        if text:
            argument.schema.setdefault("description", text)

    schema: dict[str, Any] = {
        "type": "object",
        "properties": {argument.name: argument.schema for argument in named},
        "required": [argument.name for argument in named if argument.required],
        "additionalProperties": False,
    }
    if not schema["required"]:
        del schema["required"]
    extra: Convert | None = None
    if len(found) > len(named):
        schema["additionalProperties"] = found[-1].schema or True
        extra = found[-1].convert or _identity
        if hints.context is not None:
            # The executor passes the context, so an argument of that name would be lost.
            schema["propertyNames"] = {"not": {"const": hints.context}}
    if definitions:
        schema["$defs"] = definitions
    binder = Binder(
        {argument.name: argument.convert for argument in named},
        extra=extra,
        required=frozenset(argument.name for argument in named if argument.required),
        default_factories={
            argument.name: argument.default_factory
            for argument in named
            if argument.default_factory is not None
        },
    )
    return Arguments(schema, binder)


def returns_of(hints: Hints, docs: Documentation) -> dict[str, Any] | str | None:
    """Return the JSON Schema of a function's result, or its description without one."""
    definitions: dict[str, Any] = {}
    hint = _described_type(hints.returns)
    if hint is EMPTY or hint is None or hint is type(None):
        return docs.returns
    simple = plain(hint)
    if simple is not None:
        schema = dict(simple.schema)
    else:
        from ._pydantic_types import PydanticType, UnsupportedTypeError, schemas_of

        try:
            [schema], definitions = schemas_of([PydanticType(hint)], "serialization")
        except UnsupportedTypeError:
            # The type has no schema, so the model gets only a description, if there is one.
            return docs.returns
        schema = strip_titles(schema)
    if not schema:
        return docs.returns
    if docs.returns:
        schema["description"] = docs.returns
    if definitions:
        schema["$defs"] = {name: strip_titles(entry) for name, entry in definitions.items()}
    return schema


def strip_titles(schema: Any) -> Any:
    """Return a JSON Schema without titles, which only repeat the names of properties."""
    if not is_object(schema):
        return schema
    kept: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "title" and isinstance(value, str):
            continue
        if keyword in _MAPS and is_object(value):
            kept[keyword] = {name: strip_titles(member) for name, member in value.items()}
        elif keyword in _SCHEMAS and is_array(value):
            kept[keyword] = [strip_titles(member) for member in value]
        elif keyword in _SCHEMAS:
            kept[keyword] = strip_titles(value)
        else:
            kept[keyword] = value
    return kept


_MAPS = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})
_SCHEMAS = frozenset(
    {"anyOf", "allOf", "oneOf", "prefixItems", "items", "additionalProperties", "not", "contains"}
    | {"propertyNames", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems"}
)


def _argument(signature: Signature, name: str, hint: Any, default: Any) -> _Argument:
    hint, text = _split_text(hint)
    from_field = _is_field(default)
    simple = None if from_field else plain(hint)
    if simple is not None:
        argument = _Argument(name, dict(simple.schema), simple.convert)
    else:
        argument = _pydantic_argument(signature, name, hint, default if from_field else None)
    if text:
        argument.schema["description"] = text
    if default is not EMPTY and not from_field:
        argument.required = False
        argument.default_factory = None
        _show_default(argument, default)
    return argument


def _pydantic_argument(signature: Signature, name: str, hint: Any, field: Any) -> _Argument:
    from ._pydantic_types import PydanticType, UnsupportedTypeError, field_of

    if field is not None:
        hint = annotated(hint, [field])
    try:
        field = field_of(hint)
        typed = PydanticType(hint)
    except UnsupportedTypeError as error:
        raise _unsupported(signature, name, error) from error
    argument = _Argument(name, {}, typed.convert, typed)
    if field is not None and not field.is_required():
        argument.required = False
        argument.default_factory = typed.default
    return argument


def _add_pydantic_schemas(signature: Signature, arguments: list[_Argument]) -> dict[str, Any]:
    """Add the schemas that pydantic generates, and return their definitions."""
    typed = [argument for argument in arguments if argument.typed is not None]
    if not typed:
        return {}
    from ._pydantic_types import UnsupportedTypeError, schemas_of

    kinds = [argument.typed for argument in typed if argument.typed is not None]
    try:
        schemas, definitions = schemas_of(kinds)
    except UnsupportedTypeError:
        # Generate them one by one to find the unsupported type.
        for argument, kind in zip(typed, kinds, strict=True):
            try:
                schemas_of([kind])
            except UnsupportedTypeError as error:  # noqa: PERF203 - the first one is raised
                raise _unsupported(signature, argument.name, error) from error
        raise
    for argument, schema in zip(typed, schemas, strict=True):
        argument.schema = {**strip_titles(schema), **argument.schema}
    return {name: strip_titles(schema) for name, schema in definitions.items()}


def _unsupported(signature: Signature, name: str, error: Exception) -> Exception:
    return signature.parameter_error(
        name,
        f"its type has no JSON Schema: {error}; use a type with one, such as str, list[int], "
        "an Enum, a dataclass or a pydantic model",
    )


def _show_default(argument: _Argument, default: Any) -> None:
    try:
        if argument.typed is not None:
            shown = argument.typed.to_json(default)
        else:
            shown = json.loads(json.dumps(default, allow_nan=False))
    except (TypeError, ValueError):
        # The default has no JSON form. The function still applies it.
        return
    argument.schema["default"] = shown


def _split_text(hint: Any) -> tuple[Any, str | None]:
    """Return a type without the texts that annotate it, and the first of these texts."""
    if get_origin(hint) is Annotated:
        kind, *notes = get_args(hint)
        texts = [text for text in map(_text_of, notes) if text is not None]
        others = [note for note in notes if _text_of(note) is None]
        if texts:
            return annotated(kind, others), texts[0]
    elif is_union(hint):
        for member in get_args(hint):
            text = _split_text(member)[1]
            if text is not None:
                return hint, text
    return hint, None


def _text_of(note: Any) -> str | None:
    if isinstance(note, str):
        return note
    # PEP 727, in typing_extensions.
    text: object = getattr(note, "documentation", None) if type(note).__name__ == "Doc" else None
    return text if isinstance(text, str) else None


def _is_field(value: Any) -> bool:
    # If the value is a `Field`, pydantic is already imported.
    fields = sys.modules.get("pydantic.fields")
    return fields is not None and isinstance(value, fields.FieldInfo)


def _described_type(hint: Any) -> Any:
    """Return the result type without types of this package, such as `Deferred`."""
    if not is_union(hint):
        return EMPTY if _is_toolweave_type(hint) else hint
    members = [member for member in get_args(hint) if not _is_toolweave_type(member)]
    if not members:
        return EMPTY
    union: Any = members[0]
    for member in members[1:]:
        union = union | member
    return union


def _is_toolweave_type(hint: Any) -> bool:
    return getattr(hint, "__module__", "").partition(".")[0] == "toolweave"


def _extra_name(signature: Signature) -> str:
    return next(name for name, p in signature.parameters.items() if p.kind is p.VAR_KEYWORD)


def _identity(value: Any) -> Any:
    return value
