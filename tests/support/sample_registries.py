"""A small registry of two tools as XML, and lookups in registries."""

from __future__ import annotations

from toolweave._core import ToolEntry
from toolweave.registry import ToolRegistry

SEARCH = """\
    <Tool name="search">
      <method>builtin</method>
      <prompt>Is {request.query} a search? Score it.</prompt>
      <returnStruc>{"score": "integer between 0 and 100"}</returnStruc>
    </Tool>
"""
DETAILS = """\
    <Tool name="details">
      <handler>shop.details.Details</handler>
      <example>What is in a pie?</example>
      <prompt>Does {request.query} ask for details?</prompt>
      <returnStruc>
        {"score": "integer between 0 and 100", "item_name": "the name of the item"}
      </returnStruc>
    </Tool>
"""


def registry_of(**types: str) -> str:
    """Return the XML of a registry with some tools for each type."""
    blocks = "".join(f"  <{name}>\n{tools}  </{name}>\n" for name, tools in types.items())
    return f"<Tools>\n{blocks}</Tools>\n"


SHOP = registry_of(Thing=SEARCH + DETAILS, Movie=DETAILS)


def names(registry: ToolRegistry, kind: str, site: str | None = None) -> list[str]:
    return [entry.name for entry in registry.tools_for(kind, site)]


def entry_of(registry: ToolRegistry, kind: str, name: str, site: str | None = None) -> ToolEntry:
    [found] = [entry for entry in registry.tools_for(kind, site) if entry.name == name]
    return found
