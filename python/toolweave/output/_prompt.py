"""Texts for models: the form of the output, and the problems of a reply."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .._core import FunctionContract, ToolCall, parse, render_contracts
from ..tools._plain import is_array, is_object
from ._members import RESULT
from ._overlap import Shape
from ._reading import wrapped_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import Violation
    from ._members import Schema

# More values than a sentence can list are shown as a schema.
_MAX_LISTED = 50
_MAX_PROBLEMS = 20
_MAX_EXAMPLES = 4
_MAX_EXAMPLE_CHARS = 1000

_SCALARS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
}


def instructions(schema: Schema, *, wrapped: bool, with_tools: bool) -> str:
    """Return the sentences that ask for an output.

    Args:
        schema: The schema of the output.
        wrapped: True if the output must be in an object.
        with_tools: True if the model may call tools first.
    """
    lead = (
        "First call the tools that can find out what the answer needs, and wait for their results. "
        "Then answer"
        if with_tools
        else "Answer"
    )
    if not wrapped:
        words = _words(schema)
        if words is not None:
            return f"{lead} with exactly one of these and nothing else: {', '.join(words)}"
        kind = schema.get("type")
        if isinstance(kind, str) and kind in _SCALARS and len(schema) == 1:
            return f"{lead} with {_SCALARS[kind]} and nothing else."
    shown = json.dumps(
        wrapped_schema(schema) if wrapped else schema, ensure_ascii=False, separators=(",", ":")
    )
    # Small models copy a schema of objects unless they see one, and the numbers of any other form.
    examples = _examples(json.dumps(schema), wrapped=wrapped)
    form = f", in the form of {' or '.join(examples)}" if examples else ""
    return (
        f"{lead} with JSON only, without any text around it{form}. The values are those of the "
        f"answer, and fit this schema, which is not part of the answer:\n{shown}"
    )


@lru_cache(maxsize=64)
def _examples(schema_json: str, *, wrapped: bool) -> tuple[str, ...]:
    """Return a JSON text for each alternative of a schema of objects; empty for other values."""
    schema: Schema = json.loads(schema_json)
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    members = [{**each, **definitions} for each in schema.get("anyOf", ())] or [dict(schema)]
    found: list[str] = []
    for member in members[:_MAX_EXAMPLES]:
        contract = FunctionContract("output", None, wrapped_schema(member))
        text = render_contracts([contract], style="full")
        for call in parse(text, [contract]):
            value = call.arguments[RESULT] if isinstance(call, ToolCall) else None
            shown = json.dumps({RESULT: value} if wrapped else value, ensure_ascii=False)
            if is_object(value[0] if is_array(value) and value else value):
                found.append(shown)
    return tuple(each for each in dict.fromkeys(found) if len(each) <= _MAX_EXAMPLE_CHARS)


def retry_text(violations: Sequence[Violation], form: str) -> str:
    """Return the message that asks again after an invalid reply.

    Args:
        violations: What is wrong with the reply.
        form: The sentences that ask for an output.
    """
    problems = "\n".join(f"- {each.message}" for each in violations[:_MAX_PROBLEMS])
    return f"Your answer cannot be used:\n{problems}\n\nAnswer again, in full. {form}"


def _words(schema: Schema) -> list[str] | None:
    """Return the values of a schema as words; None if it has others."""
    found: list[Any] = []
    for each in Shape(schema).alternatives:
        if each.types == frozenset({"null"}):
            found.append(None)
        elif each.values is None:
            return None
        else:
            found += each.values
    words = [value if isinstance(value, str) else json.dumps(value) for value in found]
    plain = all(word and "," not in word and "\n" not in word for word in words)
    if len(words) > _MAX_LISTED or not plain or len(set(words)) < len(words):
        return None
    return words
