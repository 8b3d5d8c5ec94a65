"""Reading of replies: the JSON in a text, with the repairs and the validation of arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._core import (
    FunctionContract,
    InvalidToolCall,
    Limits,
    Parser,
    Repair,
    ToolCall,
    Validator,
    Violation,
    repair_json,
)
from ..exceptions import InvalidJSONError, ValidationError
from ..tools._plain import is_array, is_object
from ._members import RESULT, Member, Schema
from ._overlap import Shape, types_of

MAX_REPLY_BYTES = 1_048_576
"""Maximum size of a reply that is read as an output."""

_NAME = "output"
_FENCE = re.compile(r"```[^\n`]*\n(.*?)\n?[ \t]*```", re.DOTALL)
# A label before a bare value, such as "Answer: 42".
_LABEL = re.compile(r"[A-Za-z][\w ]{0,30}[:=][ \t]*(?=\S)")
_MAX_BARE = 200
_SCALARS = frozenset({"boolean", "integer", "null", "number", "string"})


@dataclass(frozen=True)
class ReadOutput:
    """An output that a reply has."""

    value: Any
    """The JSON value, repaired and valid."""
    output: Any
    """The value of the output type; the keyword arguments of `member`'s function if it has one."""
    member: Member
    """The member of the output type that the value belongs to."""
    repairs: tuple[Repair, ...] = ()
    """Changes that were made to read it."""


@dataclass(frozen=True)
class InvalidOutput:
    """A reply that is not an output."""

    violations: tuple[Violation, ...]
    """Problems of the reply: at least one."""
    partial: Any = None
    """The JSON value of the reply; None if it is not JSON."""


class JsonReader:
    """A reader of JSON objects written by models: repaired, and validated like arguments.

    Args:
        schema: The JSON Schema of the objects.
        max_bytes: Maximum size of a reply, in bytes.

    Raises:
        SchemaError: The schema is invalid.
    """

    def __init__(self, schema: Schema, max_bytes: int = MAX_REPLY_BYTES) -> None:
        limits = Limits(max_argument_bytes=max_bytes)
        self._parser = Parser([FunctionContract(_NAME, None, schema)], limits=limits)

    def read(self, text: str, *, truncated: bool = False) -> ToolCall | InvalidToolCall:
        """Read a reply.

        Args:
            text: The reply.
            truncated: True if the reply was cut off.
        """
        return self._parser.native_call(_NAME, _NAME, text, truncated=truncated)


class MemberReader:
    """A reader of the values of one member of an output type.

    Raises:
        SchemaError: The schema of the member is invalid.
    """

    def __init__(self, member: Member) -> None:
        self.member = member
        self.types = types_of(member.schema)
        """JSON types of the values."""
        self._reader = JsonReader(wrapped_schema(member.schema))

    @property
    def accepts_words(self) -> bool:
        """True if a value may be a word or a number, without any JSON around it."""
        return not self.types.isdisjoint(_SCALARS)

    def read(self, json_text: str, repairs: tuple[Repair, ...]) -> ReadOutput | InvalidOutput:
        """Read valid JSON: an object with the value as `RESULT`."""
        call = self._reader.read(json_text)
        arguments: Mapping[str, Any] = call.arguments or {}
        value = arguments.get(RESULT)
        if isinstance(call, InvalidToolCall):
            return InvalidOutput(tuple(map(_at_root, call.violations)), value)
        try:
            output = self.member.convert(value)
        except ValidationError as error:
            violations = error.violations
            if self.member.function is None:
                violations = tuple(map(_at_root, violations))
            return InvalidOutput(violations, value)
        return ReadOutput(value, output, self.member, (*repairs, *map(_moved, call.repairs)))


def wrapped_schema(schema: Schema) -> dict[str, Any]:
    """Return the schema of an object that has the value as `RESULT`."""
    inner = schema if "$id" in schema else _moved_references(schema)
    wrapped = {
        "type": "object",
        "properties": {RESULT: inner},
        "required": [RESULT],
        "additionalProperties": False,
    }
    # Providers that enforce schemas want the definitions at the root.
    if is_object(inner) and "$id" not in schema and is_object(inner.get("$defs")):
        wrapped["$defs"] = inner["$defs"]
        wrapped["properties"] = {
            RESULT: {key: each for key, each in inner.items() if key != "$defs"}
        }
    return wrapped


def _moved_references(schema: Any) -> Any:
    """Return a schema with its references for its new place, except those to ``$defs``."""
    if is_array(schema):
        return [_moved_references(each) for each in schema]
    if not is_object(schema):
        return schema
    moved: dict[str, Any] = {}
    for key, each in schema.items():
        if key == "$ref" and isinstance(each, str) and each.startswith("#"):
            local = each.startswith("#/$defs/")
            moved[key] = each if local else f"#/properties/{RESULT}{each[1:]}"
        elif key in ("const", "enum", "default", "examples"):
            moved[key] = each
        else:
            moved[key] = _moved_references(each)
    return moved


def candidates(
    text: str, *, words: bool, arrays: bool
) -> Iterator[tuple[str, tuple[Repair, ...], bool]]:
    """Yield the JSON texts that a reply may consist of, the most likely first.

    Args:
        text: The reply.
        words: True if it may be a bare word.
        arrays: True if it may be an array.

    Yields:
        The JSON text, what was repaired, and true if the text is a bare word.
    """
    found = _array(text) if arrays else None
    if found is None:
        found = _repaired(text)
    if found is None:
        fences = _FENCE.findall(text)
        if len(fences) == 1:
            found = _repaired(fences[0])
    if found is not None:
        yield (*found, False)
    if words and len(text) <= _MAX_BARE:
        for word in _words(text):
            yield json.dumps(word, ensure_ascii=False), (), True


def _array(text: str) -> tuple[str, tuple[Repair, ...]] | None:
    """Return the array in a text that has one before any object, with the text around it cut."""
    start, brace = text.find("["), text.find("{")
    if start < 0 or 0 <= brace < start:
        return None
    end = text.rfind("]") + 1
    # Repair reads objects, and removes a text around them that may be the start of an array.
    found = _repaired(f'{{"{RESULT}": {text[start : max(end, 0) or None]}}}')
    if found is None and end <= text.rfind("}"):
        # The array is not closed.
        found = _repaired(f'{{"{RESULT}": {text[start:]}')
    if found is None:
        return None
    value = parsed(found[0])
    if not is_object(value) or value.keys() != {RESULT} or not is_array(value[RESULT]):
        return None
    return json.dumps(value[RESULT], ensure_ascii=False), tuple(map(_moved, found[1]))


def _repaired(text: str) -> tuple[str, tuple[Repair, ...]] | None:
    try:
        found = repair_json(text)
    except InvalidJSONError:
        return None
    quotes = any(each.kind == "inner_quote" for each in found[1])
    # Between two values there is no string of the first one, with quotes in it.
    return None if quotes and has_several(text, "{[") else found


def _words(text: str) -> Iterator[str]:
    """Yield what a reply without JSON may say: the text, without Markdown, and without a label."""
    fence = _FENCE.fullmatch(text.strip())
    word = (fence[1] if fence else text).strip()
    yield word
    bare = word.strip("`*_\"' \t").rstrip(".!").rstrip("`*_\"' \t")
    yield bare
    if "\n" not in bare:
        label = _LABEL.match(bare)
        if label:
            yield bare[label.end() :].strip("`*_\"' \t")


def has_several(text: str, brackets: str) -> bool:
    """Return True if a text has two JSON values in a row that begin with one of the brackets."""
    return any(map(partial(_has_two, text), brackets))


def _has_two(text: str, bracket: str) -> bool:
    at = 0
    for _ in range(2):
        at = text.find(bracket, at)
        if at < 0:
            return False
        try:
            at = _DECODER.raw_decode(text, at)[1]
        except (ValueError, RecursionError):
            return False
    return True


_DECODER = json.JSONDecoder()


def parsed(json_text: str) -> Any:
    """Return the value of a JSON text; None if it is nested too deep."""
    try:
        return _ANY.validate_json(json_text)
    except InvalidJSONError:
        return None


_ANY = Validator(True)


def best(results: Sequence[tuple[MemberReader, ReadOutput]], value: Any) -> ReadOutput:
    """Return the reading with the fewest unknown properties, and then with the fewest repairs."""

    def cost(result: tuple[MemberReader, ReadOutput]) -> tuple[int, int]:
        known = Shape(result[0].member.schema).properties
        unknown = sum(name not in known for name in value) if is_object(value) else 0
        return unknown, len(result[1].repairs)

    return min(results, key=cost)[1]


def _at_root(violation: Violation) -> Violation:
    """Return a violation of the wrapped value as one of the value."""
    prefix = f"/{RESULT}"
    path, message = violation.path, violation.message
    if path == prefix or path.startswith(f"{prefix}/"):
        path = path[len(prefix) :]
    if message.startswith(f"{prefix}:"):
        message = f"the value{message[len(prefix) :]}"
    elif message.startswith(f"{prefix}/"):
        message = message[len(prefix) :]
    return violation.__replace__(path=path, message=message)


def _moved(repair: Repair) -> Repair:
    prefix = f"/{RESULT}"
    inside = repair.path == prefix or repair.path.startswith(f"{prefix}/")
    return repair.__replace__(path=repair.path[len(prefix) :]) if inside else repair
