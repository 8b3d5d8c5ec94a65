"""What was registered in Python: handlers for tools of a file, and tools that no file has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._core import ToolEntry, type_name
from ..exceptions import ToolDefinitionError
from .described import Described, described

if TYPE_CHECKING:
    import types

    from .._core import FunctionContract, RegistrySnapshot

DEFAULT_SITE = "default"


class Key(NamedTuple):
    """Which tool: there is one for each name, type and site."""

    name: str
    type: str
    site: str | None


def key_of(name: str, type: str, site: str | None) -> Key:
    """The key of a tool, whatever the spelling of its type."""
    return Key(name, type_name(type), None if site == DEFAULT_SITE else site)


@dataclass(frozen=True)
class Registration:
    """A handler, and what was said of its tool along with it."""

    key: Key
    handler: object
    described: Described | ToolDefinitionError
    """What the handler says of the tool, or why it can say nothing."""
    given: Mapping[str, Any]
    """Those fields of the tool that were given: they come before what a file says."""

    @staticmethod
    def of(
        key: Key,
        handler: object,
        given: Mapping[str, Any] = MappingProxyType({}),
        frame: types.FrameType | None = None,
    ) -> Registration:
        """A registration by whoever called the function of a frame."""
        try:
            said: Described | ToolDefinitionError = described(handler, key.name, frame)
        except ToolDefinitionError as error:
            # A tool of a file needs no description.
            said = error
        return Registration(key, handler, said, given)


class _Made(NamedTuple):
    entry: ToolEntry
    contract: FunctionContract | None = None


class Assembled(NamedTuple):
    """A registry as it is with all that was registered in Python."""

    snapshot: RegistrySnapshot
    contracts: Mapping[Key, FunctionContract]
    """Those of tools that only their handlers describe."""
    handlers: Mapping[Key, object]
    file: RegistrySnapshot
    """What the file says. Its warnings are all there are: what Python adds has no place in it."""


def assemble(base: RegistrySnapshot, registrations: Collection[Registration]) -> Assembled:
    """What a file says, with what was registered in Python, in the order in which it was.

    A tool of the very key of a registration stays as it is but for what was given. One that the
    type inherits is copied for the type. Where there is neither, the handler describes its tool.

    Raises:
        RegistryError: A registration cannot be a tool.
        ToolDefinitionError: A function cannot be one.
    """
    if not registrations:
        return Assembled(base, {}, {}, base)
    existing = {Key(entry.name, entry.type, entry.site): entry for entry in base.entries}
    names = {entry.name for entry in base.entries}
    contracts: dict[Key, FunctionContract] = {}
    snapshot, pending = base, list[ToolEntry]()
    for registration in registrations:
        key, given = registration.key, registration.given
        found = existing.get(key)
        if found is not None:
            if not given:
                continue
            made = _Made(_changed(found, key, given))
        elif key.name not in names:
            made = _described(registration)
        else:
            # Only this needs to know what has been added so far.
            snapshot, pending = snapshot.with_entries(pending), []
            inherited = _inherited(key, snapshot)
            if inherited is None:
                made = _described(registration)
            else:
                made = _Made(_changed(inherited, key, {"enabled": True, **given}))
        existing[key] = made.entry
        names.add(key.name)
        pending.append(made.entry)
        if made.contract is not None:
            contracts[key] = made.contract
    handlers = {registration.key: registration.handler for registration in registrations}
    whole = snapshot.with_entries(pending) if pending else snapshot
    return Assembled(whole, contracts, handlers, base)


def _inherited(key: Key, snapshot: RegistrySnapshot) -> ToolEntry | None:
    for origin in snapshot.explain(key.type, key.site):
        if origin.tool.name == key.name:
            return origin.tool
    return None


def _described(registration: Registration) -> _Made:
    given, said = registration.given, registration.described
    if isinstance(said, ToolDefinitionError):
        raise said
    fields: dict[str, Any] = {
        "method": "builtin",
        "prompt": said.prompt,
        "arguments": said.arguments,
        "return_struc": said.return_struc,
        **given,
    }
    own = "return_struc" not in given
    return _Made(_entry(registration.key, fields), said.contract if own else None)


def handler_for(
    entry: ToolEntry, snapshot: RegistrySnapshot, handlers: Mapping[Key, object]
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
            found = handlers.get(Key(entry.name, owner, site))
            if found is not None:
                own = owner == entry.type and site == entry.site
                return found if own or entry.handler is None else None
    return None


def _changed(entry: ToolEntry, key: Key, given: Mapping[str, Any]) -> ToolEntry:
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


def _entry(key: Key, fields: Mapping[str, Any]) -> ToolEntry:
    known = cast("dict[str, Any]", fields)
    return ToolEntry(key.name, type=key.type, site=key.site, **known)
