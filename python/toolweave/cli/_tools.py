"""`toolweave tools`: list the tools of a type, with their origins."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ._excerpt import escaped
from ._inputs import read_registry, write_escapes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from .._core import Origin, RegistrySnapshot, ToolEntry

SUMMARY = "list the tools of a type in a registry, and where each comes from"
DESCRIPTION = (
    "List the tools that a registry (tools.xml) has for a schema.org type and a site: where each "
    "comes from, what runs it, and what it replaces."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("file", metavar="FILE", help="a tools.xml, or - for stdin")
    parser.add_argument(
        "--type", metavar="TYPE", help="the type; by default each that the registry names"
    )
    parser.add_argument("--site", metavar="SITE", help="the site; by default tools of every site")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    registry = read_registry(options.file)
    write_escapes()
    encoding = sys.stdout.encoding or "utf-8"
    asked = registry.types if options.type is None else (options.type,)
    for name in asked:
        for line in _type_lines(registry, name, options.site):
            sys.stdout.write(escaped(line, encoding) + "\n")
    return 0


def _type_lines(registry: RegistrySnapshot, name: str, site: str | None) -> Iterator[str]:
    head = name if site is None else f"{name} at {site}"
    meant = registry.suggest_type(name)
    yield head if meant is None else f"{head}, which is no type; did you mean {meant}?"
    origins = registry.explain(name, site)
    if not origins:
        yield "  no tools"
    width = max((len(origin.tool.name) for origin in origins), default=0)
    for origin in origins:
        yield f"  {origin.tool.name:<{width}}  {_describe_origin(origin)}"


def _describe_origin(origin: Origin) -> str:
    tool = origin.tool
    if tool.enabled:
        runs = tool.handler or (tool.path if tool.method == "url" else tool.method) or "no handler"
        description = f"{_location(tool)}; {runs}"
    else:
        description = f"{_location(tool)}; disabled"
    verb = "replaces" if tool.enabled else "hides"
    return description + "".join(
        f"; {verb} that of {_location(other)}" for other in origin.replaces
    )


def _location(tool: ToolEntry) -> str:
    site = "" if tool.site is None else f" at {tool.site}"
    line = "" if tool.line is None else f", line {tool.line}"
    return f"{tool.type}{site}{line}"
