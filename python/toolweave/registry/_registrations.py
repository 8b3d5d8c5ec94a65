"""Registrations in Python: handlers for tools of a file, and tools that no file has.

The prompt and structure of the tool of a function come from its types and docstring, those of a
class from its docstring alone.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._core import ToolEntry, type_name
from ..exceptions import ToolDefinitionError
from ..tools._definition import FromHints
from ..tools._docstrings import read_docstring
from ..tools._function import is_tool
from ..tools._signature import scope_of
from ._handler_code import INJECTED_PARAMETERS

if TYPE_CHECKING:
    import types

    from .._core import FunctionContract, RegistrySnapshot

DEFAULT_SITE = "default"

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


class ToolKey(NamedTuple):
    """Unique key of a tool: its name, type and site."""

    name: str
    type: str
    site: str | None


def tool_key(name: str, type: str, site: str | None) -> ToolKey:
    """Return the key of a tool, with its type in any notation."""
    return ToolKey(name, type_name(type), None if site == DEFAULT_SITE else site)


class HandlerDescription(NamedTuple):
    """Fields of a registry entry that are derived from a handler."""

    prompt: str
    arguments: dict[str, str]
    """Descriptions of the arguments, by name."""
    return_struc: dict[str, Any]
    """JSON Schema of a reply to the prompt."""
    contract: FunctionContract | None
    """Contract of a tool or a function; None for a class."""


@dataclass(frozen=True)
class Registration:
    """Handler, with the fields that were given for its tool."""

    key: ToolKey
    handler: object
    description: HandlerDescription | ToolDefinitionError
    """Description derived from the handler, or the reason why there is none."""
    given: Mapping[str, Any]
    """Fields of the tool that were given; they override those of a file."""

    @staticmethod
    def of(
        key: ToolKey,
        handler: object,
        given: Mapping[str, Any] = MappingProxyType({}),
        frame: types.FrameType | None = None,
    ) -> Registration:
        """Return a registration, with the frame of the caller as the scope of types."""
        try:
            description: HandlerDescription | ToolDefinitionError = describe_handler(
                handler, key.name, frame
            )
        except ToolDefinitionError as error:
            # A tool of a file needs no description.
            description = error
        return Registration(key, handler, description, given)


class _BuiltTool(NamedTuple):
    entry: ToolEntry
    contract: FunctionContract | None = None


class RegistryState(NamedTuple):
    """State of a registry, with all registrations in Python."""

    snapshot: RegistrySnapshot
    contracts: Mapping[ToolKey, FunctionContract]
    """Contracts of tools that only their handlers describe."""
    handlers: Mapping[ToolKey, object]
    file: RegistrySnapshot
    """Snapshot of the file alone. It has all warnings, since entries added in Python have no
    position."""


def build_state(base: RegistrySnapshot, registrations: Collection[Registration]) -> RegistryState:
    """Apply registrations to a registry from a file, in order.

    If the registry has a tool with the key of a registration, only the given fields change. A tool
    that the type inherits is copied for the type. Otherwise the handler describes its tool.

    Raises:
        RegistryError: A registration cannot be a tool.
        ToolDefinitionError: A function cannot be a tool.
    """
    if not registrations:
        return RegistryState(base, {}, {}, base)
    existing = {ToolKey(entry.name, entry.type, entry.site): entry for entry in base.entries}
    names = {entry.name for entry in base.entries}
    contracts: dict[ToolKey, FunctionContract] = {}
    snapshot, pending = base, list[ToolEntry]()
    for registration in registrations:
        key, given = registration.key, registration.given
        found = existing.get(key)
        if found is not None:
            if not given:
                continue
            built = _BuiltTool(found.__replace__(**given))
        elif key.name not in names:
            built = _entry_from_handler(registration)
        else:
            # Inherited tools may have been added by earlier registrations.
            snapshot, pending = snapshot.with_entries(pending), []
            inherited = _inherited(key, snapshot)
            if inherited is None:
                built = _entry_from_handler(registration)
            else:
                own = {"type": key.type, "site": key.site, "enabled": True, **given}
                built = _BuiltTool(inherited.__replace__(**own))
        existing[key] = built.entry
        names.add(key.name)
        pending.append(built.entry)
        if built.contract is not None:
            contracts[key] = built.contract
    handlers = {registration.key: registration.handler for registration in registrations}
    whole = snapshot.with_entries(pending) if pending else snapshot
    return RegistryState(whole, contracts, handlers, base)


def _inherited(key: ToolKey, snapshot: RegistrySnapshot) -> ToolEntry | None:
    for origin in snapshot.explain(key.type, key.site):
        if origin.tool.name == key.name:
            return origin.tool
    return None


def _entry_from_handler(registration: Registration) -> _BuiltTool:
    key, given, description = registration.key, registration.given, registration.description
    if isinstance(description, ToolDefinitionError):
        raise description
    fields: dict[str, Any] = {
        "method": "builtin",
        "prompt": description.prompt,
        "arguments": description.arguments,
        "return_struc": description.return_struc,
        **given,
    }
    entry = ToolEntry(key.name, type=key.type, site=key.site, **fields)
    return _BuiltTool(entry, None if "return_struc" in given else description.contract)


def handler_for(
    entry: ToolEntry, snapshot: RegistrySnapshot, handlers: Mapping[ToolKey, object]
) -> object | None:
    """Return the handler registered for a tool: for its own type and site, or for a general one.

    The type takes precedence over the site. A path in the file takes precedence over handlers that
    are more general than the tool.
    """
    if not handlers:
        return None
    sites = (None,) if entry.site is None else (entry.site, None)
    for owner in snapshot.supertypes(entry.type):
        for site in sites:
            found = handlers.get(ToolKey(entry.name, owner, site))
            if found is not None:
                own = owner == entry.type and site == entry.site
                return found if own or entry.handler is None else None
    return None


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
