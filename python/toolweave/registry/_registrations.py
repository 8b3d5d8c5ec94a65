"""Registrations in Python: handlers for tools of a file, and tools that no file has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._core import ToolEntry, type_name
from ..exceptions import ToolDefinitionError
from ._descriptions import HandlerDescription, describe_handler

if TYPE_CHECKING:
    import types

    from .._core import FunctionContract, RegistrySnapshot

DEFAULT_SITE = "default"


class ToolKey(NamedTuple):
    """Unique key of a tool: its name, type and site."""

    name: str
    type: str
    site: str | None


def tool_key(name: str, type: str, site: str | None) -> ToolKey:
    """Return the key of a tool, with its type in any notation."""
    return ToolKey(name, type_name(type), None if site == DEFAULT_SITE else site)


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
            built = _BuiltTool(_with_overrides(found, key, given))
        elif key.name not in names:
            built = _entry_from_handler(registration)
        else:
            # Inherited tools may have been added by earlier registrations.
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
