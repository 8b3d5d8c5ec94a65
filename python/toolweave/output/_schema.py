"""The schema of outputs of a type, and the reading of replies as values of the type."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from typing_extensions import TypeVar

from .._core import Violation
from ..exceptions import ContractError, OutputTypeError, SchemaError
from ..tools._plain import is_array, is_object
from ._members import RESULT, Member, members_of, nested_unions, type_name
from ._overlap import Shape, are_distinct
from ._prompt import instructions, retry_text
from ._reading import (
    MAX_REPLY_BYTES,
    InvalidOutput,
    MemberReader,
    ReadOutput,
    best,
    candidates,
    has_several,
    parsed,
    wrapped_schema,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from types import UnionType
    from typing import _SpecialForm  # pyright: ignore[reportPrivateUsage] - of a Literal

T = TypeVar("T", default=Any)
Output = TypeVar("Output", default=str)

_Single: TypeAlias = "type[T] | Callable[..., Awaitable[T] | T]"

OutputType: TypeAlias = (
    "_Single[T] | Sequence[_Single[T]] | UnionType | _SpecialForm | Mapping[str, Any]"
)
"""An output type, for type checkers. They know the output of a class, a function and a list of
these; that of a union, a ``Literal`` or a JSON Schema is Any to them."""

# Properties of the calls that models write as bare JSON; see `docs/explanation/dialects.md`.
_CALL_NAMES = frozenset({"name", "function", "tool", "tool_name"})
_CALL_ARGUMENTS = frozenset({"arguments", "parameters", "args", "input", "kwargs"})


class OutputSchema:
    """The schema of the outputs of a type, and the reader of replies that have one.

    Args:
        output_type: A type (a pydantic model, a dataclass, a TypedDict, a ``Literal``, an Enum, a
            scalar, a list, a dict or a union), a JSON Schema as a mapping, a function, whose
            parameters are the schema, or a list of these.

    Raises:
        OutputTypeError: JSON Schema cannot express the type, or two members of a union cannot be
            distinguished.
        ToolDefinitionError: A function cannot be called with keyword arguments.

    Example:
        >>> schema = OutputSchema(list[int])
        >>> schema.read('Here you are: [1, "2", 3,]').output
        [1, 2, 3]
        >>> schema.read("[1, true]").violations[0].message
        '/1: true is not an integer'
    """

    def __init__(self, output_type: Any) -> None:
        self.name = type_name(output_type)
        """The type, as text."""
        self.members = members_of(output_type)
        """The alternatives of the type."""
        for first, second in itertools.combinations(self.members, 2):
            _check_distinct(self.name, first, second)
        for union in nested_unions(output_type):
            for first, second in itertools.combinations(members_of(union), 2):
                _check_distinct(self.name, first, second)
        self.is_text = [member.schema for member in self.members] == [{"type": "string"}]
        """True if the text of the reply is the output."""
        self.schema = _union(self.members)
        """JSON Schema of the outputs."""
        try:
            self._readers = [MemberReader(member) for member in self.members]
        except (ContractError, SchemaError) as error:
            raise OutputTypeError(
                f"output_type {self.name} is not a JSON Schema: {error}", self.name
            ) from error
        shape = Shape(self.schema)
        self.is_object = len(self.members) == 1 and shape.types == frozenset({"object"})
        """True if every output is an object, which models may write without another around it."""
        self._is_call = any(map(_may_be_call, shape.alternatives))

    @property
    def response_schema(self) -> dict[str, Any]:
        """The schema for providers that enforce schemas: always that of an object."""
        return dict(self.schema) if self.is_bare(enforced=True) else wrapped_schema(self.schema)

    def is_bare(self, *, enforced: bool) -> bool:
        """Return True if the model is asked for the value itself, not for an object with it.

        Args:
            enforced: True if the provider enforces the schema.
        """
        return not self._is_call and (self.is_object or not enforced)

    def instructions(self, *, enforced: bool = False, with_tools: bool = False) -> str:
        """Return the sentences that ask the model for an output; empty if it is any text.

        Args:
            enforced: True if the provider enforces `response_schema` as well.
            with_tools: True if the model may call tools first.
        """
        if self.is_text:
            return ""
        wrapped = not self.is_bare(enforced=enforced)
        return instructions(self.schema, wrapped=wrapped, with_tools=with_tools)

    def retry_text(
        self, violations: Sequence[Violation], *, enforced: bool = False, with_tools: bool = False
    ) -> str:
        """Return the message that asks again after an invalid reply."""
        form = self.instructions(enforced=enforced, with_tools=with_tools)
        return retry_text(violations, form)

    def read(
        self, text: str, *, truncated: bool = False, tools: Collection[str] = ()
    ) -> ReadOutput | InvalidOutput:
        """Read a reply.

        Args:
            text: The text of the reply.
            truncated: True if the reply was cut off.
            tools: Names of tools. JSON that calls one of them is not an output.
        """
        if self.is_text:
            return ReadOutput(text.strip(), text.strip(), self.members[0])
        if len(text.encode("utf-8", "replace")) > MAX_REPLY_BYTES:
            return _invalid("too_long", f"the answer is longer than {MAX_REPLY_BYTES} bytes")
        failed: InvalidOutput | None = None
        words = any(reader.accepts_words for reader in self._readers)
        arrays = any("array" in reader.types for reader in self._readers)
        for json_text, repairs, is_word in candidates(text, words=words, arrays=arrays):
            value = parsed(json_text)
            if truncated:
                return _invalid("truncated", "the answer was cut off before its end", value)
            call = self._called_tool(value, tools)
            if call is not None:
                return _invalid("call", f"the answer is JSON that only looks like a call of {call}")
            found = self._read_value(json_text, value, repairs, is_word=is_word)
            if isinstance(found, ReadOutput):
                return found
            failed = failed or found
            if is_object(value) or is_array(value):
                # Text that is meant as JSON is no word.
                break
        if truncated:
            return _invalid("truncated", "the answer was cut off before its end")
        if failed is not None:
            return failed
        several = has_several(text, "{[" if arrays else "{")
        problem = "more than one JSON value" if several else "no JSON that can be read"
        return _invalid("invalid_json", f"the answer has {problem}")

    def _read_value(
        self, json_text: str, value: Any, repairs: Any, *, is_word: bool
    ) -> ReadOutput | InvalidOutput:
        """Read one JSON text, as it is, and as an object around the value."""
        forms = [(f'{{"{RESULT}": {json_text}}}', value)]
        if is_object(value) and value.keys() == {RESULT} and (self._is_call or not self.is_object):
            forms.insert(0, (json_text, value[RESULT]))
        failures: list[InvalidOutput] = []
        for form, inner in forms:
            valid: list[tuple[MemberReader, ReadOutput]] = []
            for reader in self._readers_of(inner, is_word=is_word):
                found = reader.read(form, repairs)
                if isinstance(found, ReadOutput):
                    valid.append((reader, found))
                else:
                    failures.append(found)
            if valid:
                return best(valid, inner)
        return min(failures, key=lambda each: len(each.violations))

    def _readers_of(self, value: Any, *, is_word: bool) -> list[MemberReader]:
        """Return the readers to try on a value."""
        kind = "object" if is_object(value) else "array" if is_array(value) else None
        if is_word:
            return [reader for reader in self._readers if reader.accepts_words]
        # Otherwise text would be any value, as text.
        return [each for each in self._readers if kind in each.types] or self._readers

    def _called_tool(self, value: Any, tools: Collection[str]) -> str | None:
        """Return the tool that a JSON value calls, unless outputs look like calls."""
        if not tools or self._is_call or not is_object(value):
            return None
        if _CALL_ARGUMENTS.isdisjoint(value):
            return None
        named = (value.get(key) for key in _CALL_NAMES)
        return next((name for name in named if isinstance(name, str) and name in tools), None)


def _check_distinct(name: str, first: Member, second: Member) -> None:
    if are_distinct(Shape(first.schema), Shape(second.schema)):
        return
    raise OutputTypeError(
        f"output_type {name} has two members that cannot be distinguished by their JSON: "
        f"{first.name} and {second.name}; give both a field with values of its own, such as "
        'kind: Literal["..."], or fields that the other one does not have',
        name,
    )


def _union(members: Sequence[Member]) -> Mapping[str, Any]:
    """Return the schema of all members, with their definitions in one place."""
    if len(members) == 1:
        return members[0].schema
    definitions: dict[str, Any] = {}
    schemas: list[Any] = []
    for member in members:
        own = member.schema.get("$defs", {})
        if any(definitions.get(key, each) != each for key, each in own.items()):
            raise OutputTypeError(
                f"{member.name} has a definition with the name of another one in the output type; "
                "rename one of the classes",
                member.name,
            )
        definitions |= own
        schemas.append({key: each for key, each in member.schema.items() if key != "$defs"})
    return {"anyOf": schemas, **({"$defs": definitions} if definitions else {})}


def _may_be_call(shape: Shape) -> bool:
    """Return True if objects of a schema, or in an array of it, may look like calls."""
    names = frozenset(shape.properties)
    if not _CALL_ARGUMENTS.isdisjoint(names) and not _CALL_NAMES.isdisjoint(names):
        return True
    items = shape.schema.get("items")
    return is_object(items) and any(map(_may_be_call, shape.inner(items).alternatives))


def _invalid(keyword: str, message: str, partial: Any = None) -> InvalidOutput:
    return InvalidOutput((Violation("", keyword, message, None, None),), partial)
