"""Lookup of the handler that serves a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, cast

from .._checks import check_methods, check_type
from .._core import ToolEntry
from ..exceptions import HandlerError
from ._loading import check_strings, load_handler
from ._remote import RemoteEndpoint


class HandlerSource(Protocol):
    """Registry of tools and, optionally, their handlers.

    A registry of handlers, such as `ToolRegistry`, also has a method ``handler_for``, which takes a
    `ToolEntry` and returns its handler or None.
    """

    def tools_for(self, item_type: str, site: str | None = None, /) -> Sequence[ToolEntry]:
        """Return the tools of a type."""
        ...


def find_handler(
    registry: HandlerSource,
    entry: ToolEntry,
    *,
    allowed_handlers: Iterable[str] = (),
    allowed_hosts: Iterable[str] = (),
    base_url: str | None = None,
) -> object:
    """Find the handler of a tool: registered in Python, by dotted path, or its endpoint.

    Args:
        registry: The registry with the handlers.
        entry: The tool.
        allowed_handlers: Prefixes of dotted paths that may be imported; see `load_handler`.
        allowed_hosts: Hosts to which requests may be sent, as ``host`` or ``host:port``.
        base_url: Base of relative endpoint paths; by default that of the registry, if it has one.

    Returns:
        A class, a function, a `Tool`, or a `RemoteEndpoint`.

    Raises:
        HandlerError: The tool has no handler, or it cannot be loaded.
        ImportError: The tool is an endpoint, and httpx is not installed.
        TypeError: `allowed_handlers` or `allowed_hosts` is a single string.
    """
    check_methods("registry", registry, "a registry with the method tools_for", "tools_for")
    check_type("entry", entry, ToolEntry, "a ToolEntry")
    check_type("base_url", base_url, str, "a URL", none=True)
    handlers = check_strings(allowed_handlers, "allowed_handlers")
    hosts = check_strings(allowed_hosts, "allowed_hosts")
    found = registered_handler(registry, entry)
    if found is not None:
        return found
    if entry.handler:
        return load_handler(entry.handler, handlers)
    if entry.method.lower() == "url":
        if base_url is None:
            base_url = cast("str | None", getattr(registry, "base_url", None))
        return RemoteEndpoint.of(entry, hosts, base_url)
    raise HandlerError(
        f"tool {entry.name!r} of type {entry.type!r} has no handler; register one with "
        f"@registry.handler({entry.name!r}, type={entry.type!r}), or name one in the registry",
        "",
    )


def registered_handler(registry: HandlerSource, entry: ToolEntry) -> object | None:
    """Return the handler that is registered in Python for a tool, if any."""
    handler_for: object = getattr(registry, "handler_for", None)
    if handler_for is None:
        return None
    return cast("Callable[[ToolEntry], object | None]", handler_for)(entry)
