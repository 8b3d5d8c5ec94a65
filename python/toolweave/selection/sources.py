"""What selecting needs of a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from .._core import supertypes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._core import ToolEntry


class ToolSource(Protocol):
    """Tools by type and site: a `ToolRegistry`, a `RegistrySnapshot`, or one's own."""

    @property
    def fingerprint(self) -> str:
        """Differs when anything about the tools does."""
        ...

    def tools_for(self, item_type: str, site: str | None = None, /) -> tuple[ToolEntry, ...]:
        """The tools that a type has, in document order."""
        ...


def snapshot_of(source: ToolSource) -> ToolSource:
    """A registry that does not change: its snapshot, where it has one."""
    return cast("ToolSource", getattr(source, "snapshot", source))


def supertypes_of(source: ToolSource, item_type: str) -> Sequence[str]:
    """A type and all it is a kind of, the most specific first.

    A registry may declare types of its own, and says so itself; for others schema.org is asked.
    """
    own: object = getattr(snapshot_of(source), "supertypes", None)
    if callable(own):
        return cast("Callable[[str], Sequence[str]]", own)(item_type)
    return supertypes(item_type)
