"""Members of an output type: each with its schema and the conversion of its values."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

from .._core import Validator
from ..exceptions import OutputTypeError, SchemaError, ToolDefinitionError
from ..tools._binding import Binder
from ..tools._definition import FromHints
from ..tools._plain import is_array, is_object, plain
from ..tools._run_context import RunContext
from ..tools._schema import strip_titles
from ..tools._signature import is_union, name_of

if TYPE_CHECKING:
    from ..tools._pydantic_types import PydanticType

Schema: TypeAlias = Mapping[str, Any]
"""A JSON Schema."""

RESULT = "result"
"""Property that holds an output whose schema is not that of an object."""


class OutputFunction(NamedTuple):
    """A function whose return value is an output."""

    call: Callable[..., Any]
    """The function."""
    context: str | None
    """Name of the parameter that gets the `RunContext`, if any."""


class Member:
    """One alternative of an output type: a type, a JSON Schema, or a function with its parameters.

    Args:
        name: The name in errors.
        schema: The JSON Schema of the values.
        bind: Converter of the JSON value, in an object as `RESULT`; or of the arguments of the
            function.
        function: The function, if it is one.
    """

    def __init__(
        self,
        name: str,
        schema: Schema,
        bind: Binder | None,
        function: OutputFunction | None = None,
    ) -> None:
        self.name = name
        self.schema = schema
        self.function = function
        self._bind = bind

    def convert(self, value: Any) -> Any:
        """Convert a valid JSON value to a value of the type, or to the arguments of the function.

        Raises:
            ValidationError: The type does not accept the value. Its paths begin with `RESULT`,
                except for a function.
        """
        if self._bind is None:
            return value
        return self._bind(value) if self.function else self._bind({RESULT: value})[RESULT]


def members_of(output_type: Any) -> tuple[Member, ...]:
    """Return the members of an output type.

    Raises:
        OutputTypeError: JSON Schema cannot express a type.
        ToolDefinitionError: A function cannot be called with keyword arguments.
    """
    given = _alternatives(output_type)
    if not given:
        raise OutputTypeError("output_type is an empty sequence", type_name(output_type))
    # A union of plain types is one type: the kind of a JSON value determines its conversion.
    hints = [each for each in given if _is_hint(each)]
    if len(hints) > 1:
        whole = reduce(lambda union, hint: Union[union, hint], hints)  # noqa: UP007 - at run time
        if plain(whole) is not None:
            given = [each for each in given if not _is_hint(each)]
            return (_typed(whole), *map(_member, given))
    return tuple(map(_member, given))


def type_name(hint: Any) -> str:
    """Return a type as text, for errors."""
    if isinstance(hint, Mapping):
        return str(cast("Schema", hint).get("title", "JSON Schema"))
    if isinstance(hint, (list, tuple)):
        return f"[{', '.join(map(type_name, cast('Sequence[Any]', hint)))}]"
    if is_union(hint):
        return " | ".join(map(type_name, get_args(hint)))
    if hint is type(None):
        return "None"
    if isinstance(hint, type) and get_origin(hint) is None:
        return hint.__name__
    if _is_function(hint):
        return name_of(hint)
    text = str(hint)
    return text.removeprefix("typing.") if get_origin(hint) is Literal else _MODULES.sub("", text)


_MODULES = re.compile(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])")


def nested_unions(output_type: Any, seen: frozenset[int] = frozenset()) -> Iterator[Any]:
    """Yield the unions inside lists, dicts and other containers of an output type.

    Args:
        output_type: The output type.
        seen: Ids of the aliases around it, since an alias may contain itself.
    """
    if _is_alias(output_type):
        if id(output_type) in seen:
            return
        seen |= {id(output_type)}
    for given in _alternatives(output_type):
        if get_origin(given) in (None, Literal, Annotated):
            continue
        for each in get_args(given):
            if len(_alternatives(each)) > 1:
                yield each
            yield from nested_unions(each, seen)


def _alternatives(output_type: Any) -> list[Any]:
    """Return the types of a union or a sequence, without further unions among them."""
    if _is_alias(output_type):
        found = _alternatives(output_type.__value__)
        # Pydantic knows the module in which an alias of text was made.
        text = any(isinstance(each, (str, typing.ForwardRef)) for each in found)
        return [output_type] if text else found
    if is_union(output_type):
        return [found for each in get_args(output_type) for found in _alternatives(each)]
    if isinstance(output_type, (list, tuple)):
        items = cast("Sequence[Any]", output_type)
        return [found for each in items for found in _alternatives(each)]
    return [output_type]


def _is_alias(hint: Any) -> bool:
    # That of `typing_extensions` is another class on some versions of Python.
    return type(hint).__name__ == "TypeAliasType"


def _is_hint(given: Any) -> bool:
    return not isinstance(given, Mapping) and not _is_function(given)


def _is_function(given: Any) -> bool:
    if isinstance(given, type) or get_origin(given) is not None:
        return False
    if inspect.isroutine(given) or isinstance(given, partial):
        return True
    # Not types such as `Any` and `NewType`, which are callable, too.
    return callable(given) and type(cast("object", given)).__module__ not in (
        "typing",
        "typing_extensions",
    )


def _member(given: Any) -> Member:
    if isinstance(given, Mapping):
        schema: Schema = dict(cast("Schema", given))
        try:
            Validator(schema)
        except SchemaError as error:
            text = f"output_type is not a valid JSON Schema: {error}"
            raise OutputTypeError(text, type_name(schema)) from error
        return Member(type_name(schema), schema, None)
    if _is_function(given):
        return _function(given)
    return _typed(given)


def _function(function: Callable[..., Any]) -> Member:
    name = name_of(function)
    try:
        definition = FromHints(function, name, None, {}, RunContext)
        contract = definition.contract
    except ToolDefinitionError as error:
        text = str(error).replace(f"tool {name!r}", f"output function {name!r}", 1)
        raise ToolDefinitionError(text, name) from error
    if definition.signature.style == "generator":
        raise ToolDefinitionError(
            f"output function {name!r}: a generator has no return value; return the output", name
        )
    schema = dict(contract.parameters or {"type": "object"})
    if contract.description:
        schema["description"] = contract.description
    return Member(name, schema, definition.bind, OutputFunction(function, definition.context))


def _typed(hint: Any) -> Member:
    name = type_name(hint)
    if isinstance(hint, (str, typing.ForwardRef)):
        raise OutputTypeError(f"output_type {hint!r} is text; pass the type itself", name)
    if isinstance(hint, TypeVar):
        raise OutputTypeError(f"output_type {name} is a type variable; pass a type", name)
    simple = plain(hint)
    if simple is not None:
        return Member(name, simple.schema, Binder({RESULT: simple.convert}))
    for part in _parts(hint):
        _generated(part, name, f"its part {type_name(part)}: ")
    typed, schema, definitions = _generated(hint, name)
    known = {key: strip_titles(each) for key, each in definitions.items()}
    return Member(
        name, _with_definitions(strip_titles(schema), known), Binder({RESULT: typed.convert})
    )


def _generated(
    hint: Any, name: str, where: str = ""
) -> tuple[PydanticType, dict[str, Any], dict[str, Any]]:
    """Return a type as pydantic reads it, its schema and the definitions of that.

    Raises:
        OutputTypeError: There is no schema.
    """
    from ..tools._pydantic_types import PydanticType, UnsupportedTypeError, schemas_of

    try:
        typed = PydanticType(hint)
        [schema], definitions = schemas_of([typed])
    except UnsupportedTypeError as error:
        raise OutputTypeError(
            f"output_type {name} has no JSON Schema: {where}{error}; use a type with one, "
            "such as a pydantic model, a dataclass, a TypedDict, an Enum or list[int]",
            name,
        ) from error
    return typed, schema, definitions


def _with_definitions(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its definitions, without a reference at its root.

    Providers that enforce schemas do not take such references.
    """
    reference = schema.get("$ref")
    if isinstance(reference, str) and len(schema) == 1:
        name = reference.rpartition("/")[2]
        schema = dict(definitions[name])
        if not _is_referenced(reference, definitions):
            del definitions[name]
    return {**schema, "$defs": definitions} if definitions else schema


def _is_referenced(reference: str, schema: Any) -> bool:
    """Return True if a reference is anywhere in a schema."""
    if is_array(schema):
        return any(_is_referenced(reference, each) for each in schema)
    if not is_object(schema):
        return False
    return schema.get("$ref") == reference or any(
        _is_referenced(reference, each) for each in schema.values()
    )


def _parts(hint: Any) -> Iterator[Any]:
    """Yield the members of unions in a type.

    Pydantic leaves members without a schema out of the schema of a union.
    """
    origin = get_origin(hint)
    if origin is Literal:
        return
    for each in get_args(hint)[:1] if origin is Annotated else get_args(hint):
        if is_union(hint) and each is not type(None):
            yield each
        yield from _parts(each)
