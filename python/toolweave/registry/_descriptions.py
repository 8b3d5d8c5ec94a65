"""Descriptions of tools that have a handler in Python but no entry in a file.

The prompt and structure of a tool or a function come from its types and docstring, those of a
class from its docstring alone.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..exceptions import ToolDefinitionError
from ..tools._definition import FromHints
from ..tools._docstrings import read_docstring
from ..tools._function import is_tool
from ..tools._signature import scope_of
from ._requirements import INJECTED_PARAMETERS

if TYPE_CHECKING:
    import types

    from .._core import FunctionContract

SCORE = "integer between 0 and 100"
"""Description of a score in a structure."""

_PROMPT = """\
The user has the following query: {{request.query}}

The tool {name}{description}
Assign a score from 0 to 100 for whether this tool is appropriate.{arguments}"""

_ARGUMENTS = """
If it is, provide what the tool needs:
{lines}"""

_PLACEHOLDER = re.compile(r"\{[ \t]*([\w.]+)[ \t]*\}")

_COPIED_KEYWORDS = ("$schema", "$defs", "definitions", "patternProperties", "additionalProperties")
"""Keywords copied from the schema of the arguments to that of the reply."""


class HandlerDescription(NamedTuple):
    """Fields of a registry entry that are derived from a handler."""

    prompt: str
    arguments: dict[str, str]
    """Descriptions of the arguments, by name."""
    return_struc: dict[str, Any]
    """JSON Schema of a reply to the prompt."""
    contract: FunctionContract | None
    """Contract of a tool or a function; None for a class."""


def describe_handler(
    handler: object, name: str, frame: types.FrameType | None = None
) -> HandlerDescription:
    """Describe the tool of a handler.

    Args:
        handler: A class with `do()`, a function or a `Tool`.
        name: The name of the tool.
        frame: The frame of the caller, in whose scope the types of a function may be defined.

    Raises:
        ToolDefinitionError: A function has types that JSON cannot represent, or an argument named
            ``score``.
    """
    if is_tool(handler):
        return _of_contract(handler.contract, name)
    if inspect.isclass(handler) or not callable(handler):
        text = read_docstring(inspect.getdoc(handler)).description
        return HandlerDescription(_prompt(name, text, {}), {}, {"score": SCORE}, None)
    definition = FromHints(_without_injected(handler), name, None, scope_of(handler, frame))
    return _of_contract(definition.contract, name)


def _without_injected(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function without the parameters that the application injects."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function
    if signature.parameters.keys().isdisjoint(INJECTED_PARAMETERS):
        return function
    # With `params`, a function takes all parameters as one mapping.
    whole = "params" in signature.parameters
    kept = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.name not in INJECTED_PARAMETERS and not whole
    ]

    @functools.wraps(function)
    def stand_in() -> None: ...

    vars(stand_in)["__signature__"] = signature.replace(parameters=kept)
    return stand_in


def _of_contract(contract: FunctionContract, name: str) -> HandlerDescription:
    schema: Mapping[str, Any] = contract.parameters or {}
    properties = _mapping(schema.get("properties"))
    if "score" in properties:
        raise ToolDefinitionError(
            f"tool {name!r}: argument 'score' conflicts with the score of the tool; rename it",
            name,
        )
    arguments = {
        argument: str(_mapping(one).get("description") or "")
        for argument, one in properties.items()
    }
    structure = {
        **{keyword: schema[keyword] for keyword in _COPIED_KEYWORDS if keyword in schema},
        "type": "object",
        "properties": {
            "score": {"type": "integer", "minimum": 0, "maximum": 100},
            **{argument: _as_object_schema(one) for argument, one in properties.items()},
        },
        "required": ["score", *cast("list[str]", schema.get("required", []))],
    }
    prompt = _prompt(name, contract.description, arguments)
    return HandlerDescription(prompt, arguments, structure, contract)


def _as_object_schema(schema: Any) -> Any:
    if schema is True:
        return {}
    return {"not": {}} if schema is False else schema


def _prompt(name: str, description: str | None, arguments: Mapping[str, str]) -> str:
    lines = "\n".join(
        f"- {argument}: {text}" if text else f"- {argument}" for argument, text in arguments.items()
    )
    return _PROMPT.format(
        name=name,
        description=f":\n{_literal(description)}\n" if description else " may serve it.\n",
        arguments=_ARGUMENTS.format(lines=_literal(lines)) if arguments else "",
    )


def _literal(text: str) -> str:
    """Replace the braces of placeholders, which prompts cannot escape."""
    return _PLACEHOLDER.sub(r"(\1)", text)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
