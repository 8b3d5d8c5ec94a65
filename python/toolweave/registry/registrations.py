"""What was registered in Python: handlers for tools of a file, and tools that no file has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._core import ToolEntry, type_name
from ..exceptions import ToolDefinitionError
from .descriptions import HandlerDescription, describe_handler

if TYPE_CHECKING:
    import types

    from .._core import FunctionContract, RegistrySnapshot

DEFAULT_SITE = "default"


class ToolKey(NamedTuple):
    """Which tool: there is one for each name, type and site."""

    name: str
    type: str
    site: str | None


def tool_key(name: str, type: str, site: str | None) -> ToolKey:
    """The key of a tool, whatever the spelling of its type."""
    return ToolKey(name, type_name(type), None if site == DEFAULT_SITE else site)


@dataclass(frozen=True)
class Registration:
    """A handler, and what was description of its tool along with it."""

    key: ToolKey
    handler: object
    description: HandlerDescription | ToolDefinitionError
    """What the handler says of the tool, or why it can say nothing."""
    given: Mapping[str, Any]
    """Those fields of the tool that were given: they come before what a file says."""

    @staticmethod
    def of(
        key: ToolKey,
        handler: object,
        given: Mapping[str, Any] = MappingProxyType({}),
        frame: types.FrameType | None = None,
    ) -> Registration:
        """A registration by whoever called the function of a frame."""
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
    """A registry as it is with all that was registered in Python."""

    snapshot: RegistrySnapshot
    contracts: Mapping[ToolKey, FunctionContract]
    """Those of tools that only their handlers describe."""
    handlers: Mapping[ToolKey, object]
    file: RegistrySnapshot
    """What the file says. Its warnings are all there are: what Python adds has no place in it."""


def build_state(base: RegistrySnapshot, registrations: Collection[Registration]) -> RegistryState:
    """What a file says, with what was registered in Python, in the order in which it was.

    A tool of the very key of a registration stays as it is but for what was given. One that the
    type inherits is copied for the type. Where there is neither, the handler describes its tool.

    Raises:
        RegistryError: A registration cannot be a tool.
        ToolDefinitionError: A function cannot be one.
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
            built = _BuiltTool(_with_overrides(found, key, given))
        elif key.name not in names:
            built = _entry_from_handler(registration)
        else:
            # Only this needs to know what has been added so far.
            snapshot, pending = snapshot.with_entries(pending), []
            inherited = _inherited(key, snapshot)
            if inherited is None:
                built = _entry_from_handler(registration)
            else:
                built = _BuiltTool(_with_overrides(inherited, key, {"enabled": True, **given}))
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
    given, description = registration.given, registration.description
    if isinstance(description, ToolDefinitionError):
        raise description
    fields: dict[str, Any] = {
        "method": "builtin",
        "prompt": description.prompt,
        "arguments": description.arguments,
        "return_struc": description.return_struc,
        **given,
    }
    own = "return_struc" not in given
    return _BuiltTool(_entry(registration.key, fields), description.contract if own else None)


def handler_for(
    entry: ToolEntry, snapshot: RegistrySnapshot, handlers: Mapping[ToolKey, object]
) -> object | None:
    """The handler that was registered for a tool: for its own type and site, or a general one.

    The type counts before the site. A path that the file gives stands before handlers that are
    more general than the tool.
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


def _with_overrides(entry: ToolEntry, key: ToolKey, given: Mapping[str, Any]) -> ToolEntry:
    fields: dict[str, Any] = {
        "enabled": entry.enabled,
        "path": entry.path,
        "method": entry.method,
        "handler": entry.handler,
        "arguments": entry.arguments,
        "examples": entry.examples,
        "prompt": entry.prompt,
        "return_struc": entry.return_struc,
        **given,
    }
    return _entry(key, fields)


def _entry(key: ToolKey, fields: Mapping[str, Any]) -> ToolEntry:
    known = cast("dict[str, Any]", fields)
    return ToolEntry(key.name, type=key.type, site=key.site, **known)
