"""What a handler says of its tool: the prompt and the structure of a tool that no file has.

A tool or a function says it with its types and its docstring, a class with its docstring alone.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..exceptions import ToolDefinitionError
from ..tools.definition import FromHints
from ..tools.docstrings import read_docstring
from ..tools.function import is_tool
from ..tools.signature import scope_of
from .requirements import INJECTED_PARAMETERS

if TYPE_CHECKING:
    import types

    from .._core import FunctionContract

SCORE = "integer between 0 and 100"
"""How a structure says what a score is."""

_PROMPT = """\
The user has the following query: {{request.query}}

The tool {name}{description}
Assign a score from 0 to 100 for whether this tool is appropriate.{arguments}"""

_ARGUMENTS = """
If it is, provide what the tool needs:
{lines}"""

_PLACEHOLDER = re.compile(r"\{[ \t]*([\w.]+)[ \t]*\}")

_COPIED_KEYWORDS = ("$schema", "$defs", "definitions", "patternProperties", "additionalProperties")
"""What a reply takes over from the schema of the arguments, besides the arguments."""


class HandlerDescription(NamedTuple):
    """What a tool of a registry needs, beside its name."""

    prompt: str
    arguments: dict[str, str]
    """What each argument is, by its name."""
    return_struc: dict[str, Any]
    """The JSON Schema of a reply to the prompt."""
    contract: FunctionContract | None
    """What says it, for a tool or a function."""


def describe_handler(
    handler: object, name: str, frame: types.FrameType | None = None
) -> HandlerDescription:
    """What a handler says of its tool.

    Args:
        handler: A class with `do()`, a function or a `Tool`.
        name: What the tool is called.
        frame: The frame of who was called with a function: its types may be defined around it.

    Raises:
        ToolDefinitionError: A function has types that JSON cannot hold, or an argument that
            cannot be told from the score.
    """
    if is_tool(handler):
        return _of_contract(handler.contract, name)
    if inspect.isclass(handler) or not callable(handler):
        text = read_docstring(inspect.getdoc(handler)).description
        return HandlerDescription(_prompt(name, text, {}), {}, {"score": SCORE}, None)
    definition = FromHints(_without_injected(handler), name, None, scope_of(handler, frame))
    return _of_contract(definition.contract, name)


def _without_injected(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as its tool has it: without what the application gives it and no model does."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function
    if signature.parameters.keys().isdisjoint(INJECTED_PARAMETERS):
        return function
    # All of the parameters in one are not told apart.
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
            f"tool {name!r}: its argument 'score' would be taken for the score of the tool; call "
            "it something else",
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
    """A text in which nothing is a placeholder. In prompts, no brace is an escape."""
    return _PLACEHOLDER.sub(r"(\1)", text)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
