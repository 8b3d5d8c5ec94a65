"""Tools of a registry by NLWeb's rules for sites and types."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._core import RegistrySnapshot, ToolEntry, type_name
from ..handlers._target import registered_handler
from ..selection._sources import snapshot_of, supertypes_of

if TYPE_CHECKING:
    from ..selection._sources import ToolSource

RELEASED: Mapping[str, Sequence[str]] = {
    name: ["Item"] for name in ("Recipe", "Movie", "Product", "Restaurant", "Event", "Podcast")
}
"""Type hierarchy of NLWeb's releases, which schema.org's contains."""

_ROOT = "Thing"
_MAX_CACHED_LOOKUPS = 1024


class TypeHierarchy:
    """Types that a fork of NLWeb declares in ``ToolSelector.TYPE_HIERARCHY``.

    If exactly one of them has no supertype, it replaces ``Item`` as the root: it is a supertype of
    every type that is not listed.

    Args:
        parents: Types with their supertypes, the nearest first. Entries that equal those of
            NLWeb's releases are ignored.
    """

    def __init__(self, parents: Mapping[str, Sequence[str]]) -> None:
        own = {name: above for name, above in parents.items() if RELEASED.get(name) != list(above)}
        self._parents = {
            type_name(name): [type_name(each) for each in above] for name, above in own.items()
        }
        roots = [name for name, above in self._parents.items() if not above]
        self.root = roots[0] if len(roots) == 1 else _ROOT
        """Supertype of all types."""
        self.fingerprint = json.dumps(self._parents) if own else ""
        """Hash that changes with the types; empty if none are declared."""

    def supertypes(self, item_type: str, otherwise: Sequence[str]) -> Sequence[str]:
        """Return a type and its supertypes, the most specific first.

        Args:
            item_type: The type, in its short form.
            otherwise: The supertypes in schema.org, for types that are not listed.
        """
        if item_type not in self._parents:
            if self.root == _ROOT:
                return otherwise
            return [*(each for each in otherwise if each != _ROOT or each == item_type), self.root]
        found = [item_type]
        # The list grows while it is iterated, so that supertypes of supertypes are found.
        for each in found:
            above = dict.fromkeys(self._parents.get(each, ()))
            found += [one for one in above if one not in found]
        return found


class NLWebTools:
    """Registry with the rules of NLWeb: the block of a site replaces the default.

    A site with ``inherit="true"`` has the tools of both. Sources that are not registries of this
    package apply their own rules.

    Args:
        source: The registry.
        hierarchy: Function that returns the current type hierarchy.
    """

    def __init__(self, source: ToolSource, hierarchy: Callable[[], TypeHierarchy]) -> None:
        self._source = source
        self._hierarchy = hierarchy
        self._now: NLWebSnapshot | None = None

    @property
    def snapshot(self) -> NLWebSnapshot:
        """Immutable snapshot of the registry."""
        source, hierarchy, now = snapshot_of(self._source), self._hierarchy(), self._now
        if now is None or now.source is not source or now.hierarchy is not hierarchy:
            now = self._now = NLWebSnapshot(source, hierarchy)
        return now

    @property
    def fingerprint(self) -> str:
        """Hash that changes with the tools."""
        return self.snapshot.fingerprint

    def tools_for(self, item_type: str, site: str | None = None, /) -> tuple[ToolEntry, ...]:
        """Return the tools of a type, in document order."""
        return self.snapshot.tools_for(item_type, site)

    def handler_for(self, entry: ToolEntry, /) -> object | None:
        """Return the handler registered in Python for a tool, if any."""
        return registered_handler(self._source, entry)


class NLWebSnapshot:
    """Immutable snapshot of a registry with the rules of NLWeb.

    Args:
        source: The registry.
        hierarchy: The type hierarchy.
    """

    def __init__(self, source: ToolSource, hierarchy: TypeHierarchy) -> None:
        self.source = source
        """The registry."""
        self.hierarchy = hierarchy
        """The type hierarchy."""
        self.fingerprint = source.fingerprint + hierarchy.fingerprint
        """Hash that changes with the tools and types."""
        self._lookups: dict[tuple[str, str | None], tuple[ToolEntry, ...]] = {}

    def tools_for(self, item_type: str, site: str | None = None, /) -> tuple[ToolEntry, ...]:
        """Return the tools of a type, in document order."""
        if not isinstance(self.source, RegistrySnapshot):
            return self.source.tools_for(item_type, site)
        found = self._lookups.get((item_type, site))
        if found is None:
            found = self.source.tools_of(self.supertypes(item_type), site, sites_replace=True)
            # Types and sites come from requests, so the cache must be bounded.
            if len(self._lookups) >= _MAX_CACHED_LOOKUPS:
                self._lookups = {}
            self._lookups[item_type, site] = found
        return found

    def supertypes(self, item_type: str) -> Sequence[str]:
        """Return a type and its supertypes, the most specific first."""
        return self.hierarchy.supertypes(
            type_name(item_type), supertypes_of(self.source, item_type)
        )


def with_search_query(entry: ToolEntry) -> ToolEntry:
    """Return a tool with ``search_query`` added to its parameters."""
    structure: object = entry.return_struc
    if not isinstance(structure, dict) or "search_query" in entry.parameters["properties"]:
        return entry
    schema: dict[str, Any] = entry.schema
    properties = {**schema["properties"], "search_query": {"type": "string"}}
    return entry.__replace__(return_struc={**schema, "properties": properties})
