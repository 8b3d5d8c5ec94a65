"""The protocol of registries that a selector accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from .._core import supertypes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._core import ToolEntry


class ToolSource(Protocol):
    """Source of tools by type and site: a `ToolRegistry`, a `RegistrySnapshot`, or your own."""

    @property
    def fingerprint(self) -> str:
        """Hash that changes with the tools."""
        ...

    def tools_for(self, item_type: str, site: str | None = None, /) -> tuple[ToolEntry, ...]:
        """Return the tools of a type, in document order."""
        ...


def snapshot_of(source: ToolSource) -> ToolSource:
    """Return the snapshot of a registry, or the registry itself if it has none."""
    return cast("ToolSource", getattr(source, "snapshot", source))


def supertypes_of(source: ToolSource, item_type: str) -> Sequence[str]:
    """Return a type and its supertypes, the most specific first.

    A registry may declare its own types; others are looked up in schema.org.
    """
    own: object = getattr(snapshot_of(source), "supertypes", None)
    if callable(own):
        return cast("Callable[[str], Sequence[str]]", own)(item_type)
    return supertypes(item_type)
