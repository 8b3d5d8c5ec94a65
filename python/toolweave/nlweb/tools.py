"""The tools of a registry by NLWeb's rules: which sites and types have them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from .._core import RegistrySnapshot, ToolEntry, type_name
from ..handlers.target import registered_handler
from ..selection.sources import snapshot_of, supertypes_of

if TYPE_CHECKING:
    from ..selection.sources import ToolSource

RELEASED: Mapping[str, Sequence[str]] = {
    name: ["Item"] for name in ("Recipe", "Movie", "Product", "Restaurant", "Event", "Podcast")
}
"""The hierarchy of types in NLWeb's releases, which that of schema.org contains."""

_ROOT = "Thing"
_MAX_CACHED_LOOKUPS = 1024


class TypeHierarchy:
    """The types that a fork of NLWeb declares in ``ToolSelector.TYPE_HIERARCHY``.

    Where exactly one of them is a kind of nothing, it is the root in the place of ``Item``: every
    type that is not listed is a kind of it.

    Args:
        parents: Types, and what each is a kind of, the nearest first. Those that are as in NLWeb's
            releases say nothing.
    """

    def __init__(self, parents: Mapping[str, Sequence[str]]) -> None:
        own = {name: above for name, above in parents.items() if RELEASED.get(name) != list(above)}
        self._parents = {
            type_name(name): [type_name(each) for each in above] for name, above in own.items()
        }
        roots = [name for name, above in self._parents.items() if not above]
        self.root = roots[0] if len(roots) == 1 else _ROOT
        """The type that every other is a kind of."""
        self.fingerprint = json.dumps(self._parents) if own else ""
        """Differs when anything about the types does; empty where none is declared."""

    def supertypes(self, item_type: str, otherwise: Sequence[str]) -> Sequence[str]:
        """A type and all it is a kind of, the most specific first.

        Args:
            item_type: The type, in its short form.
            otherwise: The same by schema.org, for types that are not listed.
        """
        if item_type not in self._parents:
            if self.root == _ROOT:
                return otherwise
            return [*(each for each in otherwise if each != _ROOT or each == item_type), self.root]
        found = [item_type]
        # What is found is looked at in turn, so that parents of parents are found as well.
        for each in found:
            above = dict.fromkeys(self._parents.get(each, ()))
            found += [one for one in above if one not in found]
        return found


class NLWebTools:
    """A registry as NLWeb has it: the block of a site replaces the default.

    A site that says ``inherit="true"`` has both. What is no registry of this package decides for
    itself which tools a site and a type have.

    Args:
        source: The registry.
        hierarchy: Says what types are kinds of, each time it is asked.
    """

    def __init__(self, source: ToolSource, hierarchy: Callable[[], TypeHierarchy]) -> None:
        self._source = source
        self._hierarchy = hierarchy
        self._now: NLWebSnapshot | None = None

    @property
    def snapshot(self) -> NLWebSnapshot:
        """The registry as it is now, which later changes do not reach."""
        source, hierarchy, now = snapshot_of(self._source), self._hierarchy(), self._now
        if now is None or now.source is not source or now.hierarchy is not hierarchy:
            now = self._now = NLWebSnapshot(source, hierarchy)
        return now

    @property
    def fingerprint(self) -> str:
        """Differs when anything about the tools does."""
        return self.snapshot.fingerprint

    def tools_for(self, item_type: str, site: str | None = None, /) -> tuple[ToolEntry, ...]:
        """The tools that a type has, in document order."""
        return self.snapshot.tools_for(item_type, site)

    def handler_for(self, entry: ToolEntry, /) -> object | None:
        """What is registered in Python for a tool."""
        return registered_handler(self._source, entry)


class NLWebSnapshot:
    """A registry that does not change, by NLWeb's rules.

    Args:
        source: The registry.
        hierarchy: What types are kinds of.
    """

    def __init__(self, source: ToolSource, hierarchy: TypeHierarchy) -> None:
        self.source = source
        """The registry."""
        self.hierarchy = hierarchy
        """What types are kinds of."""
        self.fingerprint = source.fingerprint + hierarchy.fingerprint
        """Differs when anything about the tools or types does."""
        self._lookups: dict[tuple[str, str | None], tuple[ToolEntry, ...]] = {}

    def tools_for(self, item_type: str, site: str | None = None, /) -> tuple[ToolEntry, ...]:
        """The tools that a type has, in document order."""
        if not isinstance(self.source, RegistrySnapshot):
            return self.source.tools_for(item_type, site)
        found = self._lookups.get((item_type, site))
        if found is None:
            found = self.source.tools_of(self.supertypes(item_type), site, sites_replace=True)
            # Types and sites come with requests, so anybody can make them up.
            if len(self._lookups) >= _MAX_CACHED_LOOKUPS:
                self._lookups = {}
            self._lookups[item_type, site] = found
        return found

    def supertypes(self, item_type: str) -> Sequence[str]:
        """A type and all it is a kind of, the most specific first."""
        return self.hierarchy.supertypes(
            type_name(item_type), supertypes_of(self.source, item_type)
        )


def with_search_query(entry: ToolEntry) -> ToolEntry:
    """A tool that takes ``search_query`` besides what its structure asks for."""
    structure: object = entry.return_struc
    if not isinstance(structure, dict) or "search_query" in entry.parameters["properties"]:
        return entry
    schema: dict[str, Any] = entry.schema
    properties = {**schema["properties"], "search_query": {"type": "string"}}
    return ToolEntry(
        entry.name,
        type=entry.type,
        site=entry.site,
        path=entry.path,
        method=entry.method,
        handler=entry.handler,
        arguments=entry.arguments,
        examples=entry.examples,
        prompt=entry.prompt,
        return_struc=cast("object", {**schema, "properties": properties}),
    )
